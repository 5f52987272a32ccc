//! The cost formula of each choice: a few terms of padded work, fitted to the times. Trees learn what it leaves.
//!
//! A library of terms chosen by cross-validation, terms for each choice, and formulas split by thresholds all overfit
//! (docs/laboratory.md).

use ah_model::math::{exp, ln};
use std::collections::BTreeMap;

use ah_joint::cost_fit;
use ah_model::expr::{Binary, Comparison, Expr, Unary};
use ah_model::{ChoiceId, CostClass, Costs, FeatureKind, Precondition};
use rayon::prelude::*;

use super::alignment::{Alignment, ErrorsOfChoice, rounded};
use super::dimensions::{Dimension, dimensions};
use crate::data::Dataset;

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
    let classes = Classes::new(dataset, &all);
    let costs = Terms::new(dataset, &dimensions, None).costs(&all, &classes)?;
    if !with_alignment {
        return Some(costs);
    }
    let slots = dimensions.iter().map(|dimension| dimension.slot);
    match Alignment::find(dataset, slots, &errors_of_choices(dataset, &costs, &all)) {
        Some(alignment) => Terms::new(dataset, &dimensions, Some(&alignment)).costs(&all, &classes),
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
    for &(choice, error) in &errors {
        let time = table.usable(input, ChoiceId(choice)).map_or(best, |cell| cell.time);
        let weight = exp(steepness * ln(best / time));
        sum += weight * error;
        count += weight;
    }
    let centre = if count > 0.0 { sum / count } else { 0.0 };
    let residual = |(choice, error): (u32, f64)| {
        let residual = (error - centre).clamp(-MOST_RESIDUAL, MOST_RESIDUAL);
        (choice, residual / std::f64::consts::LN_2)
    };
    let failed = table.cells(input).iter().filter(|cell| cell.time.is_infinite());
    let failed = failed.map(|cell| (cell.choice.0, MOST_RESIDUAL / std::f64::consts::LN_2));
    errors.into_iter().map(residual).chain(failed).collect()
}

/// The difference between log time and cost, by timed choice of an input.
fn log_errors(dataset: &Dataset, costs: &Costs, input: u32) -> Vec<(u32, f64)> {
    let cells = dataset.table.cells(input).iter().filter(|cell| cell.time.is_finite() && cell.time > 0.0);
    let error = |(choice, time): (ChoiceId, f64)| {
        let error = ln(time / cost(dataset, costs, input, choice));
        (choice.0, if error.is_nan() { 0.0 } else { error })
    };
    cells.map(|cell| error((cell.choice, cell.time))).collect()
}

/// The log errors by choice, on these inputs.
fn errors_of_choices(dataset: &Dataset, costs: &Costs, inputs: &[u32]) -> Vec<ErrorsOfChoice> {
    let mut errors = vec![Vec::new(); dataset.table.choices.len()];
    for &input in inputs {
        for (choice, error) in log_errors(dataset, costs, input) {
            errors[choice as usize].push((input, error));
        }
    }
    errors
}

/// The cost of a choice on an input; NaN where it has none.
pub fn cost(dataset: &Dataset, costs: &Costs, input: u32, choice: ChoiceId) -> f64 {
    let values = &*dataset.table.inputs[input as usize].values;
    let logged = dataset.features.base().len();
    costs.class(values).map_or(f64::NAN, |class| costs.cost(&class.rows[choice.index()], values, logged))
}

/// The terms of a formula.
struct Terms<'a> {
    dataset: &'a Dataset,
    parameters: Vec<String>,
    /// By choice.
    sizes: Vec<Vec<f64>>,
    expressions: Vec<String>,
    /// The dimensions, and by term the positions of its factors among them.
    dimensions: &'a [Dimension],
    factors: Vec<Vec<usize>>,
    /// Multiplies every term.
    alignment: Option<&'a Alignment>,
}

