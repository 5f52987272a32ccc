//! The cost formula of each choice: a few terms of padded work, fitted to the times. Trees learn what it leaves.
//!
//! A library of terms chosen by cross-validation, terms for each choice, and formulas split by thresholds all overfit
//! (docs/laboratory.md).

use ah_model::math::{exp, ln};
use std::collections::BTreeMap;
use std::f64::consts::LN_2;

use ah_joint::cost_fit;
use ah_model::expr::{Binary, Comparison, Expr, Unary};
use ah_model::{ChoiceId, CostClass, Costs, Precondition, Row, Scalar, Value};
use rayon::prelude::*;

use super::alignment::{Alignment, DIGITS, ErrorsOfChoice};
use super::dimensions::{Dimension, dimensions};
use crate::data::domain::{all_hold, compare};
use crate::data::table::Cell;
use crate::data::threshold::rounded;
use crate::data::{Dataset, Table};

/// The fewest inputs of a class with coefficients of its own.
const MIN_CLASS: usize = 30;
/// The fewest times of a choice to fit its own coefficients; with fewer it has those of all choices, times a factor.
pub const MIN_TIMES: usize = 8;
/// A residual of the logarithm counts at most this much.
const MOST_RESIDUAL: f64 = 1.0;

/// The formula for these inputs; `None` if no field of the choices tiles a feature, or the times fit none. `with_alignment`: with
/// factors for unaligned inputs where they matter. Estimates of a choice that was added later do without: few times give its factor, and Triton's
/// 18 configurations lose 3.8 instead of 2.9 %.
pub fn fit(dataset: &Dataset, inputs: &[u32], with_alignment: bool) -> Option<Costs> {
    let dimensions = dimensions(dataset, inputs);
    let all: Vec<u32> = inputs.iter().copied().filter(|&input| dataset.table.is_usable(input)).collect();
    if dimensions.is_empty() || all.len() < MIN_TIMES {
        return None;
    }
    let classes = classes(dataset, &all);
    let costs = Terms::new(dataset, &dimensions, None)?.costs(&all, &classes)?;
    if !with_alignment {
        return Some(costs);
    }
    let slots = dimensions.iter().map(|dimension| dimension.slot);
    match Alignment::find(dataset, slots, &errors_of_choices(dataset, &costs, &all)) {
        Some(alignment) => Terms::new(dataset, &dimensions, Some(&alignment))?.costs(&all, &classes),
        None => Some(costs),
    }
}

/// The part of an input's log times that the formula leaves, by choice, in doublings. They are centred: the weight of a
/// choice falls with its log slowdown this steeply.
pub fn residuals(dataset: &Dataset, costs: &Costs, input: u32, steepness: f64) -> Vec<(u32, f64)> {
    let table = &dataset.table;
    let errors = log_errors(dataset, costs, input);
    let best = table.inputs[input as usize].best;
    let mut sum = 0.0;
    let mut count = 0.0;
    for (cell, error) in &errors {
        let weight = exp(steepness * ln(best / cell.time));
        sum += weight * error;
        count += weight;
    }
    let centre = if count > 0.0 { sum / count } else { 0.0 };
    let failed = table.cells(input).iter().filter(|cell| cell.time.is_infinite());
    let left = errors.iter().map(|(cell, error)| (*cell, error - centre));
    let all = left.chain(failed.map(|cell| (cell, MOST_RESIDUAL)));
    all.map(|(cell, left)| (cell.choice.0, left.clamp(-MOST_RESIDUAL, MOST_RESIDUAL) / LN_2)).collect()
}

/// The difference between log time and cost, by timed choice of an input.
fn log_errors<'a>(dataset: &'a Dataset, costs: &Costs, input: u32) -> Vec<(&'a Cell, f64)> {
    let error = |cell: &'a Cell| {
        let error = ln(cell.time / cost(dataset, costs, input, cell.choice));
        (cell, if error.is_nan() { 0.0 } else { error })
    };
    let timed = dataset.table.cells(input).iter().filter(|cell| cell.time.is_finite() && cell.time > 0.0);
    timed.map(error).collect()
}

/// The log errors by choice, on these inputs.
fn errors_of_choices(dataset: &Dataset, costs: &Costs, inputs: &[u32]) -> Vec<ErrorsOfChoice> {
    let mut errors = vec![Vec::new(); dataset.table.choices.len()];
    for &input in inputs {
        for (cell, error) in log_errors(dataset, costs, input) {
            errors[cell.choice.index()].push((input, error));
        }
    }
    errors
}

