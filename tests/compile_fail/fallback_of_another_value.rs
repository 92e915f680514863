//! A fallback that gives something else than the call.

use steadfast::tokio::Guard;
use steadfast::Policy;

static SEARCH: Guard = Guard::new(Policy::DEFAULT);

async fn search() -> std::io::Result<Vec<String>> {
    Ok(Vec::new())
}

async fn find() -> usize {
    SEARCH.call(|_| search()).or_else(async |_| "nothing").await.len()
}

fn main() {
    let _find = find();
}
