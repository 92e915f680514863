use std::thread;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::memory::Local;

type Alone = RateLimit<Local>;

const HOUR: u64 = 3_600_000;

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn per_window(permits: u32, millis: u64) -> Alone {
    Alone::new(Rate::per_window(permits, ms(millis)))
}

fn spend<M: Memory>(limit: &RateLimit<M>, now: Instant) -> bool {
    limit.acquire(now).map(Reservation::spend).is_ok()
}

fn hint(limit: &Alone, now: Instant) -> Option<Duration> {
    limit.acquire(now).err().and_then(|no| no.retry_after())
}

#[test]
fn a_second_is_the_burst() {
    let limit = Alone::new(Rate::per_second(10));
    assert_eq!((0..20).filter(|_| spend(&limit, at(0))).count(), 10);
    assert_eq!((0..20).filter(|_| spend(&limit, at(500))).count(), 5);
    let limit = Alone::new(Rate::per_second(10).with_burst(3));
    assert_eq!((0..20).filter(|_| spend(&limit, at(0))).count(), 3);
}

#[test]
fn the_hint_is_the_next_token() {
    let limit = Alone::new(Rate::per_second(4).with_burst(1));
    assert!(spend(&limit, at(0)));
    assert_eq!(hint(&limit, at(100)), Some(ms(150)));
    let early = at(250).saturating_sub(Duration::from_nanos(8));
    assert!(!spend(&limit, early));
    assert!(spend(&limit, at(250)));
}

// core-09.19
#[test]
fn a_window_slides_by_eighths() {
    let limit = per_window(8, 8_000);
    for at_ms in [0, 10, 100, 200, 500, 700, 800, 999] {
        assert!(spend(&limit, at(at_ms)));
    }
    assert_eq!(hint(&limit, at(999)), Some(ms(7_001)));
    assert!(!spend(&limit, at(7_999)));
    assert_eq!(limit.free(at(8_000)), 8);
    assert_eq!((0..20).filter(|_| spend(&limit, at(8_000))).count(), 8);
}

#[test]
fn the_hint_is_the_oldest_eighth() {
    let limit = per_window(3, 8_000);
    for at_ms in [0, 2_500, 2_600] {
        assert!(spend(&limit, at(at_ms)));
    }
    assert_eq!(hint(&limit, at(3_000)), Some(ms(5_000)));
    assert!(spend(&limit, at(8_000)));
    assert_eq!(hint(&limit, at(8_000)), Some(ms(2_000)));
}

//
#[test]
fn one_permit_costs_one() {
    for limit in [Alone::new(Rate::per_second(5)), per_window(5, 1_000)] {
        let mut now = at(HOUR);
        assert_eq!(limit.free(now), 5);
        for left in [4, 3, 2] {
            // A clock that moves a little must neither take nor give.
            now = now.saturating_add(Duration::from_nanos(40));
            assert!(spend(&limit, now));
            assert_eq!(limit.free(now), left);
        }
    }
}

//
#[test]
fn a_long_pause_saves_one_burst() {
    for limit in [Alone::new(Rate::per_second(5)), per_window(5, 1_000)] {
        while spend(&limit, at(0)) {}
        let later = at(HOUR);
        assert_eq!((0..20).filter(|_| spend(&limit, later)).count(), 5);
    }
}

//
#[test]
fn racing_threads_get_what_there_is() {
    static SECOND: RateLimit = RateLimit::new(Rate::per_second(100));
    static WINDOW: RateLimit = RateLimit::new(Rate::per_window(100, ms(1_000)));
    for limit in [&SECOND, &WINDOW] {
        for at_ms in [0, 1_000, 2_000] {
            let race = || (0..1_000).filter(|_| spend(limit, at(at_ms))).count();
            let sum: usize = thread::scope(|scope| {
                let threads = [(); 2].map(|()| scope.spawn(race));
                threads.map(|thread| thread.join().unwrap()).iter().sum()
            });
            assert_eq!(sum, 100);
        }
    }
}

//
#[test]
fn a_herd_takes_one_token_each() {
    let limit = Alone::new(Rate::per_second(10).with_burst(1));
    assert!(spend(&limit, at(0)));
    let mut waiting: Vec<Instant> = (0..50).map(|_| at(0)).collect();
    let mut gone = Vec::new();
    while let Some(now) = waiting.iter().min().copied() {
        let (due, later): (Vec<_>, Vec<_>) = waiting.iter().partition(|&&due| due == now);
        waiting = later;
        for _ in due {
            match limit.acquire(now) {
                Ok(permit) => {
                    permit.spend();
                    gone.push(now);
                }
                Err(no) => waiting.push(now.saturating_add(no.retry_after().unwrap())),
            }
        }
    }
    let due: Vec<Instant> = (1..=50).map(|tenth| at(tenth * 100)).collect();
    assert_eq!(gone, due);
}

