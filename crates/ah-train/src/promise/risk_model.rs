//! The risk of an input beside boosters: where a choice must save more than elsewhere.
//!
//! A choice must save `margin * risk` to be allowed. The margin is calibrated. The risk is the probability that what always
//! deciding takes is slower than the fallback by more than the limit, over its mean. It is learned out of fold, by shallow
//! trees of its own ([`Boost::RISK`]).
//!
//! Few inputs are slow, so the trees learn from soft labels: an input of which the choice takes `x` times as long as the
//! limit allows counts as `1 / (1 + exp(-ln(x) / 0.1))`. A near miss then teaches almost as much as a slow input. On SpMV
//! formats (four devices, folds), at a true share of 0.6 to 1 %, soft labels lose 1.032, labels of 0 and 1 1.034, and the
//! margin alone 1.035. docs/laboratory.md has what was tried instead.

use ah_types::ChoiceId;

use crate::data::{Columns, Costs, Subset, Table};
use crate::learners::Boost;
use crate::tree::{Boosters, FittedEnsemble};

/// Log slowdowns from the limit at which a label is 0.27 or 0.73. 0.2 loses as little, 0.05 more.
const SOFTNESS: f64 = 0.1;

/// What an ensemble takes on an input that it was not learned from, where it is not the fallback.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    input: u32,
    /// How slow it is: above 0.5 if slower than the limit.
    slow: f64,
}

/// Returns what always deciding takes on these inputs.
pub fn taken(
    fitted: &FittedEnsemble,
    columns: &Columns,
    table: &Table,
    targets: &Costs,
    inputs: &[u32],
    fallback: ChoiceId,
    limit: f64,
) -> Vec<Taken> {
    let mut ranking = Vec::new();
    let mut taken = |&input: &u32| {
        let base = table.usable(input, fallback)?;
        fitted.rank(columns, targets, input, &mut ranking);
        let choice = ranking.first()?.choice;
        let cell = table.cell(input, choice).filter(|_| choice != fallback)?;
        // A failed choice has an infinite time.
        let beyond = (cell.time / (limit * base.time)).ln();
        Some(Taken { input, slow: 1.0 / (1.0 + (-beyond / SOFTNESS).exp()) })
    };
    inputs.iter().filter_map(&mut taken).collect()
}

/// Learns the risk beside boosters.
pub fn learn<'a>(boosters: &mut Boosters, columns: &Columns, taken: impl Iterator<Item = &'a Taken>) {
    let (inputs, slow): (Vec<u32>, Vec<f64>) = taken.map(|taken| (taken.input, taken.slow)).unzip();
    let mean = slow.iter().sum::<f64>() / slow.len() as f64;
    // Fewer inputs than two leaves need have one risk.
    if mean > 0.0 && inputs.len() >= 2 * Boost::RISK.min_samples_leaf {
        let risks: Vec<f64> = slow.iter().map(|slow| slow / mean).collect();
        Boost::RISK.fit_risk(boosters, &Subset { columns, inputs: &inputs }, &risks);
    }
}