/// The cost of a choice on an input; NaN where it has none.
pub fn cost(dataset: &Dataset, costs: &Costs, input: u32, choice: ChoiceId) -> f64 {
    let values = dataset.table.values(input);
    let logged = dataset.features.base().len();
    costs.class(values).map_or(f64::NAN, |class| costs.cost(&class.rows[choice.index()], values, logged))
}

/// The terms of a formula, over the inputs of a table.
struct Terms<'a> {
    table: &'a Table,
    /// The terms and the names of their parameters, without classes.
    formula: Costs,
    /// By choice.
    parameters: Vec<Vec<f64>>,
}

impl<'a> Terms<'a> {
    fn new(dataset: &'a Dataset, dimensions: &[Dimension], alignment: Option<&Alignment>) -> Option<Self> {
        let table = &dataset.table;
        let logged = dataset.features.base();
        // A parameter has no name of a feature.
        let free = |key: &String| {
            let mut name = key.clone();
            while logged.slot(&name).is_some() {
                name.push_str("_tile");
            }
            name
        };
        let tiled = dimensions.iter().filter_map(|d| d.tiles.as_ref()).map(|(key, sizes)| (free(key), sizes));
        let unaligned = |alignment: &Alignment| free(&format!("{}_unaligned", alignment.feature));
        let aligned = alignment.map(|alignment| (unaligned(alignment), &alignment.factors));
        let of_choices: Vec<(String, &Vec<f64>)> = tiled.chain(aligned).collect();
        let of_choice = |at: usize| of_choices.iter().map(|(_, of)| of[at]).collect();
        let parameters = (0..table.choices.len()).map(of_choice).collect();
        let names = of_choices.into_iter().map(|(name, _)| name).collect();
        let padded = |dimension: &Dimension| {
            let x = Expr::Feature(logged.features()[dimension.slot].name.clone());
            let Some((key, _)) = &dimension.tiles else { return x };
            let size = Expr::Feature(free(key));
            let tiles = Expr::binary(Binary::Div, x, size.clone());
            Expr::binary(Binary::Mul, Expr::Unary(Unary::Ceil, Box::new(tiles)), size)
        };
        let product = |factors: Vec<usize>| {
            let factor = alignment.map(|alignment| alignment.expression(unaligned(alignment)));
            let product = factor.into_iter().chain(factors.iter().map(|&at| padded(&dimensions[at])));
            product.reduce(|a, b| Expr::binary(Binary::Mul, a, b)).unwrap_or(Expr::Number(1.0)).to_string()
        };
        let terms = factors(dataset, dimensions).into_iter().map(product).collect();
        Some(Self { table, formula: Costs::new(logged, names, terms, Vec::new()).ok()?, parameters })
    }

    /// The values of the terms of a choice on an input.
    fn row(&self, input: u32, choice: ChoiceId) -> Vec<f64> {
        let values = self.table.values(input).iter().map(Value::as_scalar);
        let parameters = self.parameters[choice.index()].iter().map(|x| Scalar::Number(*x));
        let row: Vec<Scalar<'_>> = values.chain(parameters).collect();
        self.formula.terms.iter().map(|term| term.typed.number(&row[..])).collect()
    }

    /// Fits the coefficients of each class and choice to the times of these inputs.
    fn costs(&self, inputs: &[u32], classes: &[Option<Precondition>]) -> Option<Costs> {
        let choices: Vec<ChoiceId> = (0..self.table.choices.len() as u32).map(ChoiceId).collect();
        let (rows, times) = self.timed(inputs, &choices);
        let of_all = cost_fit::fit(&rows, &times)?;
        let fit = |inputs: &[u32], choice: ChoiceId| {
            let (rows, times) = self.timed(inputs, &[choice]);
            (rows.len() >= MIN_TIMES).then(|| cost_fit::fit(&rows, &times)).flatten()
        };
        let everywhere = |&choice: &ChoiceId| {
            fit(inputs, choice).unwrap_or_else(|| {
                let scale = self.scale(inputs, choice, &of_all);
                of_all.iter().map(|x| x * scale).collect()
            })
        };
        let everywhere: Vec<Vec<f64>> = choices.par_iter().map(everywhere).collect();
        let class_of = |input: u32| {
            let values = self.table.values(input);
            classes.iter().position(|when| when.as_ref().is_none_or(|when| when.holds(values)))
        };
        let class = |(at, condition): (usize, &Option<Precondition>)| {
            // A single class has the coefficients of all inputs.
            let is_own = |input: &u32| classes.len() > 1 && class_of(*input) == Some(at);
            let own: Vec<u32> = inputs.iter().copied().filter(is_own).collect();
            let row = |&choice: &ChoiceId| {
                let fitted = fit(&own, choice).unwrap_or_else(|| everywhere[choice.index()].clone());
                let parameters = self.parameters[choice.index()].iter().copied();
                parameters.chain(fitted.into_iter().map(|x| rounded(x, DIGITS))).collect()
            };
            CostClass { condition: condition.clone(), rows: choices.iter().map(row).collect() }
        };
        let classes = classes.iter().enumerate().map(class).collect();
        Some(Costs { classes, ..self.formula.clone() })
    }

