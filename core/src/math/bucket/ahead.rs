//! Tokens that time has not made yet.

use core::time::Duration;

use super::{Seen, TICK, TOKEN, TokenBucket};
use crate::memory::{Memory, Word};
use crate::time::Instant;

impl<M: Memory> TokenBucket<M> {
    /// Takes one whole token that is there, or will be when `patience` is over.
    ///
    /// Returns how long it takes until it is there. Who comes later waits longer.
    ///
    /// # Errors
    ///
    /// Returns how long it would take instead; none when time alone never makes
    /// one.
    pub(crate) fn take_ahead(
        &self,
        now: Instant,
        patience: Duration,
    ) -> Result<Duration, Option<Duration>> {
        loop {
            let seen = self.look(now);
            let level = self.level(seen.at, seen.spent);
            let wait = self.time_for(TOKEN.cast_signed().saturating_sub(level), seen, now);
            let Some(wait) = wait.filter(|&wait| wait <= patience) else {
                self.remember(seen);
                return Err(wait);
            };
            let after = self
                .refilled(seen.at)
                .wrapping_sub(level.cast_unsigned())
                .wrapping_add(TOKEN)
                .wrapping_add(self.capacity);
            if self.spent.compare_exchange(seen.spent, after).is_ok() {
                self.remember(seen);
                return Ok(wait);
            }
        }
    }

    /// Returns how many whole tokens there are.
    pub(crate) fn tokens(&self, now: Instant) -> u32 {
        let seen = self.look(now);
        let level = self.level(seen.at, seen.spent).max(0).cast_unsigned();
        u32::try_from(level / TOKEN).unwrap_or(u32::MAX)
    }

    /// Returns how long time needs to make so many units; none when it never does.
    pub(super) fn time_for(&self, units: i64, seen: Seen, now: Instant) -> Option<Duration> {
        if units <= 0 {
            return Some(Duration::ZERO);
        }
        let ticks = units
            .cast_unsigned()
            .saturating_add(self.rate)
            .checked_sub(1)?;
        let ticks = ticks.checked_div(self.rate)?;
        let into_tick = seen.at.as_nanos() % TICK;
        let nanos = ticks.saturating_mul(TICK).saturating_sub(into_tick);
        let catching_up = seen.at.saturating_since(now);
        Some(catching_up.saturating_add(Duration::from_nanos(nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Local;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn later_tokens_take_longer() {
        let bucket = TokenBucket::<Local>::new(1, 4);
        let waits = [(); 5].map(|()| bucket.take_ahead(at(0), SECOND));
        let ms = |ms| Ok(Duration::from_millis(ms));
        assert_eq!(waits, [ms(0), ms(250), ms(500), ms(750), ms(1_000)]);
        let more = bucket.take_ahead(at(0), SECOND);
        assert_eq!(more, Err(Some(Duration::from_millis(1_250))));
        bucket.give_back();
        assert_eq!(bucket.take_ahead(at(0), SECOND), Ok(SECOND));
    }

    #[test]
    fn without_a_rate_nothing_comes() {
        let bucket = TokenBucket::<Local>::new(1, 0);
        assert_eq!(bucket.take_ahead(at(0), Duration::MAX), Ok(Duration::ZERO));
        assert_eq!(bucket.take_ahead(at(0), Duration::MAX), Err(None));
    }

    proptest! {
        // B5
        #[test]
        fn the_time_is_exact(rate in 1..2_000_u32, steps in proptest::collection::vec(0..3_000_000_u64, 1..50)) {
            let bucket = TokenBucket::<Local>::new(3, rate);
            let mut now = at(10);
            for step in steps {
                now = now.saturating_add(Duration::from_nanos(step));
                let Err(Some(wait)) = bucket.take_ahead(now, Duration::ZERO) else { continue };
                let due = now.saturating_add(wait);
                let early = due.saturating_sub(Duration::from_nanos(TICK));
                prop_assert!(early <= now || bucket.take_ahead(early, Duration::ZERO).is_err());
                prop_assert_eq!(bucket.take_ahead(due, Duration::ZERO), Ok(Duration::ZERO));
                now = due;
            }
        }
    }
}
