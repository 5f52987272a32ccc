//! A teacher's costs of the crossovers in a student's leaves.

use super::scores::Scores;
use crate::data::Targets;

/// A teacher's costs of the crossovers in a student's leaves.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// The costs that the teacher predicts, by row.
    pub costs: Targets,
    /// The rows of the crossovers, each with its leaf.
    pub leaves: Vec<(u32, u32)>,
    /// The scores by the teacher alone, also of choices that no input measured.
    pub scores: Scores,
}
