//! Lending something that only one attempt at a time can have: an I2C bus.
//!
//! `cargo run --example lending`

use std::future::pending;
use std::time::Duration;

use steadfast::tokio::Guard;
use steadfast::{Backoff, Meaning, Policy, Reason, Verdict};

static THERMOMETER: Guard = Guard::new(
    Policy::DEFAULT
        .with_name("thermometer")
        .with_deadline(Duration::from_secs(1))
        .with_attempt_timeout(Duration::from_millis(20))
        .with_backoff(Backoff::exponential(Duration::from_millis(5))),
);

/// A bus as a driver has it: every transfer needs `&mut`.
#[derive(Debug, Default)]
struct Bus {
    transfers: u32,
    resets: u32,
}

#[derive(Debug, PartialEq)]
enum BusError {
    /// The sensor did not acknowledge: it is busy for a moment.
    Nack,
    /// There is no sensor at this address.
    NoDevice,
}

impl Meaning for BusError {
    fn verdict(&self) -> Verdict {
        match self {
            Self::Nack => Verdict::TRANSIENT,
            Self::NoDevice => Verdict::PERMANENT,
        }
    }
}

impl Bus {
    fn reset(&mut self) {
        self.resets += 1;
    }

    /// Not acknowledged at first, then stuck half-way, then fine.
    async fn read(&mut self, address: u8) -> Result<i8, BusError> {
        self.transfers += 1;
        match (address, self.transfers) {
            (0x48, 1) => Err(BusError::Nack),
            (0x48, 2) => pending().await,
            (0x48, _) => Ok(21),
            _ => Err(BusError::NoDevice),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut bus = Bus::default();

    let celsius = THERMOMETER
        .call_with(&mut bus, async |bus: &mut Bus, attempt| {
            // The attempt before may have been dropped in mid-transfer.
            if !attempt.is_first() {
                bus.reset();
            }
            bus.read(0x48).await
        })
        .await;
    println!("{celsius:?} with {bus:?}");
    assert_eq!(celsius.ok(), Some(21));
    assert_eq!((bus.transfers, bus.resets), (3, 2));

    let nobody = THERMOMETER
        .call_with(&mut bus, async |bus: &mut Bus, _| bus.read(0x10).await)
        .await;
    let error = nobody.expect_err("there is no sensor at this address");
    println!("{error}: {:?}", error.error());
    assert_eq!(error.reason(), Reason::Permanent);
    assert_eq!(error.error(), Some(&BusError::NoDevice));
}
