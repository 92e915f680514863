//! A policy as a file writes it.

use serde::Deserialize;
use steadfast_core::{Concurrency, Hedge, Policy, Rate, Saturation, Throttle};
use toml::Spanned;

use crate::choice::{Choice, Chosen};
use crate::law::{Backing, Breaking, Budgeting};
use crate::units::{Bound, Share, Span};

/// A table `[[policy]]`: a preset, and what is other than that.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyTable {
    pub(crate) name: Option<String>,
    #[serde(default)]
    preset: Preset,
    attempts: Option<u32>,
    deadline: Option<Bound>,
    attempt_timeout: Option<Bound>,
    adaptive: Option<bool>,
    backoff: Option<Choice<Backing>>,
    budget: Option<Choice<Budgeting>>,
    breaker: Option<Choice<Breaking>>,
    hedge: Option<Choice<Hedging>>,
    concurrency: Option<Choice<Limiting>>,
    throttle: Option<Choice<Throttling>>,
    rate: Option<Choice<Pacing>>,
    saturation: Option<Choice<Saturating>>,
    /// What has to hold of this policy.
    #[serde(default)]
    pub(crate) assertions: Vec<Spanned<String>>,
}

/// What a policy starts from.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Preset {
    /// [`Policy::DEFAULT`].
    #[default]
    Default,
    /// [`Policy::NONE`].
    None,
}

impl PolicyTable {
    /// Returns the policy.
    pub(crate) fn made(&self) -> Policy {
        let mut policy = match self.preset {
            Preset::Default => Policy::DEFAULT,
            Preset::None => Policy::NONE,
        };
        if let Some(attempts) = self.attempts {
            policy = policy.with_attempts(attempts);
        }
        if let Some(Bound(deadline)) = self.deadline {
            policy = match deadline {
                Some(span) => policy.with_deadline(span),
                None => policy.without_deadline(),
            };
        }
        if let Some(Bound(timeout)) = self.attempt_timeout {
            policy = match timeout {
                Some(span) => policy.with_attempt_timeout(span),
                None => policy.without_attempt_timeout(),
            };
        }
        if let Some(adaptive) = self.adaptive {
            policy = policy.with_adaptive(adaptive);
        }
        if let Some(Choice(backoff)) = self.backoff {
            policy = policy.with_backoff(backoff);
        }
        if let Some(Choice(budget)) = self.budget {
            policy = policy.with_budget(budget);
        }
        policy = self.with_breaker(policy);
        self.with_limits(policy)
    }

    fn with_breaker(&self, policy: Policy) -> Policy {
        let policy = match self.breaker {
            Some(Choice(Some(breaker))) => policy.with_breaker(breaker),
            Some(Choice(None)) => policy.without_breaker(),
            None => policy,
        };
        match self.hedge {
            Some(Choice(Some(hedge))) => policy.with_hedge(hedge),
            Some(Choice(None)) => policy.without_hedge(),
            None => policy,
        }
    }