    /// The median of the times of a choice over these costs; 1 without times.
    fn scale(&self, inputs: &[u32], choice: ChoiceId, coefficients: &[f64]) -> f64 {
        let cost = |row: &Vec<f64>| row.iter().zip(coefficients).map(|(x, c)| x * c).sum::<f64>();
        let (rows, times) = self.timed(inputs, &[choice]);
        let mut ratios: Vec<f64> = rows.iter().zip(times).map(|(row, time)| time / cost(row)).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
    }

    /// The terms and the times of these choices on those of these inputs that time them.
    fn timed(&self, inputs: &[u32], choices: &[ChoiceId]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let of_choice = |&choice: &ChoiceId| {
            let time = move |&input: &u32| {
                let cell = self.table.usable(input, choice);
                let cell = cell.filter(|cell| cell.is_measured() && cell.time > 0.0)?;
                Some((self.row(input, choice), cell.time))
            };
            inputs.iter().filter_map(time)
        };
        choices.iter().flat_map(of_choice).unzip()
    }
}

/// The products that are terms, as positions of dimensions. A product of matrices has four: 1, the dimension that it sums over,
/// the result and the work. Others have every product.
fn factors(dataset: &Dataset, dimensions: &[Dimension]) -> Vec<Vec<usize>> {
    let name = |d: &Dimension| dataset.features.base().features()[d.slot].name.to_lowercase();
    let untiled: Vec<usize> = (0..dimensions.len()).filter(|&at| dimensions[at].tiles.is_none()).collect();
    let summed = match untiled[..] {
        [one] => Some(one),
        _ => dimensions.iter().position(|d| name(d) == "k"),
    };
    if let (3, Some(summed)) = (dimensions.len(), summed) {
        let result: Vec<usize> = (0..3).filter(|at| *at != summed).collect();
        let work = [&result[..], &[summed]].concat();
        return vec![vec![], vec![summed], result, work];
    }
    let subset = |bits: usize| (0..dimensions.len()).filter(|at| bits >> at & 1 == 1).collect();
    (0..1 << dimensions.len()).map(subset).collect()
}

/// The conditions of classes of inputs: one for each combination of categories that occurs often enough. The last class has all
/// others.
fn classes(dataset: &Dataset, inputs: &[u32]) -> Vec<Option<Precondition>> {
    let logged = dataset.features.base();
    let category = |slot: usize, input: u32| dataset.table.values(input).category(slot).unwrap_or_default();
    // A category that never changes is no condition.
    let varies =
        |&slot: &usize| inputs.iter().any(|&input| category(slot, input) != category(slot, inputs[0]));
    let varied: Vec<usize> = (0..logged.len()).filter(varies).collect();
    let mut counts: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for &input in inputs {
        *counts.entry(varied.iter().map(|&slot| category(slot, input)).collect()).or_default() += 1;
    }
    let condition = |names: &Vec<&str>| {
        let same = |(&slot, name): (&usize, &&str)| {
            compare(&logged.features()[slot], Comparison::Eq, Expr::Text((*name).to_owned()))
        };
        all_hold(varied.iter().zip(names).map(same), logged)
    };
    let often = counts.iter().filter(|(_, count)| **count >= MIN_CLASS);
    let mut conditions: Vec<_> = often.filter_map(|(names, _)| condition(names)).map(Some).collect();
    if counts.values().all(|count| *count >= MIN_CLASS) {
        conditions.pop();
    }
    conditions.push(None);
    conditions
}
