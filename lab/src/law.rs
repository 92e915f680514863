//! Waits, budgets and breakers as a file writes them.

use serde::Deserialize;
use steadfast_core::{Backoff, Breaker, Budget, Jitter, Ratio};

use crate::choice::Chosen;
use crate::units::{Bound, Share, Span};

/// The waits between attempts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backing {
    base: Option<Span>,
    constant: Option<Span>,
    throttled: Option<Span>,
    factor: Option<Share>,
    maximum: Option<Span>,
    jitter: Option<Spread>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Spread {
    None,
    Equal,
    Full,
}

impl Chosen for Backing {
    type Made = Backoff;

    const WORDS: &'static [&'static str] = &["default", "none"];

    fn word(word: &str) -> Option<Backoff> {
        match word {
            "default" => Some(Backoff::DEFAULT),
            "none" => Some(Backoff::NONE),
            _ => None,
        }
    }

    fn made(self) -> Result<Backoff, String> {
        let mut backoff = match (self.base, self.constant) {
            (Some(Span(base)), None) => Backoff::exponential(base),
            (None, Some(Span(delay))) => Backoff::constant(delay),
            (None, None) => Backoff::DEFAULT,
            (Some(_), Some(_)) => {
                return Err("a wait grows from its `base` or is `constant`: drop one".into());
            }
        };
        if let Some(Span(throttled)) = self.throttled {
            backoff = backoff.with_bases(backoff.transient_base(), throttled);
        }
        if let Some(Share(factor)) = self.factor {
            backoff = backoff.with_factor(factor);
        }
        if let Some(Span(maximum)) = self.maximum {
            backoff = backoff.with_maximum(maximum);
        }
        if let Some(spread) = self.jitter {
            backoff = backoff.with_jitter(match spread {
                Spread::None => Jitter::None,
                Spread::Equal => Jitter::Equal,
                Spread::Full => Jitter::Full,
            });
        }
        Ok(backoff)
    }
}

/// What retries may add.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budgeting {
    fraction: Share,
    #[serde(default)]
    per_second: u32,
    burst: Option<u32>,
    half_life: Option<Bound>,
    spare: Option<Bound>,
}

impl Chosen for Budgeting {
    type Made = Budget;

    const WORDS: &'static [&'static str] = &["fleet", "reference", "default", "none"];

    fn word(word: &str) -> Option<Budget> {
        match word {
            "fleet" => Some(Budget::FLEET),
            "reference" => Some(Budget::REFERENCE),
            "default" => Some(Budget::DEFAULT),
            "none" => Some(Budget::NONE),
            _ => None,
        }
    }

    fn made(self) -> Result<Budget, String> {
        let mut budget = Budget::new(self.fraction.0, self.per_second);
        if let Some(burst) = self.burst {
            budget = budget.with_burst(burst);
        }
        if let Some(Bound(Some(half_life))) = self.half_life {
            budget = budget.with_half_life(half_life);
        }
        if let Some(Bound(Some(after))) = self.spare {
            budget = budget.with_spare(after);
        }
        Ok(budget)
    }
}

/// What opens a breaker, and what closes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Breaking {
    consecutive_failures: Option<u32>,
    failure_ratio: Option<Share>,
    slow_call: Option<Span>,
    slow_ratio: Option<Share>,
    window: Option<Span>,
    minimum_calls: Option<u32>,
    first_break: Option<Span>,
    longest_break: Option<Span>,
    probes: Option<u32>,
    probe_successes: Option<u32>,
}

impl Chosen for Breaking {
    type Made = Option<Breaker>;

    const WORDS: &'static [&'static str] = &["default", "reference", "none"];

    fn word(word: &str) -> Option<Option<Breaker>> {
        match word {
            "default" => Some(Some(Breaker::DEFAULT)),
            "reference" => Some(Some(Breaker::REFERENCE)),
            "none" => Some(None),
            _ => None,
        }
    }

    fn made(self) -> Result<Option<Breaker>, String> {
        let usual = Breaker::DEFAULT;
        let or = |span: Option<Span>, usual| span.map_or(usual, |Span(span)| span);
        let mut breaker = usual
            .with_window(
                or(self.window, usual.window()),
                self.minimum_calls.unwrap_or(usual.minimum_calls()),
            )
            .with_break(
                or(self.first_break, usual.first_break()),
                or(self.longest_break, usual.longest_break()),
            )
            .with_probes(
                self.probes.unwrap_or(usual.probes()),
                self.probe_successes.unwrap_or(usual.probe_successes()),
            );
        if let Some(failures) = self.consecutive_failures {
            breaker = breaker.with_consecutive_failures(failures);
        }
        if let Some(Share(ratio)) = self.failure_ratio {
            breaker = breaker.with_failure_ratio(ratio);
        }
        let ratio: Ratio = self
            .slow_ratio
            .map_or(usual.slow_ratio(), |Share(ratio)| ratio);
        breaker = match self.slow_call {
            Some(Span(threshold)) => breaker.with_slow_calls(threshold, ratio),
            None => breaker.with_slow_ratio(ratio),
        };
        Ok(Some(breaker))
    }
}
