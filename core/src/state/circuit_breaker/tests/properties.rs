//! Any order of anything, against a plain model.

use super::*;
use crate::math::ratio::Ratio;
use crate::policy::recovery::Recovery;
use proptest::prelude::*;
use std::vec::Vec;

/// What one thread can do; numbers choose among the permits held.
#[derive(Clone, Debug)]
enum Step {
    Admit,
    Settle(usize, Kind, bool, u32),
    Drop(usize),
    Lose(usize),
    Wait(u64),
    WaitForTheEnd,
    Back(u64),
    Isolate,
    Disable,
    Observe,
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        3 => Just(Kind::Ok),
        4 => Just(Kind::Transient),
        1 => Just(Kind::Throttled),
        1 => Just(Kind::Permanent),
    ];
    let step = prop_oneof![
        20 => Just(Step::Admit),
        16 => (any::<usize>(), kind, any::<bool>(), any::<u32>())
            .prop_map(|(which, kind, slow, draw)| Step::Settle(which, kind, slow, draw)),
        4 => any::<usize>().prop_map(Step::Drop),
        2 => any::<usize>().prop_map(Step::Lose),
        6 => (0..20_000_000_000_u64).prop_map(Step::Wait),
        4 => Just(Step::WaitForTheEnd),
        1 => any::<u64>().prop_map(|wait| Step::Wait(wait >> 8)),
        2 => prop_oneof![0..20_000_000_000_u64, any::<u64>()].prop_map(Step::Back),
        1 => Just(Step::Isolate),
        1 => Just(Step::Disable),
        1 => Just(Step::Observe),
        1 => Just(Step::Reset),
    ];
    proptest::collection::vec(step, 0..200)
}

fn settings() -> impl Strategy<Value = Breaker> {
    let jitter = prop_oneof![Just(Jitter::None), Just(Jitter::Equal), Just(Jitter::Full)];
    let recovery = (1..2_000_000_u32, 1..20_u64, 1..9_u64, 1..1_000_000_u32).prop_map(
        |(length, shortest, growth, initial)| {
            Recovery::DEFAULT
                .with_length(Ratio::ppm(length))
                .with_bounds(span(shortest), span(shortest * growth))
                .with_initial(Ratio::ppm(initial))
        },
    );
    let counts = (1..5_u32, 1..4_u32, 1..4_u32);
    let breaks = (1..20_u64, 1..9_u64, jitter);
    (counts, breaks, proptest::option::of(recovery)).prop_map(
        |((failures, probes, successes), (first, growth, jitter), recovery)| {
            // Slow successes count for probes and ramps only.
            let breaker = Breaker::DEFAULT
                .with_adaptive(false)
                .with_slow_calls(SLOW, Ratio::ONE)
                .with_window(span(30), u32::MAX)
                .with_consecutive_failures(failures)
                .with_probes(probes, successes)
                .with_break(span(first), span(first * growth))
                .with_jitter(jitter);
            match recovery {
                Some(recovery) => breaker.with_recovery(recovery),
                None => breaker,
            }
        },
    )
}

const SLOW: Duration = span(1);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Closed { failures: u32 },
    Open { until: u64 },
    HalfOpen { end: u64, successes: u32 },
    Recovering(Ramp),
    Isolated,
    Disabled,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Ramp {
    end: u64,
    length: u64,
    /// In parts per million, as all shares here.
    owed: u64,
    cap: u64,
    fast: u32,
}

impl Ramp {
    fn share(&self, recovery: Recovery, now: u64) -> u64 {
        let initial = u64::from(recovery.initial().as_ppm());
        let left = self.end.saturating_sub(now).min(self.length);
        let elapsed = u128::from(self.length - left);
        let grown = u128::from(1_000_000 - initial) * elapsed / u128::from(self.length);
        // The breaker counts in 32 bits.
        let clock = recovery.share(
            Duration::from_nanos(left),
            Duration::from_nanos(self.length),
        );
        let exact = initial + u64::try_from(grown).expect("a share");
        assert!(exact.abs_diff(clock.as_ppm().into()) <= 1);
        u64::from(clock.as_ppm()).min(self.cap)
    }
}

struct Model {
    settings: Breaker,
    phase: Phase,
    turn: Turn,
    opens: u32,
    /// The last break, as long as it was served.
    served: Duration,
    observes: bool,
    /// When the permits were given that neither came back nor were lost.
    held: Vec<Option<Turn>>,
    /// Probes of this lease that never come back.
    lost: u32,
}

/// When a permit was given: in which episode, and in which lease of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Turn {
    episode: u64,
    lease: u64,
}

