//! An operation whose error says nothing about retries.

use steadfast::Policy;
use steadfast::tokio::Guard;

static SEARCH: Guard = Guard::new(Policy::DEFAULT);

struct Lost;

async fn search() -> Result<u32, Lost> {
    Err(Lost)
}

async fn find() -> Option<u32> {
    SEARCH.call(|_| search()).await.ok()
}

fn main() {
    drop(find());
}
