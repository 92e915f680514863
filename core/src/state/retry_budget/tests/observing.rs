//! A budget that only observes.

use super::*;

#[test]
fn an_observing_budget_refuses_nothing() {
    let budget = Alone::new(Budget::REFERENCE);
    assert!(!budget.is_observing());
    budget.observe();
    assert!(budget.is_observing());
    let observed = |_: &u32| {
        let token = budget.take(at(0)).expect("it only observes");
        let is_observed = token.is_observed();
        token.spend();
        is_observed
    };
    assert_eq!((0..100).filter(observed).count(), 70);
}

#[test]
fn an_observing_budget_counts_as_ever() {
    let (real, observing) = (Alone::new(Budget::FLEET), Alone::new(Budget::FLEET));
    observing.observe();
    for step in 0..10_000 {
        let now = at(step * 70);
        if step % 3 == 0 {
            let token = observing.take(now).expect("it only observes");
            assert_eq!(spend(&real, now), !token.is_observed());
            token.spend();
        } else if step % 100 < 90 {
            real.deposit(now);
            observing.deposit(now);
        }
        assert_eq!(real.utilization(now), observing.utilization(now));
        assert_eq!(real.retry_after(now), observing.retry_after(now));
    }
}

#[test]
fn an_observed_token_gives_nothing_back() {
    let budget = emptied(Budget::REFERENCE);
    budget.observe();
    for _ in 0..10 {
        drop(budget.take(at(0)));
    }
    assert_eq!(budget.utilization(at(0)), Ratio::ONE);
}

#[test]
fn sheddable_work_is_observed_too() {
    let budget = Alone::new(Budget::FLEET);
    budget.deposit(at(0));
    budget.observe();
    let token = budget.take_sheddable(at(0)).expect("it only observes");
    assert!(token.is_observed());
}

#[test]
fn a_reset_ends_observing() {
    let budget = emptied(Budget::REFERENCE);
    budget.observe();
    budget.reset();
    assert!(!budget.is_observing());
    assert_eq!((0..100).filter(|_| spend(&budget, at(0))).count(), 30);
}

#[test]
fn no_budget_has_nothing_to_observe() {
    let budget = Alone::new(Budget::NONE);
    budget.observe();
    let token = budget.take(at(0)).expect("every retry is funded");
    assert!(!token.is_observed());
}