/// What an admission should say.
#[derive(Debug, PartialEq)]
enum Answer {
    Admitted {
        is_probe: bool,
        half_opened: bool,
    },
    Refused {
        state: BreakerState,
        retry_after: Option<Duration>,
    },
}

impl Model {
    fn nominal(&self) -> u64 {
        let grown = self.settings.first_break() * (1 << self.opens.saturating_sub(1).min(20));
        let nanos = grown.min(self.settings.longest_break()).as_nanos();
        u64::try_from(nanos).expect("breaks are short here")
    }

    fn turn(&mut self, phase: Phase) {
        self.phase = phase;
        self.turn.episode += 1;
        self.turn.lease = 0;
        self.lost = 0;
    }

    fn in_flight(&self) -> u32 {
        if !matches!(self.phase, Phase::HalfOpen { .. }) {
            return 0;
        }
        let own = |&&held: &&Option<Turn>| held == Some(self.turn);
        self.lost + u32::try_from(self.held.iter().filter(own).count()).expect("few permits")
    }

    fn admit(&mut self, now: u64) -> Answer {
        let nominal = self.nominal();
        let is_full = self.in_flight() >= self.settings.probes();
        match &mut self.phase {
            Phase::Open { until: end } | Phase::HalfOpen { end, .. }
                if end.saturating_sub(now) > nominal =>
            {
                *end = now.saturating_add(nominal);
            }
            _ => {}
        }
        let leased = now.saturating_add(nominal);
        let (is_probe, half_opened) = match self.phase {
            Phase::Closed { .. } => (false, false),
            Phase::Disabled => {
                self.held.push(None);
                return Answer::Admitted {
                    is_probe: false,
                    half_opened: false,
                };
            }
            Phase::Isolated => return self.refuse(BreakerState::Isolated, None),
            Phase::Recovering(mut ramp) => {
                let share = ramp.share(self.recovery(), now);
                if share >= 1_000_000 {
                    self.opens = 0;
                    self.turn(Phase::Closed { failures: 0 });
                } else {
                    ramp.owed += share;
                    if ramp.end.saturating_sub(now) > ramp.length {
                        ramp.end = now + ramp.length;
                    }
                    let is_due = ramp.owed >= 1_000_000;
                    ramp.owed -= if is_due { 1_000_000 } else { 0 };
                    self.phase = Phase::Recovering(ramp);
                    if !is_due {
                        return self.refuse(BreakerState::Recovering, None);
                    }
                }
                (false, false)
            }
            Phase::Open { until } if now < until => {
                return self.refuse(BreakerState::Open, Some(Duration::from_nanos(until - now)));
            }
            Phase::HalfOpen { end, .. } if is_full && now < end => {
                return self.refuse(BreakerState::HalfOpen, None);
            }
            Phase::HalfOpen { successes, .. } => {
                if is_full {
                    self.turn.lease += 1;
                    self.lost = 0;
                }
                let end = leased;
                self.phase = Phase::HalfOpen { end, successes };
                (true, false)
            }
            Phase::Open { .. } => {
                let (end, successes) = (leased, 0);
                self.turn(Phase::HalfOpen { end, successes });
                (true, true)
            }
        };
        self.held.push(Some(self.turn));
        Answer::Admitted {
            is_probe,
            half_opened,
        }
    }

    fn recovery(&self) -> Recovery {
        self.settings.recovery().expect("it is recovering")
    }

    fn refuse(&mut self, state: BreakerState, retry_after: Option<Duration>) -> Answer {
        if self.observes {
            self.held.push(None);
            Answer::Admitted {
                is_probe: false,
                half_opened: false,
            }
        } else {
            Answer::Refused { state, retry_after }
        }
    }

    /// Takes the outcome of one permit, already removed from those held.
    ///
    /// An expired probe has a voice as long as the episode lasts.
    fn settle(
        &mut self,
        permit: Option<Turn>,
        kind: Kind,
        slow: bool,
        now: u64,
    ) -> Option<Transition> {
        if permit.map(|permit| permit.episode) != Some(self.turn.episode) {
            return None;
        }
        match (&mut self.phase, kind) {
            (Phase::Closed { failures }, Kind::Ok) => *failures = 0,
            (Phase::Closed { failures }, Kind::Transient) => {
                *failures += 1;
                if *failures >= self.settings.consecutive_failures() {
                    return Some(Transition::Opened);
                }
            }
            (Phase::HalfOpen { .. } | Phase::Recovering(_), Kind::Transient) => {
                return Some(Transition::Opened);
            }
            (Phase::HalfOpen { .. }, Kind::Ok) if slow && self.settings.recovery().is_none() => {
                return Some(Transition::Opened);
            }
            (Phase::HalfOpen { successes, .. }, Kind::Ok) => {
                *successes += 1;
                if *successes >= self.settings.probe_successes() {
                    self.end_break(now);
                    return Some(Transition::Closed);
                }
            }
            (&mut Phase::Recovering(ramp), Kind::Ok) => self.pace(ramp, slow, now),
            _ => {}
        }
        None
    }

