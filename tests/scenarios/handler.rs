//! Guarded calls inside handlers of a server: `Send`, boxed, spawned.

use std::pin::Pin;
use std::sync::Arc;

use steadfast::tokio::Guard;
use steadfast::{Attempt, Policy};

static PAYMENTS: Guard = Guard::new(Policy::DEFAULT.with_name("payments"));

type Boxed<'a> = Pin<Box<dyn Future<Output = String> + Send + 'a>>;

/// What a router asks of a handler: shareable, and its futures can be sent.
fn route<H, F>(handler: H) -> impl Fn(String) -> Boxed<'static> + Send + Sync
where
    H: Fn(String) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = String> + Send + 'static,
{
    move |request| Box::pin(handler(request))
}

struct Client;

impl Client {
    async fn charge(&self, order: &str, attempt: Attempt) -> std::io::Result<String> {
        tokio::task::yield_now().await;
        Ok(format!("{order} charged at attempt {}", attempt.number()))
    }
}

struct Bus {
    reads: u32,
}

impl Bus {
    async fn read(&mut self) -> std::io::Result<String> {
        tokio::task::yield_now().await;
        self.reads += 1;
        Ok(format!("read {}", self.reads))
    }
}

async fn charge(order: String) -> String {
    let client = Client;
    PAYMENTS
        .call(|attempt| client.charge(&order, attempt))
        .await
        .unwrap_or_else(|error| error.to_string())
}

/// As `charge`, with the type of the future left to the compiler.
fn measure(_: String) -> impl Future<Output = String> + Send {
    let mut bus = Bus { reads: 0 };
    async move {
        let read = PAYMENTS.call_with(&mut bus, async |bus: &mut Bus, _| bus.read().await);
        read.await.unwrap_or_else(|error| error.to_string())
    }
}

fn on_threads(scenario: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(scenario);
}

#[test]
fn a_handler_borrows_its_locals() {
    on_threads(async {
        let handler = route(charge);
        assert_eq!(handler("o-1".into()).await, "o-1 charged at attempt 1");
    });
}

#[test]
fn a_handler_lends_its_locals() {
    on_threads(async {
        let handler = route(measure);
        assert_eq!(handler(String::new()).await, "read 1");
    });
}

#[test]
fn handlers_can_be_spawned() {
    on_threads(async {
        let charged = tokio::spawn(route(charge)("o-2".into()));
        let measured = tokio::spawn(measure(String::new()));
        assert_eq!(charged.await.expect("no panic"), "o-2 charged at attempt 1");
        assert_eq!(measured.await.expect("no panic"), "read 1");
    });
}

#[test]
fn a_boxed_call_may_borrow() {
    on_threads(async {
        let (client, order) = (Client, String::from("o-3"));
        let boxed: Boxed<'_> = Box::pin(async {
            let call = PAYMENTS.call(|attempt| client.charge(&order, attempt));
            call.await.unwrap_or_else(|error| error.to_string())
        });
        assert_eq!(boxed.await, "o-3 charged at attempt 1");
    });
}

#[test]
fn a_handler_shares_its_guard() {
    let guard = Arc::new(Guard::try_new(Policy::DEFAULT).expect("a policy that works"));
    on_threads(async {
        let handler = route(move |order: String| {
            let guard = Arc::clone(&guard);
            async move {
                let order = &order;
                let call = guard.call(|attempt| Client.charge(order, attempt));
                call.await.unwrap_or_else(|error| error.to_string())
            }
        });
        let charged = tokio::spawn(handler("o-4".into()));
        assert_eq!(charged.await.expect("no panic"), "o-4 charged at attempt 1");
    });
}
