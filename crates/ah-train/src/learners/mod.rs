//! Learners: what grows a tree. Each is one file behind [`Learner`], which is linfa's `Fit` over
//! our records and targets, and one line in [`Kind`].
//!
//! A learner only decides where to split. What a leaf says is the same for all of them and is
//! computed from the training rows that reach it ([`crate::tree::leaves`]), so a library's own
//! leaves (linfa's hold one class and no counts) never matter.

mod linfa_trees;
mod soft;

use linfa::dataset::DatasetBase;
use linfa::traits::Fit;

use crate::data::{Rows, Targets};
use crate::error::TrainError;
use crate::tree::Grown;

pub use linfa_trees::{Criterion, LinfaTrees};
pub use soft::{Preset, Soft};

/// What a learner learns from.
pub type Dataset<'a> = DatasetBase<Rows<'a>, &'a Targets>;

/// Grows trees. Implemented by everything that implements linfa's `Fit` for our data.
pub trait Learner: Send + Sync {
    /// The tree for these rows. The same rows give the same tree, whatever the threads.
    ///
    /// # Errors
    /// [`TrainError::Linfa`] where linfa refuses.
    fn grow(&self, dataset: &Dataset<'_>) -> Result<Grown, TrainError>;
}

impl<L> Learner for L
where
    L: for<'a> Fit<Rows<'a>, &'a Targets, TrainError, Object = Grown> + Send + Sync,
{
    fn grow(&self, dataset: &Dataset<'_>) -> Result<Grown, TrainError> {
        self.fit(dataset)
    }
}

/// The learners by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// [`Soft`] with the preset that cross-validation prefers.
    Auto,
    /// [`Soft`].
    Soft,
    /// [`LinfaTrees`].
    Linfa,
    /// [`Soft`] over the scores themselves: a regression tree.
    Regression,
}

impl Kind {
    /// The learner of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "soft" => Some(Self::Soft),
            "linfa" => Some(Self::Linfa),
            "regression" => Some(Self::Regression),
            _ => None,
        }
    }
}
