//! What the scenarios share: virtual time with a guard on it.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use steadfast::{
    Backoff, Breaker, ByError, Event, EventKind, Flights, Guard, Hedge, Hedged, Instant, Jitter,
    NoListener, NoRules, Outcome, Plan, Policy, Ratio, Shared, Single,
};
use steadfast_testing::{Fault, Recorder, Script, Scripted, VirtualTimer, World};

/// A guard on virtual time.
pub(crate) type Virtual<C = ByError, R = NoRules, L = NoListener, H = Single> =
    Guard<VirtualTimer, C, R, L, Shared, H>;

/// What a scripted call ends with.
pub(crate) type Ended<T> = Outcome<T, Scripted>;

pub(crate) const TRANSIENT: Scripted = Scripted::Failed(Fault::Transient);

/// Waits that a test can name, without jitter.
pub(crate) const fn backoff(delay: Duration) -> Backoff {
    Backoff::constant(delay)
        .with_jitter(Jitter::None)
        .with_maximum(Duration::from_secs(30))
}

/// Opens at the first failure, for 15 s, and closes at the first success.
pub(crate) const TOUCHY: Breaker = Breaker::DEFAULT
    .with_consecutive_failures(1)
    .with_probes(1, 1)
    .with_jitter(Jitter::None);

/// Three attempts at once, no bounds; the library's default laws are off.
pub(crate) const INSTANT: Policy = steadfast_testing::INSTANT;

/// Races what is slower than most, and is bounded by nothing else.
pub(crate) const RACED: Policy = INSTANT.with_hedge(Hedge::DEFAULT);

/// When an attempt is raced after calls of 40 ms: the upper edge of their cell.
pub(crate) const SLOW: Duration = Duration::from_nanos(43_515_904);

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The instant `span` after the world began.
pub(crate) const fn at(span: Duration) -> Instant {
    Instant::ZERO.saturating_add(span)
}

/// Puts a guard on a world's timer.
#[track_caller]
pub(crate) fn guard(world: &World, policy: Policy) -> Virtual {
    Guard::try_on(world.timer(), Plan::new(policy)).expect("a policy that works")
}

/// `Attempt#1 Retrying#2 Attempt#2 Succeeded#2`.
pub(crate) fn told(heard: &Recorder) -> String {
    let event = |e: &Event| format!("{}#{}", e.kind(), e.number());
    heard
        .events()
        .iter()
        .map(event)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Polls a call at most `polls` times and then drops it; tells whether it ended.
#[track_caller]
pub(crate) fn drop_after<F: Future>(world: &World, polls: u32, call: F) -> bool {
    let mut left = polls;
    world.block_on(async {
        let mut call = pin!(call);
        poll_fn(|cx| {
            if left == 0 {
                return Poll::Ready(false);
            }
            left -= 1;
            let ended = call.as_mut().poll(cx).is_ready();
            if ended || left == 0 {
                return Poll::Ready(ended);
            }
            Poll::Pending
        })
        .await
    })
}

/// Virtual time, a guard on it and somebody who hears its calls.
pub(crate) struct Stage<H: Flights = Single> {
    pub(crate) world: World,
    pub(crate) guard: Virtual<ByError, NoRules, NoListener, H>,
    pub(crate) heard: Recorder,
}

impl Stage {
    #[track_caller]
    pub(crate) fn new(policy: Policy) -> Self {
        Self::with_lanes(policy)
    }
}

impl<const N: usize> Stage<Hedged<N>>
where
    Hedged<N>: Flights,
{
    /// A stage with several lanes, where a normal call takes 40 ms.
    #[track_caller]
    pub(crate) fn warm(policy: Policy) -> Self {
        let stage = Self::with_lanes(policy);
        stage.warm_up(20);
        stage
    }

    /// Plays calls of 40 ms, unheard.
    #[track_caller]
    pub(crate) fn warm_up(&self, calls: usize) {
        let script = self.script().delays(ms(40)).returns(0).repeats_last();
        for _ in 0..calls {
            assert!(self.play(&script).is_success());
        }
        self.heard.clear();
    }
}

impl<H: Flights> Stage<H> {
    #[track_caller]
    pub(crate) fn with_lanes(policy: Policy) -> Self {
        let world = World::new();
        let guard = Guard::try_on(world.timer(), Plan::new(policy)).expect("a policy that works");
        Self {
            world,
            guard,
            heard: Recorder::new(),
        }
    }

    /// Starts a script on this stage's time.
    pub(crate) fn script<T>(&self) -> Script<T> {
        Script::on(self.world.timer())
    }

    /// Runs one call of `script` to its end.
    #[track_caller]
    pub(crate) fn play<T>(&self, script: &Script<T>) -> Ended<T> {
        let call = self.guard.call(|_| script.next());
        self.world.block_on(call.listen(&self.heard).outcome())
    }

    /// Runs one call that fails once, transiently.
    #[track_caller]
    pub(crate) fn play_failure(&self) -> Ended<()> {
        let script = self.script().fails(Fault::Transient).repeats_last();
        let call = self.guard.call(|_| script.next());
        self.world
            .block_on(call.once().listen(&self.heard).outcome())
    }

    /// What was heard since the last time.
    pub(crate) fn told(&self) -> String {
        let told = told(&self.heard);
        self.heard.clear();
        told
    }

    /// The only event of `kind` so far.
    #[track_caller]
    pub(crate) fn only(&self, kind: EventKind) -> Event {
        self.heard.single(kind)
    }

    /// How many whole tokens the budget holds now; takes none.
    #[track_caller]
    pub(crate) fn tokens(&self) -> usize {
        let budget = self.guard.budget().expect("a budget");
        let taken: Vec<_> = std::iter::from_fn(|| budget.take(self.world.now())).collect();
        taken.len()
    }

    /// The share of the budget that is gone.
    #[track_caller]
    pub(crate) fn spent(&self) -> Ratio {
        let budget = self.guard.budget().expect("a budget");
        budget.utilization(self.world.now())
    }

    /// Takes every token the budget holds now.
    #[track_caller]
    pub(crate) fn drain(&self) {
        let budget = self.guard.budget().expect("a budget");
        while let Some(token) = budget.take(self.world.now()) {
            token.spend();
        }
    }

    /// Calls that succeed after `took`, each.
    pub(crate) fn succeed(&self, took: Duration, times: usize) {
        let script = self.script().delays(took).returns(1).repeats_last();
        for _ in 0..times {
            let _ = self.play(&script);
        }
    }

    /// The bound of an attempt that starts now, and learns nothing.
    pub(crate) fn bound(&self) -> Option<Duration> {
        let told = Cell::new(None);
        let call = self.guard.call(|attempt| {
            told.set(attempt.timeout());
            self.script::<()>().fails(Fault::Permanent).next()
        });
        self.world.block_on(call).expect_err("it fails");
        told.get()
    }
}
