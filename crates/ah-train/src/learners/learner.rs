//! The trait of all learners.

use linfa::dataset::DatasetBase;
use linfa::traits::Fit;

use crate::data::{Costs, Subset};
use crate::error::TrainError;
use crate::tree::GrownTree;

/// The data of a learner: rows of features and their costs.
pub type LearnerData<'a> = DatasetBase<Subset<'a>, &'a Costs>;

/// Grows trees. Every implementation of linfa's `Fit` for our data is one.
pub trait Learner: Send + Sync {
    /// Returns the tree for these rows. The same rows give the same tree, whatever the threads.
    ///
    /// # Errors
    /// [`TrainError::Linfa`] if linfa refuses.
    fn grow(&self, dataset: &LearnerData<'_>) -> Result<GrownTree, TrainError>;
}

impl<L> Learner for L
where
    L: for<'a> Fit<Subset<'a>, &'a Costs, TrainError, Object = GrownTree> + Send + Sync,
{
    fn grow(&self, dataset: &LearnerData<'_>) -> Result<GrownTree, TrainError> {
        self.fit(dataset)
    }
}
