use super::*;
use crate::memory::Local;
use crate::memory::profile::Server;
use proptest::prelude::*;

type Queue = QueueDelay<Local<Server>>;

const RULE: Saturation = Saturation::DEFAULT;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Sends so many probes, four a second, and returns when the next one is due.
fn probed(queue: &Queue, from: Instant, probes: u32, delay: Duration) -> Instant {
    let mut now = from;
    for _ in 0..probes {
        let probe = queue.probe(now, now).expect("a probe is due");
        probe.finish(now.saturating_add(delay));
        now = now.saturating_add(INTERVAL.max(delay));
    }
    now
}

fn saturated(normal: Duration, delay: Duration) -> Option<Duration> {
    QueueReading::new(delay)
        .with_normal(normal, 20)
        .saturated(&RULE)
}

// core-12.8
#[test]
fn a_long_delay_saturates_above_the_floor() {
    assert_eq!(saturated(us(50), us(200)), None);
    assert_eq!(saturated(us(50), ms(15)), None);
    assert_eq!(saturated(us(50), ms(25)), Some(ms(25)));
    assert_eq!(saturated(us(50), ms(20)), Some(ms(20)));
}

// core-12.8
#[test]
fn probes_find_a_delay_that_saturates() {
    let queue = Queue::new();
    let now = probed(&queue, at(0), 30, us(50));
    assert_eq!(queue.read(now).saturated(&RULE), None);
    for (delay, expected) in [(us(200), None), (ms(15), None), (ms(25), Some(ms(25)))] {
        let now = probed(&queue, now.saturating_add(delay * 1_000), 1, delay);
        assert_eq!(queue.read(now).saturated(&RULE), expected, "{delay:?}");
    }
}

// core-12.9
#[test]
fn what_is_normal_does_not_saturate() {
    assert_eq!(saturated(ms(25), ms(30)), None);
    assert_eq!(saturated(ms(25), ms(125)), Some(ms(125)));

    let queue = Queue::new();
    let now = probed(&queue, at(0), 30, ms(25));
    let now = probed(&queue, now, 1, ms(30));
    assert_eq!(queue.read(now).saturated(&RULE), None);
}

// core-12.10
#[test]
fn a_cold_baseline_does_not_saturate() {
    let queue = Queue::new();
    let now = probed(&queue, at(0), 10, us(50));
    let now = probed(&queue, now, 1, Duration::from_secs(5));
    let reading = queue.read(now);
    assert_eq!(reading.delay(), Duration::from_secs(5));
    assert_eq!(reading.normal(&RULE), None);
    assert_eq!(reading.saturated(&RULE), None);
    assert!(reading.saturated(&RULE.with_minimum_samples(11)).is_some());
    assert_eq!(
        QueueReading::new(ms(30)).saturated(&RULE.with_minimum_samples(0)),
        None
    );
}

// core-12.11
#[test]
fn a_probe_on_its_way_is_a_reading() {
    let queue = Queue::new();
    let now = probed(&queue, at(0), 20, us(10));
    let _stuck = queue.probe(now, now).expect("a probe is due");
    let later = now.saturating_add(Duration::from_secs(1));
    assert_eq!(queue.read(now).delay(), us(10));
    assert_eq!(queue.read(later).delay(), Duration::from_secs(1));
    assert!(queue.read(later).saturated(&RULE).is_some());
}

// core-12.13: the second half, the events, belongs to the policy that tells them.
#[test]
fn an_episode_ends_and_comes_back() {
    let queue = Queue::new();
    let mut now = probed(&queue, at(0), 40, us(50));
    for (delay, is_saturated) in [(ms(30), true), (us(60), false), (ms(30), true)] {
        now = probed(&queue, now, 1, delay);
        assert_eq!(queue.read(now).saturated(&RULE).is_some(), is_saturated);
    }
}

// core-12.14
#[test]
fn a_hundred_readers_send_one_probe() {
    let queue = Queue::new();
    let now = probed(&queue, at(0), 1, us(50));
    assert!(!queue.is_due(at(249)));
    let asked = |from: Instant| {
        let mut sent = 0;
        for reader in 0..100 {
            let now = from.saturating_add(us(2_499) * reader);
            assert_eq!(queue.is_due(now), sent == 0);
            sent += u32::from(queue.probe(now, now).is_some());
            let _reading = queue.read(now);
        }
        sent
    };
    assert_eq!(asked(now), 1);
}