    fn end_break(&mut self, now: u64) {
        let Some(recovery) = self.settings.recovery() else {
            self.opens = 0;
            return self.turn(Phase::Closed { failures: 0 });
        };
        let length = recovery.length_after(self.served).as_nanos();
        let length = u64::try_from(length).expect("ramps are short here");
        self.turn(Phase::Recovering(Ramp {
            end: now + length,
            length,
            owed: 0,
            cap: 1_000_000,
            fast: 0,
        }));
    }

    fn pace(&mut self, mut ramp: Ramp, slow: bool, now: u64) {
        let recovery = self.recovery();
        let initial = u64::from(recovery.initial().as_ppm());
        if slow {
            ramp.cap = (ramp.share(recovery, now) / 2).max(initial);
            ramp.fast = 0;
        } else {
            ramp.fast += 1;
            if ramp.fast == self.settings.probe_successes() {
                ramp.cap = (ramp.cap + initial).min(1_000_000);
                ramp.fast = 0;
            }
        }
        self.phase = Phase::Recovering(ramp);
    }

    fn state(&self, now: u64) -> BreakerState {
        match self.phase {
            Phase::Recovering(ramp) if ramp.share(self.recovery(), now) < 1_000_000 => {
                BreakerState::Recovering
            }
            Phase::Recovering(_) | Phase::Closed { .. } => BreakerState::Closed,
            Phase::Open { until } if now < until => BreakerState::Open,
            Phase::Open { .. } | Phase::HalfOpen { .. } => BreakerState::HalfOpen,
            Phase::Isolated => BreakerState::Isolated,
            Phase::Disabled => BreakerState::Disabled,
        }
    }
}

