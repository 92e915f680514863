//! What is called.

use steadfast_core::{Instant, Ratio};

use crate::curve::Curve;
use crate::impairment::Impairments;
use crate::model::Model;
use crate::queueing::Queueing;

/// What a simulation calls: a [`Model`] or a [`Queueing`] server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A dependency as a rule.
    Model(Model),
    /// A dependency with a queue.
    Queueing(Queueing),
}

impl From<Model> for Target {
    fn from(model: Model) -> Self {
        Self::Model(model)
    }
}

impl From<Queueing> for Target {
    fn from(queueing: Queueing) -> Self {
        Self::Queueing(queueing)
    }
}

impl Target {
    fn impairments(&self) -> &Impairments {
        match self {
            Self::Model(model) => &model.impairments,
            Self::Queueing(queueing) => &queueing.impairments,
        }
    }

    fn curve(&self) -> Curve {
        match self {
            Self::Model(model) => model.curve,
            Self::Queueing(queueing) => queueing.service,
        }
    }

    fn failing(&self) -> Ratio {
        match self {
            Self::Model(model) => model.failing,
            Self::Queueing(queueing) => queueing.failing,
        }
    }

    /// When it is well again for good.
    pub(crate) fn well_from(&self) -> Option<Instant> {
        self.impairments().end()
    }

    pub(crate) fn is_curve_possible(&self) -> bool {
        self.curve().is_possible()
    }

    pub(crate) fn is_failing_possible(&self) -> bool {
        self.failing() <= Ratio::ONE
    }

    pub(crate) fn is_impairment_possible(&self) -> bool {
        self.impairments().is_possible()
    }

    pub(crate) fn has_servers(&self) -> bool {
        !matches!(self, Self::Queueing(queueing) if queueing.servers == 0)
    }
}
