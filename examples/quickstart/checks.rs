//! What the guard has promised, held against what happened.

use std::fmt;
use std::time::Duration;

use steadfast::Policy;

use crate::report::{Figures, count};
use crate::script::{Phase, Script};
use crate::side::{Record, Side};

/// How late a busy machine may wake a task.
const TOLERANCE: Duration = Duration::from_millis(50);

/// How long the guard may take to trust the dependency again.
const RECOVERY: Duration = Duration::from_secs(3);

/// A promise, and the numbers that keep or break it.
#[derive(Debug)]
pub(crate) struct Check {
    holds: bool,
    text: String,
}

impl Check {
    pub(crate) fn holds(&self) -> bool {
        self.holds
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.holds { "ok    " } else { "FAILED" };
        write!(f, "{word} {}", self.text)
    }
}

/// Checks every promise; `recovery` is when the breaker closed again.
pub(crate) fn all(
    bare: &Side,
    guarded: &Side,
    policy: &Policy,
    script: Script,
    recovery: Option<Duration>,
) -> Vec<Check> {
    let records = guarded.records(0);
    let in_phase = |phase| records.iter().filter(move |record| record.phase == phase);
    let back = script.start_of(Phase::Recovered) + recovery.unwrap_or_default();
    let [slow, failing, down] = [Phase::Slow, Phase::Failing, Phase::Down]
        .map(|phase| [bare, guarded].map(|side| Figures::of_phase(side, phase)));
    vec![
        deadline(&bare.records(0), &records, policy),
        recovered(recovery),
        nearly_all("healthy", in_phase(Phase::Healthy)),
        nearly_all(
            "recovered, once the breaker has closed",
            in_phase(Phase::Recovered).filter(|record| record.started >= back),
        ),
        no_fewer(&slow[0], &slow[1]),
        fewer("503", failing[0].reached, failing[1].reached),
        fewer("refused", down[0].tries, down[1].tries),
    ]
}

fn deadline(bare: &[Record], guarded: &[Record], policy: &Policy) -> Check {
    let [bare, guarded] = [bare, guarded].map(|records| {
        let longest = records.iter().map(|record| record.took).max();
        longest.unwrap_or(Duration::MAX)
    });
    let deadline = policy.deadline().unwrap_or(Duration::MAX);
    Check {
        holds: guarded <= deadline.saturating_add(TOLERANCE),
        text: format!(
            "deadline: longest guarded call {} ms of {} ms, bare {} ms",
            guarded.as_millis(),
            deadline.as_millis(),
            bare.as_millis(),
        ),
    }
}

fn recovered(recovery: Option<Duration>) -> Check {
    Check {
        holds: recovery.is_some_and(|after| after <= RECOVERY),
        text: match recovery {
            Some(after) => format!(
                "recovery: breaker closed {} ms after the dependency was back, limit {} ms",
                after.as_millis(),
                RECOVERY.as_millis(),
            ),
            None => String::from("recovery: breaker never closed again"),
        },
    }
}

fn nearly_all<'r>(name: &str, records: impl Iterator<Item = &'r Record> + Clone) -> Check {
    let calls = count(records.clone());
    let succeeded = count(records.filter(|record| record.succeeded));
    Check {
        holds: calls > 0 && succeeded * 100 >= calls * 99,
        text: format!("{name}: {succeeded} of {calls} guarded calls succeeded, at least 99 %"),
    }
}

fn no_fewer(bare: &Figures, guarded: &Figures) -> Check {
    let (bare, guarded) = (bare.succeeded, guarded.succeeded);
    Check {
        holds: guarded >= bare,
        text: format!("slow: {guarded} guarded calls succeeded, bare {bare}"),
    }
}

fn fewer(name: &str, bare: u32, guarded: u32) -> Check {
    Check {
        holds: guarded <= bare / 4,
        text: format!("{name}: {guarded} guarded attempts, at most a quarter of bare {bare}"),
    }
}
