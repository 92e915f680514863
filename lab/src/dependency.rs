//! What is called, as a file writes it.

use std::time::Duration;

use serde::Deserialize;
use steadfast_core::Ratio;
use steadfast_simulation::{Curve, Model, Queueing, Target};

use crate::units::{Share, Span};

/// The table `[dependency]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dependency {
    p50: Option<Span>,
    p99: Option<Span>,
    constant: Option<Span>,
    exponential: Option<Span>,
    measured: Option<Vec<Span>>,
    failing: Option<Share>,
    capacity: Option<u32>,
    servers: Option<u32>,
    order: Option<Order>,
    drops_abandoned: Option<bool>,
}

/// Who is served next.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    First,
    Last,
}

/// A table `[[brownout]]`: so many times as long.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Brownout {
    pub(crate) after: Span,
    slower: Share,
    pub(crate) lasting: Span,
}

/// A table `[[outage]]`: every attempt fails at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outage {
    pub(crate) after: Span,
    pub(crate) lasting: Span,
}

impl Dependency {
    /// Returns what to call, or what makes that impossible.
    pub(crate) fn target(
        &self,
        brownouts: &[Brownout],
        outages: &[Outage],
    ) -> Result<Target, String> {
        let curve = self.curve()?;
        let failing = self.failing.map_or(Ratio::ZERO, |Share(share)| share);
        let Some(servers) = self.servers else {
            for (is_set, key) in [
                (self.order.is_some(), "order"),
                (self.drops_abandoned.is_some(), "drops_abandoned"),
            ] {
                if is_set {
                    return Err(format!("`{key}` needs a queue: set `servers`, or drop it"));
                }
            }
            let model = Model::new(curve)
                .failing(failing)
                .with_capacity(self.capacity.unwrap_or(0));
            let model = brownouts.iter().fold(model, |model, brownout| {
                let (after, slower, lasting) = brownout.numbers();
                model.browned_out(after, slower, lasting)
            });
            let model = outages.iter().fold(model, |model, outage| {
                model.down(outage.after.0, outage.lasting.0)
            });
            return Ok(model.into());
        };
        if self.capacity.is_some() {
            return Err("`capacity` and `servers` exclude each other: \
                 `servers` have a queue, `capacity` slows down and sheds"
                .into());
        }
        if !outages.is_empty() {
            return Err("`servers` have no [[outage]]: take a [[brownout]], \
                 or drop `servers`"
                .into());
        }
        let mut queueing = Queueing::new(servers, curve).failing(failing);
        if let Some(Order::Last) = self.order {
            queueing = queueing.last_first();
        }
        if self.drops_abandoned == Some(true) {
            queueing = queueing.dropping_abandoned();
        }
        let queueing = brownouts.iter().fold(queueing, |queueing, brownout| {
            let (after, slower, lasting) = brownout.numbers();
            queueing.browned_out(after, slower, lasting)
        });
        Ok(queueing.into())
    }

    fn curve(&self) -> Result<Curve, String> {
        let measured = self.measured.as_ref();
        match (
            self.p50,
            self.p99,
            self.constant,
            self.exponential,
            measured,
        ) {
            (Some(Span(p50)), Some(Span(p99)), None, None, None) => Ok(Curve::through(p50, p99)),
            (None, None, Some(Span(span)), None, None) => Ok(Curve::constant(span)),
            (None, None, None, Some(Span(mean)), None) => Ok(Curve::exponential(mean)),
            (None, None, None, None, Some(times)) => {
                let times: Vec<_> = times.iter().map(|Span(time)| *time).collect();
                // One file is read, and its runs last as long as the program.
                Ok(Curve::measured(times.leak()))
            }
            _ => Err("say how long it takes in one way: `p50` and `p99`, \
                 `constant`, `exponential` or `measured`"
                .into()),
        }
    }
}

impl Brownout {
    fn numbers(&self) -> (Duration, Ratio, Duration) {
        (self.after.0, self.slower.0, self.lasting.0)
    }
}
