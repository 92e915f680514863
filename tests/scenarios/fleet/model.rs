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
    /// The most attempts a call, of all seconds.
    pub(super) peak: f64,
}

/// Plays ten seconds at a fifth of the capacity to a fleet that takes up `load`
/// of it, and watches it for `watched` seconds more.
pub(super) fn play(law: Budget, processes: u32, load: f64, watched: u32, seed: u64) -> Course {
    Fleet::new(law, processes, load, watched, seed).play()
}

struct Fleet {
    budgets: Vec<RetryBudget<Local>>,
    dice: Dice,
    rate: f64,
    next_call: f64,
    /// When the dependency will have served all it has got.
    busy_until: f64,
    answers: VecDeque<Attempt>,
    timeouts: VecDeque<Attempt>,
    seconds: Vec<Second>,
}

#[derive(Clone, Copy)]
struct Attempt {
    process: usize,
    resends: u32,
    /// When it answers or times out.
    end: f64,
}

#[derive(Clone, Copy, Default)]
struct Second {
    calls: u32,
    attempts: u32,
    successes: u32,
}

impl Fleet {
    fn new(law: Budget, processes: u32, load: f64, watched: u32, seed: u64) -> Self {
        Self {
            budgets: (0..processes).map(|_| RetryBudget::new(law)).collect(),
            dice: Dice { seed, drawn: 0 },
            rate: load * CAPACITY,
            next_call: 0.0,
            busy_until: 0.0,
            answers: VecDeque::new(),
            timeouts: VecDeque::new(),
            seconds: vec![Second::default(); TRIGGER.end + watched as usize],
        }
    }

    fn play(mut self) -> Course {
        loop {
            let due = |queue: &VecDeque<Attempt>| queue.front().map_or(f64::MAX, |next| next.end);
            let (answer, timeout) = (due(&self.answers), due(&self.timeouts));
            let now = self.next_call.min(answer).min(timeout);
            let Some(second) = self.seconds.get_mut(now as usize) else {
                return self.course();
            };
            if answer == now {
                second.successes += 1;
                if let Some(attempt) = self.answers.pop_front() {
                    self.budgets[attempt.process].deposit(instant(now));
                }
            } else if timeout == now {
                if let Some(attempt) = self.timeouts.pop_front() {
                    self.give_up(attempt, now);
                }
            } else {
                second.calls += 1;
                let process = self.dice.draw() * self.budgets.len() as f64;
                self.send(process as usize, 0, now);
                self.next_call = now - self.dice.draw().ln() / self.rate;
            }
        }
    }

    fn give_up(&mut self, attempt: Attempt, now: f64) {
        let may = attempt.resends < RESENDS;
        let budget = &self.budgets[attempt.process];
        if may && budget.take(instant(now)).map(Token::spend).is_some() {
            self.send(attempt.process, attempt.resends + 1, now);
        }
    }

    fn send(&mut self, process: usize, resends: u32, now: f64) {
        self.seconds[now as usize].attempts += 1;
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
        let after = &self.seconds[TRIGGER.end..];
        let recovered = after
            .iter()
            .position(|second| second.successes * 5 >= second.calls * 4);
        let per_call = |second: &Second| f64::from(second.attempts) / f64::from(second.calls);
        Course {
            recovered: recovered.and_then(|seconds| u32::try_from(seconds).ok()),
            peak: self.seconds.iter().map(per_call).fold(0.0, f64::max),
        }
    }
}

/// Returns when an attempt that is begun at `start` is served.
fn served(start: f64) -> f64 {
    let trigger = TRIGGER.start as f64..TRIGGER.end as f64;
    let slow = 1.0 / (CAPACITY * LEFT);
    let end = if trigger.contains(&start) {
        start + slow
    } else {
        start + 1.0 / CAPACITY
    };
    if trigger.contains(&start) && end > trigger.end {
        trigger.end + (end - trigger.end) * LEFT
    } else {
        end
    }
}

fn instant(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9) as u64)
}

struct Dice {
    seed: u64,
    drawn: u64,
}

impl Dice {
    /// Draws from above 0 to below 1.
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        (f64::from(random(self.seed, self.drawn)) + 0.5) / 4_294_967_296.0
    }
}

/// Attempts a second that the dependency can serve.
const CAPACITY: f64 = 400.0;
/// How much of that is left during the trigger.
const LEFT: f64 = 0.2;
/// Seconds until a caller gives up an attempt.
const TIMEOUT: f64 = 3.0;
/// Resends of a call, each at once.
const RESENDS: u32 = 4;
/// The seconds of the trigger; healthy ones go before.
const TRIGGER: Range<usize> = 20..30;
