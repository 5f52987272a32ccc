//! How well times repeat.

use std::collections::HashMap;
use std::fmt;

use ah_types::log::Log;

use super::podium::{CLEAR_GAP, Podium, medians, share};

/// The differences between two logs of the same inputs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RepeatNoise {
    /// Inputs that both logs hold.
    pub inputs: usize,
    /// Pairs of medians compared: one for each choice on each input.
    pub pairs: usize,
    /// The median of |a − b| / min(a, b).
    pub median_deviation: f64,
    /// Its 95th percentile.
    pub p95_deviation: f64,
    /// The share of inputs whose winner differs.
    pub winner_changes: f64,
    /// Inputs on which the first log's winner is ahead by more than 3 %.
    pub clear: usize,
    /// The share of these inputs whose winner differs.
    pub clear_winner_changes: f64,
}

impl RepeatNoise {
    /// Compares two logs input by input; `None` if they share no input.
    pub fn between(first: &Log, second: &Log) -> Option<Self> {
        let by_text: HashMap<&str, usize> =
            second.inputs.iter().enumerate().map(|(i, x)| (&*x.text, i)).collect();
        let (ours, theirs) = (medians(first), medians(second));
        let mut deviations = Vec::new();
        let (mut inputs, mut changes, mut clear, mut clear_changes) = (0, 0, 0, 0);
        for (input, a) in first.inputs.iter().zip(&ours) {
            let Some(b) = by_text.get(&*input.text).map(|i| &theirs[*i]) else { continue };
            for (choice, x) in a {
                let other = second.choice_id(&first.choices[*choice as usize]);
                let y = other.and_then(|id| b.get(&id.0)).filter(|y| y.is_finite() && x.is_finite());
                deviations.extend(y.map(|y| (x - y).abs() / x.min(*y)));
            }
            let (Some(p), Some(q)) = (Podium::of(a), Podium::of(b)) else { continue };
            inputs += 1;
            let changed = first.choices[p.winner as usize] != second.choices[q.winner as usize];
            changes += usize::from(changed);
            if p.second_ms / p.winner_ms > CLEAR_GAP {
                clear += 1;
                clear_changes += usize::from(changed);
            }
        }
        deviations.sort_by(f64::total_cmp);
        let at = |quantile: usize| {
            deviations.get((deviations.len() * quantile / 100).min(deviations.len().max(1) - 1))
        };
        Some(Self {
            inputs,
            pairs: deviations.len(),
            median_deviation: *at(50)?,
            p95_deviation: *at(95)?,
            winner_changes: share(changes, inputs),
            clear,
            clear_winner_changes: share(clear_changes, clear),
        })
    }
}

impl fmt::Display for RepeatNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |x: f64| 100.0 * x;
        write!(
            f,
            "repeat: {} inputs in both; median relative deviation {:.2} %, 95th percentile {:.2} %; \
             the winner changes on {:.1} % of the inputs, and on {:.1} % of the {} whose gap exceeds 3 %",
            self.inputs,
            percent(self.median_deviation),
            percent(self.p95_deviation),
            percent(self.winner_changes),
            percent(self.clear_winner_changes),
            self.clear
        )
    }
}
