//! How likely a leaf's choice is slower than the fallback by more than the limit.
//!
//! For each leaf and choice: the tail of a Student-t distribution for
//! `ln(t_choice / t_fallback) > ln(limit)`, its variance shrunk towards one common to all leaves.
//! In a study on PyTorch's logs this margin over the fallback ordered risks better than the
//! leaf's probability and than counts (mixed_mm H100 at a promise of 1 %: 1.006 against 2.27).

use ah_types::ChoiceId;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::grown::Grown;
use crate::learners::Rows;
use crate::scores::Scores;
use crate::table::Table;

/// How many rows' worth the common variance counts.
const PRIOR_ROWS: f64 = 4.0;
/// With fewer rows nothing can be said.
const MIN_ROWS: u32 = 3;
/// The common variance is at least this.
const MIN_VARIANCE: f64 = 1e-5;

/// A risk from 0 to 1 for each node and choice; nodes that are no leaves have 1.
#[derive(Clone, Debug, Default)]
pub struct Risks {
    choices: usize,
    risks: Vec<f32>,
}

/// Rows, mean and squared deviation of one cell, by Welford's recurrence.
#[derive(Clone, Copy, Default)]
struct Moments {
    n: u32,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, y: f64) {
        self.n += 1;
        let step = y - self.mean;
        self.mean += step / f64::from(self.n);
        self.squares += step * (y - self.mean);
    }
}

impl Risks {
    /// The risks of all leaves from the rows that reach them, in the order of the rows.
    #[must_use]
    pub fn new(
        tree: &Grown,
        scores: &Scores,
        table: &Table,
        rows: &Rows<'_>,
        fallback: ChoiceId,
        limit: f64,
    ) -> Self {
        let choices = table.choices.len();
        let mut moments = vec![Moments::default(); tree.nodes.len() * choices];
        for &input in rows.inputs {
            let Some(base) = table.cell(input as usize, fallback).filter(|c| c.time.is_finite()) else {
                continue;
            };
            let leaf = tree.leaf_of(rows.columns, input) as usize;
            for cell in table.cells(input as usize).iter().filter(|c| c.time.is_finite()) {
                moments[leaf * choices + cell.choice.index()].add(cell.log_slowdown - base.log_slowdown);
            }
        }
        let common = common_variance(&moments, scores, choices, fallback);
        let risk = |(at, m): (usize, &Moments)| {
            if at % choices == fallback.index() {
                return 0.0;
            }
            if m.n < MIN_ROWS {
                return 1.0;
            }
            let (n, freedom) = (f64::from(m.n), f64::from(m.n) - 1.0 + PRIOR_ROWS);
            let variance = (m.squares + PRIOR_ROWS * common) / freedom;
            let t = (limit.ln() - m.mean) / (variance * (1.0 + 1.0 / n)).sqrt();
            StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |d| d.sf(t)) as f32
        };
        let risks = moments.iter().enumerate().map(risk).collect();
        Self { choices, risks }
    }

    /// The risk of a choice in a leaf; 0 before any was assessed.
    #[must_use]
    pub fn of(&self, leaf: u32, choice: ChoiceId) -> f64 {
        self.risks.get(leaf as usize * self.choices + choice.index()).map_or(0.0, |&r| f64::from(r))
    }
}

/// The median variance of the cells that could be chosen: those ranked before the fallback.
fn common_variance(moments: &[Moments], scores: &Scores, choices: usize, fallback: ChoiceId) -> f64 {
    let mut variances = Vec::new();
    for (node, cells) in moments.chunks(choices).enumerate() {
        let scores = scores.node(node as u32);
        for (choice, cell) in cells.iter().enumerate() {
            let in_front = choice != fallback.index() && scores[choice] <= scores[fallback.index()];
            if cell.n >= MIN_ROWS && in_front {
                variances.push(cell.squares / (f64::from(cell.n) - 1.0));
            }
        }
    }
    variances.sort_unstable_by(f64::total_cmp);
    variances.get(variances.len() / 2).map_or(MIN_VARIANCE, |v| v.max(MIN_VARIANCE))
}
