//! A queue without permits would let nobody in, ever.

use steadfast::Queue;

static QUEUE: Queue = Queue::new(0, 100);

fn main() {
    assert!(QUEUE.try_enter().is_err());
}
