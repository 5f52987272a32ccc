//! The costs to learn from: for each input, what each measured choice costs.

use ah_model::math::exp;
use ah_model::{ChoiceId, Objective};

use super::table::{Cell, Table};

/// A cost of 1: with the geometric mean a log slowdown of 1. Costs are whole numbers, so their sums do not depend on the
/// order of rows or threads; 2^35 of the largest fit into an `i64`.
pub const COST_ONE: f64 = (1_u32 << 24) as f64;

/// The temperature of [soft targets](Cost::soft_target) by which trees grow and categories are ordered.
const TEMPERATURE: f64 = 0.05;

/// One measured choice of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub choice: ChoiceId,
    /// The objective's cost in units of [`COST_ONE`], at most [`Objective::greatest_cost`], which a failed choice costs.
    pub cost: u32,
    /// False if it failed.
    pub usable: bool,
}

impl Cost {
    /// How good the choice is: `exp(-cost / temperature)`, 1 for the best one.
    #[inline]
    pub fn soft_target(&self) -> f64 {
        exp(-f64::from(self.cost) / COST_ONE / TEMPERATURE)
    }
}

/// The costs of all inputs of a table.
#[derive(Clone, Debug)]
pub struct Costs {
    /// The number of choices.
    pub choices: usize,
    /// By input, those of its measured choices, by choice.
    costs: Vec<Vec<Cost>>,
    /// The objective.
    pub objective: Objective,
    /// Whole numbers, at least 1, so that weighted sums stay exact.
    weights: Vec<u32>,
}

impl Costs {
    /// The costs of a table. Rare choices have none, so they are never ranked. `fallback` has the greatest cost on the inputs
    /// that have no time of it: it cannot run there, so every other choice is better.
    pub fn new(table: &Table, fallback: Option<ChoiceId>) -> Self {
        let of_cell = |input: u32, cell: &Cell| {
            let cost = table.cost_of(input, cell) / table.raised(input);
            let cost = quantised(cost.min(table.objective.greatest_cost()));
            Cost { choice: cell.choice, cost, usable: cell.time.is_finite() }
        };
        let of_input = |input: u32| {
            let learned =
                table.cells(input).iter().filter(|c| table.is_usable(input) && !table.is_rare(c.choice));
            let mut costs: Vec<Cost> = learned.map(|cell| of_cell(input, cell)).collect();
            if let Some(choice) = fallback.filter(|_| !costs.is_empty())
                && let Err(at) = costs.binary_search_by_key(&choice, |c| c.choice)
            {
                let cost = quantised(table.objective.greatest_cost());
                costs.insert(at, Cost { choice, cost, usable: false });
            }
            costs
        };
        Self {
            choices: table.choices.len(),
            costs: (0..table.inputs.len() as u32).map(of_input).collect(),
            objective: table.objective,
            weights: whole(&table.learned_weights()),
        }
    }

    /// Adds `penalty` to the cost of each choice that is slower than the fallback by more than `limit`.
    pub fn with_penalty(mut self, table: &Table, fallback: ChoiceId, limit: f64, penalty: f64) -> Self {
        for (input, costs) in (0..).zip(&mut self.costs) {
            let Some(base) = table.usable(input, fallback) else { continue };
            for cost in costs {
                if table.cell(input, cost.choice).is_some_and(|c| Table::breaks(limit, c.time, base.time)) {
                    let increased = f64::from(cost.cost) / COST_ONE + penalty;
                    cost.cost = quantised(increased.min(table.objective.greatest_cost()));
                }
            }
        }
        self
    }

    /// The same with [saturated](Objective::saturate) costs.
    pub fn saturated(&self) -> Self {
        let saturate = |cost: u32| self.objective.saturate(f64::from(cost) / COST_ONE);
        let saturated = |c: &Cost| Cost { cost: quantised(saturate(c.cost)), ..*c };
        let costs = self.costs.iter().map(|costs| costs.iter().map(saturated).collect()).collect();
        Self { costs, weights: self.weights.clone(), ..*self }
    }

    /// The weight of an input.
    pub fn weight(&self, input: u32) -> u32 {
        self.weights[input as usize]
    }

    /// The measured choices of an input, by choice.
    pub fn of(&self, input: u32) -> &[Cost] {
        &self.costs[input as usize]
    }

    /// The winner of an input: the choice that costs least; of equals the first.
    pub fn winner(&self, input: u32) -> Option<ChoiceId> {
        self.of(input).iter().filter(|c| c.usable).min_by_key(|c| c.cost).map(|c| c.choice)
    }
}

/// The largest ratio of two weights; a greater weight is cut to it.
const MAX_WEIGHT: f64 = 4096.0;

/// Weights as whole numbers, the least of them 1 (all 1 where they are equal).
fn whole(weights: &[f64]) -> Vec<u32> {
    let (least, most) = weights.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &w| (a.min(w), b.max(w)));
    // A ratio that is not whole needs a finer unit; 16 steps for the lightest input are enough.
    let unit = if most <= least { least } else { (least / 16.0).max(most / MAX_WEIGHT) };
    weights.iter().map(|w| ((w / unit).round() as u32).max(1)).collect()
}

fn quantised(cost: f64) -> u32 {
    (cost * COST_ONE).round() as u32
}
