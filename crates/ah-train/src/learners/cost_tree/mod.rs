//! `cost_tree`: our own tree over soft targets, polished against the cost itself.
//!
//! Each choice of an input gets the weight `exp(-cost / temperature)`. Near ties thus count as
//! ties, and a bad choice counts by how bad it is. A split minimises the multi-output variance of
//! these weights (the criterion of scikit-learn's multi-output regression trees). The grown tree
//! is polished against the true cost by Tree Alternating Optimisation (Carreira-Perpiñán and
//! Tavallali, "Alternating optimization of decision trees", NeurIPS 2018).
//!
//! From the bottom up; a file imports only files before it:
//!
//! | file | content |
//! | --- | --- |
//! | `parameters` | [`CostTree`] |
//! | `lanes` | eight numbers at a time |
//! | `samples` | soft targets and costs of each row, as whole numbers |
//! | `gain` | how good a split is |
//! | `fit_data` | the rows of one fit, shared by all its nodes |
//! | `compact`, `subtree` | the rows of a node and of the nodes below it |
//! | `scan`, `look_ahead` | the best split of a node |
//! | `grow` | growth |
//! | `polish` | alternating optimisation |
//! | `errors` | what boosted trees have left to learn |
//! | `boost` | boosted trees |

mod boost;
mod compact;
mod errors;
mod fit_data;
mod gain;
mod grow;
mod lanes;
mod look_ahead;
mod parameters;
mod polish;
mod samples;
mod scan;
mod subtree;

use linfa::dataset::DatasetBase;
use linfa::traits::Fit;

use crate::data::{Costs, Subset};
use crate::error::TrainError;
use crate::tree::{GrownTree, Scores};

pub use boost::Boost;
pub use parameters::CostTree;

impl<'a> Fit<Subset<'a>, &'a Costs, TrainError> for CostTree {
    type Object = GrownTree;

    fn fit(&self, dataset: &DatasetBase<Subset<'a>, &'a Costs>) -> Result<GrownTree, TrainError> {
        Ok(grow::grow(self, dataset.records(), dataset.targets()))
    }
}

impl CostTree {
    /// Returns the scores of a tree's nodes under these parameters.
    pub fn scores(&self, tree: &GrownTree, rows: &Subset<'_>, targets: &Costs) -> Scores {
        Scores::new(tree, rows, targets, self.shrinkage)
    }
}
