//! A fleet of processes before one dependency, each with a budget of its own.
//!
//! The dependency serves one attempt after the other in the order they came,
//! also those whose callers have given up. So an attempt's end is known when it
//! starts, and three queues in the order of time are the whole simulation:
//! calls that begin, attempts that answer, attempts that time out.

use std::collections::VecDeque;
use std::ops::Range;

use steadfast::{Budget, Instant, Local, RetryBudget, Token, random};

/// What became of a fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Course {
    /// Seconds from the end of the trigger until 80 % of the calls succeed.
    pub(super) recovered: Option<u32>,
    /// The most attempts for 100 calls, of all seconds.
    pub(super) peak: u32,
}

/// Plays ten seconds at a fifth of the capacity to a fleet that takes up `load`
/// percent of it, and watches it for `watched` seconds more.
pub(super) fn play(law: Budget, processes: u32, load: u32, watched: usize, seed: u64) -> Course {
    let budgets = (0..processes).map(|_| RetryBudget::new(law)).collect();
    let fleet = Fleet {
        budgets,
        dice: Dice { seed, drawn: 0 },
        gap: SERVICE * 100 / u64::from(load),
        next_call: 0,
        busy_until: 0,
        answers: VecDeque::new(),
        timeouts: VecDeque::new(),
        seconds: vec![Second::default(); TRIGGER_SECONDS.end + watched],
    };
    fleet.play()
}

/// All times in nanoseconds.
struct Fleet {
    budgets: Vec<RetryBudget<Local>>,
    dice: Dice,
    /// Between two calls, on average.
    gap: u64,
    next_call: u64,
    /// When the dependency will have served all it has got.
    busy_until: u64,
    answers: VecDeque<Attempt>,
    timeouts: VecDeque<Attempt>,
    seconds: Vec<Second>,
}

#[derive(Clone, Copy)]
struct Attempt {
    process: usize,
    resends: u32,
    /// When it answers or times out.
    end: u64,
}

#[derive(Clone, Copy, Default)]
struct Second {
    calls: u32,
    attempts: u32,
    successes: u32,
}

impl Fleet {
    fn play(mut self) -> Course {
        loop {
            let due = |queue: &VecDeque<Attempt>| queue.front().map_or(u64::MAX, |next| next.end);
            let (answer, timeout) = (due(&self.answers), due(&self.timeouts));
            let now = self.next_call.min(answer).min(timeout);
            let Some(second) = second_of(&mut self.seconds, now) else {
                return self.course();
            };
            if answer == now {
                second.successes += 1;
                if let Some(attempt) = self.answers.pop_front() {
                    self.budgets[attempt.process].deposit(Instant::from_nanos(now));
                }
            } else if timeout == now {
                if let Some(attempt) = self.timeouts.pop_front() {
                    self.give_up(attempt, now);
                }
            } else {
                second.calls += 1;
                let process = self.dice.below(self.budgets.len());
                self.send(process, 0, now);
                self.next_call = now + self.dice.exponential(self.gap);
            }
        }
    }

    fn give_up(&mut self, attempt: Attempt, now: u64) {
        let may = attempt.resends < RESENDS;
        let budget = &self.budgets[attempt.process];
        if may
            && budget
                .take(Instant::from_nanos(now))
                .map(Token::spend)
                .is_some()
        {
            self.send(attempt.process, attempt.resends + 1, now);
        }
    }

    fn send(&mut self, process: usize, resends: u32, now: u64) {
        if let Some(second) = second_of(&mut self.seconds, now) {
            second.attempts += 1;
        }
        self.busy_until = served(self.busy_until.max(now));
        let (end, queue) = if self.busy_until <= now + TIMEOUT {
            (self.busy_until, &mut self.answers)
        } else {
            (now + TIMEOUT, &mut self.timeouts)
        };
        queue.push_back(Attempt {
            process,
            resends,
            end,
        });
    }

    fn course(&self) -> Course {
        let mut after = self.seconds[TRIGGER_SECONDS.end..].iter();
        let recovered = after.position(|second| second.successes * 5 >= second.calls * 4);
        let per_call = |second: &Second| second.attempts * 100 / second.calls.max(1);
        Course {
            recovered: recovered.and_then(|seconds| u32::try_from(seconds).ok()),
            peak: self.seconds.iter().map(per_call).max().unwrap_or(0),
        }
    }
}

fn second_of(seconds: &mut [Second], now: u64) -> Option<&mut Second> {
    seconds.get_mut(usize::try_from(now / SECOND).ok()?)
}

/// Returns when an attempt that is begun at `start` is served.
fn served(start: u64) -> u64 {
    if !TRIGGER.contains(&start) {
        return start + SERVICE;
    }
    let end = start + SERVICE * SLOWER;
    // What is left to do when the trigger ends is done at full speed.
    let left = end.saturating_sub(TRIGGER.end);
    end - left + left / SLOWER
}

struct Dice {
    seed: u64,
    drawn: u64,
}

impl Dice {
    fn draw(&mut self) -> u32 {
        self.drawn += 1;
        random(self.seed, self.drawn)
    }

    fn below(&mut self, end: usize) -> usize {
        let scaled = (u64::from(self.draw()) * end as u64) >> 32;
        usize::try_from(scaled).unwrap_or(0)
    }

    /// Draws a span that is `mean` on average.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "spans of some seconds at most"
    )]
    fn exponential(&mut self, mean: u64) -> u64 {
        let share = (f64::from(self.draw()) + 0.5) / 4_294_967_296.0;
        (-share.ln() * mean as f64) as u64
    }
}

const SECOND: u64 = 1_000_000_000;
/// What the dependency takes for an attempt: it serves 400 a second.
const SERVICE: u64 = SECOND / 400;
/// How many times as much it takes during the trigger.
const SLOWER: u64 = 5;
/// When a caller gives up an attempt.
const TIMEOUT: u64 = 3 * SECOND;
/// Resends of a call, each at once.
const RESENDS: u32 = 4;
/// The trigger; healthy seconds go before.
const TRIGGER: Range<u64> = 20 * SECOND..30 * SECOND;
const TRIGGER_SECONDS: Range<usize> = 20..30;