impl<'a> Terms<'a> {
    fn new(dataset: &'a Dataset, dimensions: &'a [Dimension], alignment: Option<&'a Alignment>) -> Self {
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
        let unaligned = |alignment: &Alignment| free(&format!("{}_unaligned", alignment.feature(dataset)));
        let aligned = alignment.map(|alignment| (unaligned(alignment), &alignment.factors));
        let of_choices: Vec<(String, &Vec<f64>)> = tiled.chain(aligned).collect();
        let sizes =
            (0..dataset.table.choices.len()).map(|at| of_choices.iter().map(|(_, of)| of[at]).collect());
        let padded = |dimension: &Dimension| {
            let x = Expr::Feature(logged.features()[dimension.slot].name.clone());
            let Some((key, _)) = &dimension.tiles else { return x };
            let size = Expr::Feature(free(key));
            let tiles = Expr::binary(Binary::Div, x, size.clone());
            Expr::binary(Binary::Mul, Expr::Unary(Unary::Ceil, Box::new(tiles)), size)
        };
        let factors = factors(dataset, dimensions);
        let product = |factors: &Vec<usize>| {
            let factor = alignment.map(|alignment| alignment.expression(dataset, unaligned(alignment)));
            let product = factor.into_iter().chain(factors.iter().map(|&at| padded(&dimensions[at])));
            product.reduce(|a, b| Expr::binary(Binary::Mul, a, b)).unwrap_or(Expr::Number(1.0)).to_string()
        };
        Self {
            dataset,
            sizes: sizes.collect(),
            parameters: of_choices.into_iter().map(|(name, _)| name).collect(),
            expressions: factors.iter().map(product).collect(),
            dimensions,
            factors,
            alignment,
        }
    }

    /// The values of the terms of a choice on an input.
    fn row(&self, input: u32, choice: ChoiceId) -> Vec<f64> {
        let values = &self.dataset.table.inputs[input as usize].values;
        let padded = |d: &Dimension| {
            let x = values[d.slot].as_scalar().number().unwrap_or(f64::NAN);
            let size = d.tiles.as_ref().map_or(1.0, |(_, sizes)| sizes[choice.index()]);
            (x / size).ceil() * size
        };
        let padded: Vec<f64> = self.dimensions.iter().map(padded).collect();
        let factor = |alignment: &Alignment| alignment.factor(self.dataset, input, choice.index());
        let factor = self.alignment.map_or(1.0, factor);
        let product = |factors: &Vec<usize>| factor * factors.iter().map(|&at| padded[at]).product::<f64>();
        self.factors.iter().map(product).collect()
    }

    /// Fits the coefficients of each class and choice to the times of these inputs.
    fn costs(&self, inputs: &[u32], classes: &Classes) -> Option<Costs> {
        let choices: Vec<ChoiceId> = (0..self.dataset.table.choices.len() as u32).map(ChoiceId).collect();
        let of_all = self.of_all(inputs)?;
        let fit = |inputs: &[u32], choice: ChoiceId| {
            let timed = self.timed(inputs, choice);
            let (rows, times): (Vec<Vec<f64>>, Vec<f64>) = timed.into_iter().unzip();
            (rows.len() >= MIN_TIMES).then(|| cost_fit::fit(&rows, &times)).flatten()
        };
        let everywhere = |&choice: &ChoiceId| {
            fit(inputs, choice).unwrap_or_else(|| {
                let scale = self.scale(inputs, choice, &of_all);
                of_all.iter().map(|x| x * scale).collect()
            })
        };
        let everywhere: Vec<Vec<f64>> = choices.par_iter().map(everywhere).collect();
        let class = |condition: &Option<Precondition>| {
            let own: Vec<u32> = match condition {
                None if classes.conditions.len() == 1 => Vec::new(),
                _ => inputs
                    .iter()
                    .copied()
                    .filter(|&input| classes.has(self.dataset, condition, input))
                    .collect(),
            };
            let row = |&choice: &ChoiceId| {
                let fitted = fit(&own, choice).unwrap_or_else(|| everywhere[choice.index()].clone());
                [&self.sizes[choice.index()][..], &fitted.into_iter().map(rounded).collect::<Vec<f64>>()]
                    .concat()
            };
            CostClass { condition: condition.clone(), rows: choices.iter().map(row).collect() }
        };
        let classes = classes.conditions.iter().map(class).collect();
        let logged = self.dataset.features.base();
        Costs::new(logged, self.parameters.clone(), self.expressions.clone(), classes).ok()
    }

