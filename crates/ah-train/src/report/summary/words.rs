//! The words that all lines of a summary share.

use ah_model::shown::cut;

use crate::train::TrainedModel;

/// The most characters of a choice's name: those of Triton's configurations of a product have 40 to 48.
const NAME: usize = 48;

/// A choice's name, cut if it is long.
pub fn name(choice: &str) -> String {
    cut(choice, NAME)
}

/// A single choice in words, which may have a second one.
pub fn single(choices: &[String]) -> String {
    match choices {
        [first, second] => format!("{}, and {} where {0} has no time", name(first), name(second)),
        choices => choices.iter().map(|choice| name(choice)).collect(),
    }
}

/// The number of inputs that a training learned from and judged.
pub fn inputs(trained: &TrainedModel) -> usize {
    trained.held_out.train_inputs + trained.held_out.evaluation.judged.len()
}
