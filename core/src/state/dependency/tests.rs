use super::*;
use crate::breaker_state::BreakerState;
use crate::memory::Local;
use crate::policy::breaker::Breaker;
use crate::policy::budget::Budget;
use crate::policy::restarts::Restarts;
use crate::state::retry_budget::Token;

const GUARDED: Policy = Policy::DEFAULT.with_breaker(Breaker::DEFAULT);

fn seeded<M: Memory>(seed: u64) -> Parts<M> {
    Parts {
        seed: Some(seed),
        ..Parts::NONE
    }
}

fn draws(live: &Dependency<Local>, seed: u64) -> [u32; 4] {
    [(); 4].map(|()| live.draw(|| seed))
}

#[test]
fn parts_follow_the_policy() {
    let live: Dependency = Dependency::new(&GUARDED);
    assert!(live.breaker().is_some() && live.budget().is_some());
    assert!(!live.is_breaker_shared() && !live.is_budget_shared());

    let live: Dependency = Dependency::new(&Policy::NONE);
    assert!(live.breaker().is_none() && live.budget().is_none());

    let live: Dependency = Dependency::new(&GUARDED.with_budget(Budget::NONE));
    assert!(live.budget().is_none());
    let live: Dependency = Dependency::new(&GUARDED.with_attempts(1).with_restarts(Restarts::NONE));
    assert!(live.budget().is_none());
}

//
#[test]
fn a_shared_breaker_is_ruled_from_outside() {
    static SHARED: CircuitBreaker = CircuitBreaker::new(Breaker::DEFAULT);
    const PARTS: Parts = Parts {
        breaker: Some(&SHARED),
        ..Parts::NONE
    };
    let live: Dependency = Dependency::with_parts(&Policy::NONE, &PARTS);
    let other: Dependency = Dependency::with_parts(&GUARDED, &PARTS);
    assert!(live.is_breaker_shared());
    SHARED.isolate();
    for live in [&live, &other] {
        let breaker = live.breaker().expect("it is shared");
        assert!(breaker.admit(Instant::ZERO).is_err());
        live.reset();
        assert_eq!(breaker.state(Instant::ZERO), BreakerState::Isolated);
    }
    SHARED.reset();
    assert!(
        live.breaker()
            .expect("it is shared")
            .admit(Instant::ZERO)
            .is_ok()
    );
}

#[cfg(feature = "alloc")]
#[test]
fn parts_can_be_held_together() {
    let breaker = Arc::new(CircuitBreaker::new(Breaker::DEFAULT));
    let budget = Arc::new(RetryBudget::new(Budget::DEFAULT));
    let mut live: Dependency = Dependency::new(&Policy::NONE);
    live.hold_breaker(Arc::clone(&breaker));
    live.hold_budget(budget);
    assert!(live.is_breaker_shared() && live.is_budget_shared());
    breaker.isolate();
    live.reset();
    let state = live.breaker().map(|held| held.state(Instant::ZERO));
    assert_eq!(state, Some(BreakerState::Isolated));
}

#[test]
fn reset_starts_own_parts_afresh() {
    let live: Dependency = Dependency::new(&GUARDED);
    let breaker = live.breaker().expect("the policy has one");
    breaker.isolate();
    let budget = live.budget().expect("the policy has one");
    while budget.take(Instant::ZERO).map(Token::spend).is_some() {}
    live.reset();
    assert_eq!(breaker.state(Instant::ZERO), BreakerState::Closed);
    assert!(budget.take(Instant::ZERO).is_some());
}

#[test]
fn a_seed_is_asked_for_once() {
    let live: Dependency<Local> = Dependency::new(&Policy::NONE);
    live.draw(|| 7);
    live.draw(|| unreachable!("it has a seed"));
    live.reset();
    let mut asked = false;
    live.draw(|| {
        asked = true;
        7
    });
    assert!(asked);
}

//
#[test]
fn a_fixed_seed_repeats_the_stream() {
    let fixed = || Dependency::with_parts(&Policy::NONE, &seeded(7));
    let live = fixed();
    let first = draws(&live, 1);
    assert_eq!(first, draws(&fixed(), 2));
    assert_ne!(first, draws(&live, 1));
    live.reset();
    assert_eq!(first, draws(&live, 3));
    assert_eq!(live.fixed_seed(), Some(7));
}

#[test]
fn guards_do_not_draw_alike() {
    let [one, other] = [2, 4].map(|seed| draws(&Dependency::new(&Policy::NONE), seed));
    assert_ne!(one, other);
}

#[test]
fn seed_zero_is_a_seed() {
    let live: Dependency<Local> = Dependency::with_parts(&Policy::NONE, &seeded(0));
    live.draw(|| unreachable!("it has a seed"));
    assert_ne!(live.draw(|| 1), live.draw(|| 1));
}