    /// The coefficients for all choices together.
    fn of_all(&self, inputs: &[u32]) -> Option<Vec<f64>> {
        let choices = (0..self.dataset.table.choices.len() as u32).map(ChoiceId);
        let timed = choices.flat_map(|choice| self.timed(inputs, choice));
        let (rows, times): (Vec<Vec<f64>>, Vec<f64>) = timed.unzip();
        cost_fit::fit(&rows, &times)
    }

    /// The median of the times of a choice over these costs; 1 without times.
    fn scale(&self, inputs: &[u32], choice: ChoiceId, coefficients: &[f64]) -> f64 {
        let cost = |row: &Vec<f64>| row.iter().zip(coefficients).map(|(x, c)| x * c).sum::<f64>();
        let mut ratios: Vec<f64> =
            self.timed(inputs, choice).iter().map(|(row, time)| time / cost(row)).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
    }

    /// The terms and the time of each of these inputs that times a choice.
    fn timed(&self, inputs: &[u32], choice: ChoiceId) -> Vec<(Vec<f64>, f64)> {
        let time = |&input: &u32| {
            let cell = self
                .dataset
                .table
                .usable(input, choice)
                .filter(|cell| cell.is_measured() && cell.time > 0.0)?;
            Some((self.row(input, choice), cell.time))
        };
        inputs.iter().filter_map(time).collect()
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

/// Classes of inputs.
struct Classes {
    conditions: Vec<Option<Precondition>>,
}

impl Classes {
    /// A class for each combination of categories that occurs often enough.
    fn new(dataset: &Dataset, inputs: &[u32]) -> Self {
        let table = &dataset.table;
        let logged = dataset.features.base();
        let categories =
            (0..logged.len()).filter(|&at| logged.features()[at].kind == FeatureKind::Categorical);
        let categories: Vec<usize> = categories.collect();
        let feature = |slot: usize| Expr::Feature(logged.features()[slot].name.clone());
        let of = |input: &u32| {
            let values = &table.inputs[*input as usize].values;
            let category = |&slot: &usize| values[slot].as_scalar().category().unwrap_or_default().to_owned();
            categories.iter().map(category).collect::<Vec<String>>()
        };
        let mut counts: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        inputs.iter().for_each(|input| *counts.entry(of(input)).or_default() += 1);
        // A category that never changes is no condition.
        let differs = |at: &usize| {
            counts.keys().any(|key| Some(&key[*at]) != counts.keys().next().map(|first| &first[*at]))
        };
        let varied: Vec<usize> = (0..categories.len()).filter(differs).collect();
        let condition = |names: &Vec<String>| {
            let equal = Binary::Compare(Comparison::Eq);
            let same =
                |&at: &usize| Expr::binary(equal, feature(categories[at]), Expr::Text(names[at].clone()));
            let all = varied.iter().map(same).reduce(|a, b| Expr::binary(Binary::And, a, b))?;
            Precondition::new(all.to_string(), logged).ok()
        };
        let often = counts.iter().filter(|(_, count)| **count >= MIN_CLASS);
        let mut conditions: Vec<Option<Precondition>> =
            often.filter_map(|(key, _)| condition(key)).map(Some).collect();
        // The last class has all others.
        if counts.values().all(|count| *count >= MIN_CLASS) {
            conditions.pop();
        }
        conditions.push(None);
        Self { conditions }
    }

    /// Whether an input is of the class with this condition.
    fn has(&self, dataset: &Dataset, condition: &Option<Precondition>, input: u32) -> bool {
        let values = &*dataset.table.inputs[input as usize].values;
        let holds = |when: &Option<Precondition>| when.as_ref().is_some_and(|when| when.holds(values));
        match condition {
            None => !self.conditions.iter().any(holds),
            when => holds(when),
        }
    }
}