#[test]
fn nobody_asks_nothing_is_probed() {
    let queue = Queue::new();
    let reading = queue.read(at(1_000));
    assert_eq!(reading, QueueReading::new(Duration::ZERO));
    assert_eq!(queue.trip.load(), 0);
}

#[test]
fn what_is_normal_fades_in_a_minute() {
    let queue = Queue::new();
    let now = probed(&queue, at(0), 40, us(50));
    assert!(queue.read(now).normal(&RULE).is_some());
    let last = now.saturating_sub(INTERVAL);
    let old = last.saturating_add(WINDOW).saturating_add(ms(1));
    assert_eq!(queue.read(old).normal(&RULE), None);
}

#[test]
fn a_minute_holds_the_most_samples() {
    let queue = Queue::new();
    let mut now = at(0);
    for _ in 0..1_000 {
        now = probed(&queue, now, 1, Duration::ZERO);
        let needs = RULE.with_minimum_samples(Saturation::MOST_SAMPLES);
        if now >= at(60_000) {
            assert!(queue.read(now).normal(&needs).is_some(), "{now:?}");
        }
    }
}

#[test]
fn a_dropped_probe_says_nothing() {
    let queue = Queue::new();
    let now = probed(&queue, at(0), 1, us(50));
    drop(queue.probe(now, now).expect("a probe is due"));
    let later = now.saturating_add(ms(100));
    assert_eq!(queue.read(later).delay(), us(50));
    assert!(!queue.is_due(later) && queue.is_due(now.saturating_add(INTERVAL)));
}

#[test]
fn a_probe_back_before_its_start_says_nothing() {
    let queue = Queue::new();
    let probe = queue.probe(at(0), at(1)).expect("a probe is due");
    assert_eq!(queue.read(at(0)).delay(), Duration::ZERO);
    probe.finish(Instant::from_nanos(999_999));
    assert_eq!(queue.read(at(500)), QueueReading::new(Duration::ZERO));
    assert!(queue.is_due(at(251)));
}

#[test]
fn a_lost_probe_is_given_up() {
    let queue = Queue::new();
    let lost = queue.probe(at(0), at(0)).expect("a probe is due");
    assert!(queue.probe(at(59_999), at(59_999)).is_none());
    assert_eq!(queue.read(at(59_999)).delay(), ms(59_999));
    let next = queue.probe(at(60_000), at(60_000)).expect("it is given up");
    // What the lost one has to say is no news any more, nor does it take the
    // place of the next.
    lost.finish(at(60_010));
    assert!(queue.probe(at(60_300), at(60_300)).is_none());
    assert_eq!(queue.read(at(60_020)).delay(), ms(20));
    next.finish(at(60_030));
    assert_eq!(queue.read(at(60_040)).delay(), ms(30));
}

proptest! {
    #[test]
    fn clocks_do_what_they_want(times in proptest::collection::vec(
        prop_oneof![any::<u64>(), 0..1_000_000_000_u64, Just(0), Just(u64::MAX)], 1..60,
    )) {
        let queue = Queue::new();
        let mut probes = Vec::new();
        for (turn, &time) in times.iter().enumerate() {
            let now = Instant::from_nanos(time);
            let sent = queue.probe(now, now.saturating_add(ms(1)));
            prop_assert!(!queue.is_due(now) || sent.is_none());
            probes.extend(sent);
            let _reading = queue.read(now).saturated(&RULE);
            if turn % 3 == 0 && let Some(probe) = probes.pop() {
                probe.finish(now);
            }
        }
        // No probe is lost for longer than a minute, whatever the clock did.
        let end = Instant::from_nanos(times[0]).saturating_add(ms(1));
        let later = if times[0] < u64::MAX / 2 {
            end.saturating_add(WINDOW * 20)
        } else {
            end.saturating_sub(WINDOW * 20)
        };
        drop(probes);
        let first = queue.probe(later, later).is_some();
        let second = queue.probe(end, end).is_some();
        prop_assert!(first || second);
    }
}
