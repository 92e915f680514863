//! A policy that works, or all that is wrong with it.

use super::refuse;
use crate::lanes::Lanes;
use crate::memory::Memory;
use crate::memory::profile::Profile;
use crate::policy::policy::Policy;
use crate::policy::problem::Problem;
use crate::policy::problems::{PolicyError, Problems};
use crate::policy::timeline::Timeline;

impl Policy {
    /// Returns the policy, if a guard of that memory and those lanes can follow
    /// it.
    ///
    /// # Panics
    ///
    /// As [`Policy::checked`]. For a policy that is read at run time there is
    /// [`Policy::try_checked_for`].
    #[must_use]
    #[track_caller]
    pub const fn checked_for<M: Memory, H: Lanes>(self) -> Self {
        if let Err(problems) = self.validate_in(H::COUNT, M::Profile::MEASURES) {
            refuse("this policy cannot work", problems);
        }
        self
    }

    /// Returns the policy, if a guard of that memory and those lanes can follow
    /// it.
    ///
    /// # Errors
    ///
    /// Returns every problem, and a text that explains them.
    pub const fn try_checked_for<M: Memory, H: Lanes>(self) -> Result<Self, PolicyError> {
        match self.validate_in(H::COUNT, M::Profile::MEASURES) {
            Ok(()) => Ok(self),
            Err(problems) => Err(PolicyError::new(self.name(), problems, Timeline::of(&self))),
        }
    }

    /// Returns the policy, if guards of that memory and those lanes can follow it for
    /// so many keys.
    ///
    /// # Panics
    ///
    /// As [`Policy::checked`]. For a policy that is read at run time there is
    /// [`Policy::try_checked_for_keys`].
    #[must_use]
    #[track_caller]
    pub const fn checked_for_keys<M: Memory, H: Lanes>(self, keys: usize) -> Self {
        if let Err(problems) = self.validate_for_keys::<M, H>(keys) {
            refuse("this policy cannot work", problems);
        }
        self
    }

    /// Returns the policy, if guards of that memory and those lanes can follow it for
    /// so many keys.
    ///
    /// # Errors
    ///
    /// Returns every problem, and a text that explains them.
    pub const fn try_checked_for_keys<M: Memory, H: Lanes>(
        self,
        keys: usize,
    ) -> Result<Self, PolicyError> {
        match self.validate_for_keys::<M, H>(keys) {
            Ok(()) => Ok(self),
            Err(problems) => Err(PolicyError::new(self.name(), problems, Timeline::of(&self))),
        }
    }

    const fn validate_for_keys<M: Memory, H: Lanes>(&self, keys: usize) -> Result<(), Problems> {
        Problems::NONE
            .and(self.validate_in(H::COUNT, M::Profile::MEASURES))
            .with(Problem::NoKeys, keys == 0)
            .into_result()
    }

    /// Returns the policy, if it can work.
    ///
    /// In a `const` or a `static` a bad policy does not compile, and the
    /// compiler's message is the one below.
    ///
    /// # Panics
    ///
    /// Panics with every problem when the policy is impossible. For a policy
    /// that is read at run time there is [`Policy::try_checked`].
    ///
    /// ```compile_fail,E0080
    /// use steadfast_core::Policy;
    ///
    /// static BAD: Policy = Policy::DEFAULT.with_attempts(0).checked();
    /// ```
    #[must_use]
    #[track_caller]
    pub const fn checked(self) -> Self {
        if let Err(problems) = self.validate() {
            refuse("this policy cannot work", problems);
        }
        self
    }

    /// Returns the policy, if it can work.
    ///
    /// # Errors
    ///
    /// Returns every problem, and a text that explains them.
    pub const fn try_checked(self) -> Result<Self, PolicyError> {
        match self.validate() {
            Ok(()) => Ok(self),
            Err(problems) => Err(PolicyError::new(self.name(), problems, Timeline::of(&self))),
        }
    }
}
