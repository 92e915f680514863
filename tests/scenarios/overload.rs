//! Sustained overload: what a throttle of first attempts saves.
//!
//! One server of 200 calls a second, first come first served, that leaves out
//! work whose caller has given up; 20 clients, whose attempts wait three seconds and
//! are sent again twice, as far as a budget of a tenth of the successes goes. Ten
//! minutes, of which the last two count. Without a throttle the server always
//! works on what is about to expire, and much of it comes too late.

use std::collections::VecDeque;

use steadfast::{
    AdaptiveThrottle, Budget, Criticality, Instant, Local, Ratio, RetryBudget, Throttle, Ticket,
    Token, Verdict, random,
};

const SECOND: u64 = 1_000_000_000;
/// What the server can do a second.
const CAPACITY: u64 = 200;
const SERVICE: u64 = SECOND / CAPACITY;
/// How long an attempt waits for its answer.
const PATIENCE: u64 = 3 * SECOND;
const CLIENTS: usize = 20;
const RETRIES: u32 = 2;
const END: u64 = 600 * SECOND;
/// From when on answers count.
const COUNTED: u64 = 480 * SECOND;

/// One process: what it holds against overload.
struct Client {
    budget: RetryBudget<Local>,
    throttle: Option<AdaptiveThrottle<Local>>,
}

/// One attempt on its way.
struct Sent<'c> {
    client: &'c Client,
    at: u64,
    attempt: u32,
    ticket: Option<Ticket<'c, Local>>,
}

impl Client {
    fn new(throttle: Option<Throttle>) -> Self {
        Self {
            budget: RetryBudget::new(Budget::new(Ratio::percent(10), 0)),
            throttle: throttle.map(AdaptiveThrottle::new),
        }
    }

    /// Sends a first attempt, unless the throttle refuses it.
    fn call(&self, at: u64, draw: u32) -> Option<Sent<'_>> {
        let now = Instant::from_nanos(at);
        let ticket = match &self.throttle {
            Some(throttle) => Some(throttle.admit(now, Criticality::Critical, draw).ok()?),
            None => None,
        };
        Some(Sent {
            client: self,
            at,
            attempt: 1,
            ticket,
        })
    }
}

impl Sent<'_> {
    fn answered(self, at: u64) {
        self.client.budget.deposit(Instant::from_nanos(at));
        if let Some(ticket) = self.ticket {
            ticket.settle(Verdict::OK);
        }
    }

    /// The caller has given up, and may send it again.
    fn expired(self) -> Option<Self> {
        if let Some(ticket) = self.ticket {
            ticket.settle(Verdict::TRANSIENT);
        }
        let at = self.at + PATIENCE;
        let token = self.client.budget.take(Instant::from_nanos(at));
        let again = self.attempt <= RETRIES && token.map(Token::spend).is_some();
        again.then_some(Sent {
            at,
            attempt: self.attempt + 1,
            ticket: None,
            ..self
        })
    }
}

/// Returns the calls answered in time, in thousandths of the capacity.
fn goodput(load: u64, throttle: Option<Throttle>, seed: u64) -> u64 {
    let clients: Vec<Client> = (0..CLIENTS).map(|_| Client::new(throttle)).collect();
    let mean = SECOND * 1_000 / (CAPACITY * load);
    let mut draws = 0;
    let mut draw = || {
        draws += 1;
        random(seed, draws)
    };
    let (mut next, mut server, mut answered) = (0, 0, 0_u64);
    let mut queue: VecDeque<Sent<'_>> = VecDeque::new();
    while next.min(server) < END {
        // The server takes the next one, or a call arrives.
        if let Some(sent) = queue.front()
            && server.max(sent.at) <= next
        {
            let begin = server.max(sent.at);
            let Some(sent) = queue.pop_front() else { break };
            let end = begin + SERVICE;
            if begin >= sent.at + PATIENCE {
                queue.extend(sent.expired());
                continue;
            }
            server = end;
            if end <= sent.at + PATIENCE {
                answered += u64::from(end >= COUNTED);
                sent.answered(end);
            } else {
                queue.extend(sent.expired());
            }
        } else {
            let client = &clients[draw() as usize % CLIENTS];
            let chance = draw();
            queue.extend(client.call(next, chance));
            next += exponential(draw(), mean);
        }
    }
    answered * 1_000 / (CAPACITY * (END - COUNTED) / SECOND)
}

/// Draws a span by chance, with this mean.
fn exponential(draw: u32, mean: u64) -> u64 {
    let (at, part) = (draw as usize >> 26, u64::from(draw & 0x03ff_ffff));
    let [low, high] = [at, at + 1].map(|at| EXPONENTIAL[at]);
    (low + (((high - low) * part) >> 26)) * mean / 1_000
}

/// Tells the goodput at 1.1, 1.5 and twice the capacity for some seeds.
fn goodputs(throttle: Option<Throttle>) -> [[u64; 2]; 3] {
    [1_100, 1_500, 2_000].map(|load| [1, 2].map(|seed| goodput(load, throttle, seed)))
}

#[test]
fn an_overload_feeds_itself() {
    let found = goodputs(None);
    for (found, published) in found.iter().zip([730, 400, 190]) {
        let is_near = |found: &u64| found.abs_diff(published) <= 50;
        assert!(
            found.iter().all(is_near),
            "{found:?}, published {published}"
        );
    }
}

#[test]
fn a_throttle_keeps_the_goodput() {
    let found = goodputs(Some(Throttle::DEFAULT));
    for (found, published) in found.iter().zip([960, 930, 950]) {
        let is_kept = |found: &u64| *found >= published - 30;
        assert!(
            found.iter().all(is_kept),
            "{found:?}, published {published}"
        );
    }
}

/// Quantiles of an exponential distribution, in thousandths of its mean.
const EXPONENTIAL: [u64; 65] = [
    0, 16, 32, 48, 64, 81, 98, 116, 133, 151, 170, 188, 207, 227, 247, 267, 287, 308, 330, 352,
    374, 397, 421, 445, 469, 495, 521, 547, 575, 603, 632, 662, 692, 724, 757, 791, 826, 862, 900,
    939, 980, 1022, 1067, 1113, 1162, 1213, 1267, 1324, 1385, 1449, 1518, 1592, 1672, 1759, 1854,
    1959, 2077, 2210, 2364, 2546, 2769, 3056, 3461, 4154, 6151,
];
