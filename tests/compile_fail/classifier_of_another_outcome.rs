//! A classifier that judges something else than the operation gives.

use steadfast::tokio::Guard;
use steadfast::{Policy, Verdict};

struct Lost;

fn by_status(reply: &Result<u16, Lost>) -> Verdict {
    match reply {
        Ok(503) | Err(Lost) => Verdict::TRANSIENT,
        Ok(_) => Verdict::OK,
    }
}

static SEARCH: Guard<fn(&Result<u16, Lost>) -> Verdict> =
    Guard::classified(Policy::DEFAULT, by_status);

async fn search() -> Result<String, Lost> {
    Err(Lost)
}

async fn find() -> Option<String> {
    SEARCH.call(|_| search()).await.ok()
}

fn main() {
    drop(find());
}
