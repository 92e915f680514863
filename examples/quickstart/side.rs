//! One side of the comparison: a client, twenty tasks and their tally.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{Client, ClientBuilder, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::dependency::Dependency;
use crate::script::{Phase, Script, Tally};

const TASKS: u32 = 20;

/// How long a task does other things between two calls.
const PAUSE: Duration = Duration::from_millis(50);

/// What the dependency answered, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<Duration>,
}

/// A call that has ended; it counts for the phase it started in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) phase: Phase,
    pub(crate) started: Instant,
    pub(crate) took: Duration,
    pub(crate) succeeded: bool,
}

/// A client and everything it has done to its own dependency.
#[derive(Debug)]
pub(crate) struct Side {
    name: &'static str,
    script: Script,
    client: Client,
    dependency: Dependency,
    tries: Tally,
    records: Mutex<Vec<Record>>,
}

impl Side {
    /// Starts a dependency, and a client for it.
    pub(crate) async fn start(
        name: &'static str,
        client: ClientBuilder,
        script: Script,
    ) -> Result<Arc<Self>, Box<dyn Error>> {
        Ok(Arc::new(Self {
            name,
            script,
            client: client.no_proxy().build()?,
            dependency: Dependency::start(script).await?,
            tries: Tally::default(),
            records: Mutex::default(),
        }))
    }

    /// Makes one request: what both sides do in every attempt.
    pub(crate) async fn ask(&self) -> reqwest::Result<Reply> {
        self.tries
            .add(self.script.phase().unwrap_or(Phase::Recovered));
        let response = self.client.get(self.dependency.url()).send().await?;
        let reply = Reply {
            status: response.status(),
            retry_after: response
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok()?.parse().ok())
                .map(Duration::from_secs),
        };
        response.bytes().await?;
        Ok(reply)
    }

    /// Lets every task make one call after the other while the script lasts.
    pub(crate) fn call_repeatedly<C, F>(self: &Arc<Self>, call: C) -> JoinSet<()>
    where
        C: Fn(Arc<Self>) -> F + Copy + Send + Sync + 'static,
        F: Future<Output = bool> + Send + 'static,
    {
        (0..TASKS)
            .map(|number| {
                let side = Arc::clone(self);
                async move {
                    // So that the tasks do not start in step.
                    sleep(PAUSE * number / TASKS).await;
                    while let Some(phase) = side.script.phase() {
                        let started = Instant::now();
                        let succeeded = call(Arc::clone(&side)).await;
                        side.record(Record {
                            phase,
                            started,
                            took: started.elapsed(),
                            succeeded,
                        });
                        sleep(PAUSE).await;
                    }
                }
            })
            .collect()
    }

    fn record(&self, record: Record) {
        self.records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(record);
    }

    /// Returns the calls that have ended, in that order, from the `skip`th on.
    pub(crate) fn records(&self, skip: usize) -> Vec<Record> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.iter().skip(skip).copied().collect()
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns how many requests this side has begun, answered or not.
    pub(crate) fn tries(&self) -> &Tally {
        &self.tries
    }

    /// Returns how many requests the dependency has counted.
    pub(crate) fn reached(&self) -> &Tally {
        self.dependency.reached()
    }
}
