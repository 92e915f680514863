//! A stream is not opened again shortly before a stop.

use std::pin::pin;
use std::time::Duration;

use futures_lite::{StreamExt, stream};
use steadfast::{EventKind, Reason, StreamError};
use steadfast_testing::Fault;

use crate::stage::{INSTANT, Stage, secs};

/// Gives the number after `seen`, then breaks.
fn brittle(seen: u32) -> impl stream::Stream<Item = Result<u32, Fault>> {
    stream::iter([Ok(seen + 1), Err(Fault::Transient)])
}

#[test]
fn a_stream_that_breaks_is_not_resumed() {
    let stage = Stage::new(INSTANT);
    let prepared = stage.guard.prepare().listen(&stage.heard);
    let mut items = pin!(prepared.stream_from(0, |seen, _| brittle(seen), |&item| item));
    stage.world.block_on(async {
        for item in 1..=2 {
            assert_eq!(items.next().await, Some(Ok(item)));
        }
        stage.world.drain(Duration::MAX);
        let broken = items.next().await;
        assert_eq!(broken, Some(Err(StreamError::Source(Fault::Transient))));
        assert_eq!(items.next().await, None);
    });
    let broken = stage.only(EventKind::StreamBroken);
    assert_eq!(broken.reason(), Some(Reason::Draining));
    assert_eq!(items.restarts(), 1);
}

#[test]
fn what_flows_goes_on_past_the_grace() {
    let stage = Stage::new(INSTANT);
    let clock = &stage.world;
    let next = move |seen| async move {
        clock.sleep(secs(2)).await;
        Some((Ok::<_, Fault>(seen), seen + 1))
    };
    let mut items = pin!(stage.guard.stream(|_| stream::unfold(0, next).take(3)));
    stage.world.block_on(async {
        assert_eq!(items.next().await, Some(Ok(0)));
        stage.world.drain(secs(1));
        assert_eq!(items.next().await, Some(Ok(1)));
        assert_eq!(items.next().await, Some(Ok(2)));
        assert_eq!(items.next().await, None);
    });
}

#[test]
fn a_stream_that_cannot_be_opened_is_not_tried_again() {
    let stage = Stage::new(INSTANT);
    stage.world.drain(secs(1));
    let failing = |_| stream::iter([Err::<u32, _>(Fault::Transient)]);
    let mut items = pin!(stage.guard.stream(failing));
    let failed = stage.world.block_on(items.next());
    let Some(Err(StreamError::Start(error))) = failed else {
        unreachable!("{failed:?}");
    };
    assert_eq!((error.reason(), error.attempts()), (Reason::Draining, 1));
}