fn answer(got: &Result<Permit<'_, Local>, Refusal>) -> Answer {
    match got {
        Ok(permit) => Answer::Admitted {
            is_probe: permit.is_probe(),
            half_opened: permit.transition().is_some(),
        },
        Err(refusal) => Answer::Refused {
            state: refusal.state(),
            retry_after: refusal.retry_after(),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    // K1, K3, K4, K5, K6, K7, K8, K9
    #[test]
    fn it_does_what_the_model_does(settings in settings(), steps in steps()) {
        let breaker = Alone::new(settings);
        let mut model = Model {
            settings,
            phase: Phase::Closed { failures: 0 },
            turn: Turn::default(),
            opens: 0,
            served: Duration::ZERO,
            observes: false,
            held: Vec::new(),
            lost: 0,
        };
        let mut permits = Vec::new();
        let mut now = 1_000_000_000_000;
        for step in steps {
            let at = Instant::from_nanos(now);
            match step {
                Step::Admit => {
                    let got = breaker.admit(at);
                    prop_assert_eq!(answer(&got), model.admit(now));
                    permits.extend(got);
                }
                Step::Settle(which, kind, slow, draw) if !permits.is_empty() => {
                    let which = which % permits.len();
                    let permit = permits.swap_remove(which);
                    let took = if slow { SLOW } else { QUICK };
                    let change = permit.settle(at, kind, took, || draw);
                    let held = model.held.swap_remove(which);
                    prop_assert_eq!(change, model.settle(held, kind, slow, now));
                    if change == Some(Transition::Opened) {
                        model.opens += 1;
                        let served = breaker.until.load().saturating_sub(now);
                        let nominal = model.nominal();
                        model.served = Duration::from_nanos(served);
                        match settings.jitter() {
                            Jitter::None => prop_assert_eq!(served, nominal),
                            Jitter::Equal => prop_assert!((nominal / 2..nominal).contains(&served)),
                            Jitter::Full => prop_assert!(served < nominal),
                        }
                        model.turn(Phase::Open { until: now.saturating_add(served) });
                    }
                }
                Step::Drop(which) if !permits.is_empty() => {
                    let which = which % permits.len();
                    drop(permits.swap_remove(which));
                    model.held.swap_remove(which);
                }
                Step::Lose(which) if !permits.is_empty() => {
                    let which = which % permits.len();
                    core::mem::forget(permits.swap_remove(which));
                    let held = model.held.swap_remove(which);
                    if held == Some(model.turn) {
                        model.lost += 1;
                    }
                }
                Step::Settle(..) | Step::Drop(_) | Step::Lose(_) => {}
                Step::Wait(wait) => now = now.saturating_add(wait).min(u64::MAX / 2),
                Step::WaitForTheEnd => {
                    if let Some(left) = breaker.retry_after(at) {
                        now = at.saturating_add(left).as_nanos();
                    }
                }
                Step::Back(back) => now = now.saturating_sub(back),
                Step::Isolate | Step::Disable => {
                    model.observes = false;
                    if matches!(step, Step::Isolate) {
                        breaker.isolate();
                        model.turn(Phase::Isolated);
                    } else {
                        breaker.disable();
                        model.turn(Phase::Disabled);
                    }
                }
                Step::Observe => {
                    breaker.observe();
                    model.observes = true;
                    if matches!(model.phase, Phase::Isolated | Phase::Disabled) {
                        model.opens = 0;
                        model.turn(Phase::Closed { failures: 0 });
                    }
                }
                Step::Reset => {
                    breaker.reset();
                    model.observes = false;
                    model.opens = 0;
                    model.turn(Phase::Closed { failures: 0 });
                }
            }

            // From here on lease numbers repeat, which the model does not know.
            if model.turn.lease == 16 {
                return Ok(());
            }
            let at = Instant::from_nanos(now);
            let (word, until) = (breaker.word(), breaker.until.load());
            if let Phase::Recovering(ramp) = model.phase {
                prop_assert_eq!(u64::from(breaker.ramp.cap(word).as_ppm()), ramp.cap);
            }
            prop_assert!(!word.is_busy());
            prop_assert_eq!(word.in_flight(), model.in_flight());
            prop_assert!(word.in_flight() <= settings.probes());
            prop_assert!(word.successes() < settings.probe_successes());
            prop_assert_eq!(word.opens(), model.opens.min(63));
            prop_assert_eq!(breaker.state(at), model.state(now));
            prop_assert_eq!(breaker.is_observing(), model.observes);
            let hint = breaker.retry_after(at);
            prop_assert_eq!(hint.is_some(), matches!(model.phase, Phase::Open { .. }));
            prop_assert!(hint <= Some(Duration::from_nanos(model.nominal())));
            prop_assert_eq!((word.0, until), (breaker.word().0, breaker.until.load()));
        }
        drop(permits);
        prop_assert!(breaker.word().in_flight() <= model.lost);
    }

    /// However a clock stepped: who waits as long as it was told, and the
    /// clock runs on meanwhile, is not refused again.
    #[test]
    fn a_hint_is_kept(clocks in proptest::collection::vec(any::<u64>(), 1..50)) {
        let breaker = Alone::new(FRAGILE);
        opened(&breaker, Instant::from_nanos(clocks[0]));
        for now in clocks {
            let now = Instant::from_nanos(now);
            let Err(refusal) = breaker.admit(now) else { break };
            let wait = refusal.retry_after().expect("it is open");
            prop_assert!(wait <= span(15));
            let then = now.saturating_add(wait);
            prop_assert_eq!(breaker.state(then), BreakerState::HalfOpen);
        }
    }

    /// Who waits a nominal break, and the clock runs on meanwhile, is a probe,
    /// whatever happened to the probes before.
    #[test]
    fn a_nominal_break_is_always_enough(
        clocks in proptest::collection::vec(any::<u64>(), 1..50),
        probes in 1..4_u32,
    ) {
        let breaker = Alone::new(FRAGILE.with_probes(probes, 2));
        opened(&breaker, Instant::from_nanos(clocks[0]));
        for now in clocks {
            let now = Instant::from_nanos(now >> 1);
            core::mem::forget(breaker.admit(now));
            let later = now.saturating_add(span(15));
            let probe = breaker.admit(later);
            prop_assert!(probe.is_ok_and(|probe| probe.is_probe()));
        }
    }

    #[test]
    fn a_ratio_opens_exactly_when_reached(
        failed in proptest::collection::vec(any::<bool>(), 1..200),
        percent in 1..=100_u32,
        minimum in 1..50_u32,
    ) {
        let breaker = Alone::new(
            PATIENT
                .with_failure_ratio(Ratio::percent(percent))
                .with_window(span(30), minimum),
        );
        let (mut calls, mut failures) = (0, 0);
        for failed in failed {
            calls += 1;
            failures += u32::from(failed);
            let kind = if failed { Kind::Transient } else { Kind::Ok };
            let opens = failed && calls >= minimum && failures * 100 >= calls * percent;
            let change = attempt(&breaker, secs(0), kind);
            prop_assert_eq!(change.is_some(), opens);
            if opens {
                break;
            }
        }
    }
}