    fn with_limits(&self, policy: Policy) -> Policy {
        let policy = match self.concurrency {
            Some(Choice(Some(limit))) => policy.with_concurrency(limit),
            Some(Choice(None)) => policy.without_concurrency(),
            None => policy,
        };
        let policy = match self.throttle {
            Some(Choice(Some(throttle))) => policy.with_throttle(throttle),
            Some(Choice(None)) => policy.without_throttle(),
            None => policy,
        };
        let policy = match self.rate {
            Some(Choice(Some(rate))) => policy.with_rate(rate),
            Some(Choice(None)) => policy.without_rate(),
            None => policy,
        };
        match self.saturation {
            Some(Choice(Some(law))) => policy.with_saturation(law),
            Some(Choice(None)) => policy.without_saturation(),
            None => policy,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hedging {
    quantile: Option<Share>,
    window: Option<Span>,
    minimum_samples: Option<u32>,
    minimum_delay: Option<Span>,
}

impl Chosen for Hedging {
    type Made = Option<Hedge>;

    const WORDS: &'static [&'static str] = &["default", "none"];

    fn word(word: &str) -> Option<Option<Hedge>> {
        match word {
            "default" => Some(Some(Hedge::DEFAULT)),
            "none" => Some(None),
            _ => None,
        }
    }

    fn made(self) -> Result<Option<Hedge>, String> {
        let mut hedge = Hedge::DEFAULT;
        if let Some(Share(quantile)) = self.quantile {
            hedge = hedge.with_quantile(quantile);
        }
        if let Some(Span(window)) = self.window {
            hedge = hedge.with_window(window);
        }
        if let Some(samples) = self.minimum_samples {
            hedge = hedge.with_minimum_samples(samples);
        }
        if let Some(Span(delay)) = self.minimum_delay {
            hedge = hedge.with_minimum_delay(delay);
        }
        Ok(Some(hedge))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limiting {
    initial: Option<u32>,
    minimum: Option<u32>,
    maximum: Option<u32>,
}

impl Chosen for Limiting {
    type Made = Option<Concurrency>;

    const WORDS: &'static [&'static str] = &["adaptive", "none"];

    fn word(word: &str) -> Option<Option<Concurrency>> {
        match word {
            "adaptive" => Some(Some(Concurrency::ADAPTIVE)),
            "none" => Some(None),
            _ => None,
        }
    }

    fn number(permits: u32) -> Option<Option<Concurrency>> {
        Some(Some(Concurrency::fixed(permits)))
    }

    fn made(self) -> Result<Option<Concurrency>, String> {
        let mut limit = Concurrency::ADAPTIVE;
        if let Some(permits) = self.initial {
            limit = limit.with_initial(permits);
        }
        if let Some(permits) = self.minimum {
            limit = limit.with_minimum(permits);
        }
        if let Some(permits) = self.maximum {
            limit = limit.with_maximum(permits);
        }
        Ok(Some(limit))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Throttling {
    multiple: Option<Share>,
    window: Option<Span>,
    cap: Option<Share>,
    minimum_requests: Option<u32>,
}

impl Chosen for Throttling {
    type Made = Option<Throttle>;

    const WORDS: &'static [&'static str] = &["default", "none"];

    fn word(word: &str) -> Option<Option<Throttle>> {
        match word {
            "default" => Some(Some(Throttle::DEFAULT)),
            "none" => Some(None),
            _ => None,
        }
    }

    fn made(self) -> Result<Option<Throttle>, String> {
        let mut throttle = Throttle::DEFAULT;
        if let Some(Share(multiple)) = self.multiple {
            throttle = throttle.with_multiple(multiple);
        }
        if let Some(Span(window)) = self.window {
            throttle = throttle.with_window(window);
        }
        if let Some(Share(cap)) = self.cap {
            throttle = throttle.with_cap(cap);
        }
        if let Some(requests) = self.minimum_requests {
            throttle = throttle.with_minimum_requests(requests);
        }
        Ok(Some(throttle))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pacing {
    permits: u32,
    window: Option<Span>,
    burst: Option<u32>,
}

impl Chosen for Pacing {
    type Made = Option<Rate>;

    const WORDS: &'static [&'static str] = &["none"];

    fn word(word: &str) -> Option<Option<Rate>> {
        (word == "none").then_some(None)
    }

    fn number(permits: u32) -> Option<Option<Rate>> {
        Some(Some(Rate::per_second(permits)))
    }

    fn made(self) -> Result<Option<Rate>, String> {
        let rate = match (self.window, self.burst) {
            (Some(_), Some(_)) => {
                return Err("a `burst` is of permits a second: drop it, or the `window`".into());
            }
            (Some(Span(window)), None) => Rate::per_window(self.permits, window),
            (None, Some(burst)) => Rate::per_second(self.permits).with_burst(burst),
            (None, None) => Rate::per_second(self.permits),
        };
        Ok(Some(rate))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saturating {
    multiple: Option<Share>,
    floor: Option<Span>,
    minimum_samples: Option<u32>,
}

impl Chosen for Saturating {
    type Made = Option<Saturation>;

    const WORDS: &'static [&'static str] = &["default", "none"];

    fn word(word: &str) -> Option<Option<Saturation>> {
        match word {
            "default" => Some(Some(Saturation::DEFAULT)),
            "none" => Some(None),
            _ => None,
        }
    }

    fn made(self) -> Result<Option<Saturation>, String> {
        let mut law = Saturation::DEFAULT;
        if let Some(Share(multiple)) = self.multiple {
            law = law.with_multiple(multiple);
        }
        if let Some(Span(floor)) = self.floor {
            law = law.with_floor(floor);
        }
        if let Some(samples) = self.minimum_samples {
            law = law.with_minimum_samples(samples);
        }
        Ok(Some(law))
    }
}
