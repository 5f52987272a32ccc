//! The study of a training for a report: the loss with fewer inputs.
//!
//! Everything here always decides, learns from the training part, and is judged on the test part.

use rayon::prelude::*;
use serde::Serialize;

use crate::data::split;
use crate::prepared::Prepared;
use crate::promise::Recipe;

/// The shares of the training part that a learning curve learns from, ascending; the last is all of it.
const SHARES: [f64; 4] = [0.125, 0.25, 0.5, 1.0];
/// How often each smaller share is drawn.
const DRAWS: u64 = 5;

/// A learning curve.
#[derive(Debug, Serialize)]
pub struct Study {
    /// The loss against the number of inputs.
    pub learning_curve: Vec<CurvePoint>,
    /// The effect of the last doubling of the training part: log slowdown saved.
    pub last_doubling: Difference,
    /// What more inputs would save, in a sentence.
    pub advice: String,
}

/// The loss after learning from this many inputs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The number of inputs.
    pub inputs: usize,
    /// Geometric-mean slowdown on the test part.
    pub slowdown: f64,
    /// The standard error of its logarithm over the inputs of the test part.
    pub error: f64,
}

/// A difference of mean log slowdowns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// The mean over the inputs of the test part, paired.
    pub mean: f64,
    /// Its standard error, over these inputs and over the draws of the half.
    pub error: f64,
}

impl Study {
    /// Learns from shares of the training part.
    pub fn new(recipe: &Recipe<'_>, prepared: &Prepared) -> Self {
        let (plan, parts) = (recipe.plan, &prepared.parts);
        let keys = recipe.dataset.keys(plan.test_split, &parts.training);
        let drawn = |share: f64, draw: u64| {
            // A draw's shares are nested: an input's hash decides from which share on it belongs.
            let seed = plan.seed.wrapping_add(draw);
            let part = split::hold_out(&parts.training, &keys, share, seed, "learning curve").held_out;
            (part.len(), costs(recipe, prepared, &part))
        };
        let by_share: [Vec<(usize, Vec<f64>)>; 4] = SHARES.map(|share| {
            let draws = if share < 1.0 { DRAWS } else { 1 };
            (0..draws).into_par_iter().map(|draw| drawn(share, draw)).collect()
        });
        let [.., half, whole] = &by_share;
        let last_doubling = difference(half, whole);
        let learning_curve: Vec<CurvePoint> = by_share.iter().map(|draws| point(draws)).collect();
        let inputs = (learning_curve[2].inputs, parts.training.len());
        let advice = advice(inputs, last_doubling, learning_curve[3].slowdown.ln());
        Self { learning_curve, last_doubling, advice }
    }
}

/// Returns what more inputs would save. Each doubling usually saves less than the one before, so the last one
/// bounds the next. The log slowdown with the whole bounds it too.
pub fn advice(
    (half, whole): (usize, usize),
    Difference { mean, error }: Difference,
    log_slowdown: f64,
) -> String {
    let percent = |log: f64| log.exp_m1() * 100.0;
    let (low, high) = (percent(mean - 1.96 * error), percent(mean + 1.96 * error));
    let doubling = format!(
        "From {half} to {whole} training inputs the loss fell by {:.2} % (95 % interval {low:.2} to {high:.2} %)",
        percent(mean)
    );
    if low <= 0.0 {
        return format!(
            "{doubling}: more inputs of this kind would hardly save anything that this log can show."
        );
    }
    let more = [100, 500, 2000, 10_000].into_iter().rfind(|more| *more <= whole / 4).unwrap_or(100);
    let saved = percent((mean * (1.0 + more as f64 / whole as f64).log2()).min(log_slowdown));
    format!("{doubling}. {more} more inputs would save about {saved:.2} % or less.")
}

/// Returns the log slowdown of each input of the test part after learning from `inputs`, the decision left out.
fn costs(recipe: &Recipe<'_>, prepared: &Prepared, inputs: &[u32]) -> Vec<f64> {
    let model = recipe.learn_without_promise(inputs);
    let (table, fallback) = (&prepared.judging, prepared.judging_fallback(&model));
    let judged = prepared.judge(&model, &prepared.parts.held_out);
    judged.iter().map(|judged| table.loss(judged.input, judged.taken(fallback), fallback)).collect()
}

/// Returns the mean over the draws, for each input of the test part.
fn mean_of(draws: &[(usize, Vec<f64>)]) -> Vec<f64> {
    let count = draws.len() as f64;
    (0..draws[0].1.len()).map(|i| draws.iter().map(|(_, costs)| costs[i]).sum::<f64>() / count).collect()
}

fn point(draws: &[(usize, Vec<f64>)]) -> CurvePoint {
    let (mean, error) = mean_and_error(&mean_of(draws));
    let inputs = draws.iter().map(|(inputs, _)| inputs).sum::<usize>() / draws.len();
    CurvePoint { inputs, slowdown: mean.exp(), error }
}

fn difference(half: &[(usize, Vec<f64>)], whole: &[(usize, Vec<f64>)]) -> Difference {
    let saved: Vec<f64> =
        mean_of(half).iter().zip(&mean_of(whole)).map(|(half, whole)| half - whole).collect();
    let (mean, over_inputs) = mean_and_error(&saved);
    let of_draws: Vec<f64> = half.iter().map(|(_, costs)| mean_and_error(costs).0).collect();
    Difference { mean, error: over_inputs.hypot(mean_and_error(&of_draws).1) }
}

/// Returns the mean and its standard error.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_inputs_save_no_more_than_the_loss() {
        let saved = Difference { mean: 0.05, error: 0.001 };
        let with_loss = |loss| advice((50, 100), saved, loss);
        assert!(with_loss(0.002).ends_with("100 more inputs would save about 0.20 % or less."));
        assert!(with_loss(0.08).ends_with("100 more inputs would save about 5.13 % or less."));
    }
}