#[test]
fn reservations_go_one_after_the_other() {
    let limit = Alone::new(Rate::per_second(10).with_burst(1));
    let held = [(); 4].map(|()| limit.reserve(at(0), ms(300)).unwrap());
    assert_eq!(
        held.each_ref().map(Reservation::at),
        [0, 100, 200, 300].map(at)
    );
    let refusal = limit.reserve(at(0), ms(300)).unwrap_err();
    assert_eq!(refusal.retry_after(), Some(ms(100)));
    drop(held);
    assert_eq!(limit.reserve(at(0), ms(300)).unwrap().at(), at(0));
    assert_eq!(limit.free(at(0)), 1);
}

//
#[test]
fn what_is_dropped_comes_back() {
    for limit in [Alone::new(Rate::per_second(2)), per_window(2, 8_000)] {
        for _ in 0..100 {
            drop(limit.acquire(at(0)).unwrap());
        }
        assert_eq!(limit.free(at(0)), 2);
    }
}

#[test]
fn a_late_drop_gives_nothing_twice() {
    let limit = per_window(2, 8_000);
    let stale = limit.acquire(at(0)).unwrap();
    assert_eq!((0..3).filter(|_| spend(&limit, at(8_000))).count(), 2);
    drop(stale);
    assert!(!spend(&limit, at(8_000)));
}

#[test]
fn observing_refuses_nothing() {
    for limit in [Alone::new(Rate::per_second(2)), per_window(2, 1_000)] {
        limit.observe();
        assert!(limit.is_observing());
        let observed = [(); 4].map(|()| {
            let permit = limit.acquire(at(0)).unwrap();
            let observed = permit.is_observed();
            permit.spend();
            observed
        });
        assert_eq!(observed, [false, false, true, true]);
        // What it would have refused was not counted.
        assert_eq!((0..4).filter(|_| spend(&limit, at(1_000))).count(), 4);
        limit.reset();
        assert!(!limit.is_observing());
        assert_eq!((0..4).filter(|_| spend(&limit, at(1_000))).count(), 2);
    }
}

#[test]
fn a_step_back_makes_nothing() {
    for limit in [Alone::new(Rate::per_second(2)), per_window(2, 1_000)] {
        while spend(&limit, at(10_000)) {}
        assert!(!spend(&limit, at(9_000)));
        assert!(!spend(&limit, at(5_000)));
        // A window waits a window from where the clock came back to, at most.
        let due = if limit.rate().window().is_some() {
            6_000
        } else {
            11_000
        };
        assert!(spend(&limit, at(due)));
    }
}

#[test]
fn a_stale_clock_frees_nothing() {
    let limit = per_window(2, 8_000);
    assert!(spend(&limit, at(0)) && spend(&limit, at(7_500)));
    // Read before, used late.
    assert!(!spend(&limit, at(100)));
    assert!(!spend(&limit, at(7_600)));
    assert_eq!(limit.free(at(8_000)), 1);
    assert_eq!(limit.free(at(15_000)), 2);
}

#[test]
fn a_limit_is_small() {
    assert!(size_of::<Alone>() <= 168, "{} bytes", size_of::<Alone>());
}

proptest! {
    #[test]
    fn no_window_holds_more(steps in proptest::collection::vec((0..300_u64, any::<bool>()), 0..200)) {
        let limit = per_window(5, 800);
        let (mut now, mut gone) = (0, Vec::new());
        for (step, drops) in steps {
            now += step;
            if let Ok(permit) = limit.acquire(at(now))
                && !drops
            {
                permit.spend();
                gone.push(now);
            }
            let recent = gone.iter().filter(|&&then| then + 700 > now).count();
            prop_assert!(recent <= 5);
let is_whole = limit.free(at(now)) == 5;
            prop_assert!(is_whole || gone.iter().any(|&then| then + 800 > now));
            prop_assert!(!is_whole || gone.iter().all(|&then| then + 700 <= now));
        }
    }

    // T1
    #[test]
    fn any_clock_is_survived(times: Vec<u64>, permits in 1..5_u32) {
        let limits = [
            Alone::new(Rate::per_second(permits)),
            Alone::new(Rate::per_window(permits, Duration::from_nanos(100))),
        ];
        for limit in limits {
            for &nanos in &times {
                let now = Instant::from_nanos(nanos);
                drop(limit.acquire(now));
                drop(limit.reserve(now, Duration::MAX));
                let _spent = spend(&limit, now);
                prop_assert!(limit.free(now) <= permits);
            }
        }
    }
}
