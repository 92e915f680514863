//! What is called.

use steadfast_core::{Instant, Ratio};

use crate::curve::Curve;
use crate::impairment::Impairments;
use crate::mistake::Mistake;
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

    /// All that makes it impossible.
    pub(crate) fn mistakes(&self) -> impl Iterator<Item = Mistake> + use<> {
        let has_no_server = matches!(self, Self::Queueing(queueing) if queueing.servers == 0);
        let checks = [
            (!self.curve().is_possible(), Mistake::Curve),
            (self.failing() > Ratio::ONE, Mistake::FailureRate),
            (!self.impairments().is_possible(), Mistake::Impairment),
            (has_no_server, Mistake::NoServer),
        ];
        let found = checks.into_iter().filter(|(is_one, _)| *is_one);
        found.map(|(_, mistake)| mistake)
    }
}
