//! Learners: what grows a tree. Each is one file behind [`Learner`], which is linfa's `Fit` over
//! our records and targets, and one line in [`LearnerKind`](crate::policy::LearnerKind).
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
use crate::tree::GrownTree;

pub use linfa_trees::LinfaTrees;
pub use soft::{Preset, Soft};

/// What a learner learns from.
pub type Dataset<'a> = DatasetBase<Rows<'a>, &'a Targets>;

/// Grows trees. Implemented by everything that implements linfa's `Fit` for our data.
pub trait Learner: Send + Sync {
    /// The tree for these rows. The same rows give the same tree, whatever the threads.
    ///
    /// # Errors
    /// [`TrainError::Linfa`] where linfa refuses.
    fn grow(&self, dataset: &Dataset<'_>) -> Result<GrownTree, TrainError>;
}

impl<L> Learner for L
where
    L: for<'a> Fit<Rows<'a>, &'a Targets, TrainError, Object = GrownTree> + Send + Sync,
{
    fn grow(&self, dataset: &Dataset<'_>) -> Result<GrownTree, TrainError> {
        self.fit(dataset)
    }
}
