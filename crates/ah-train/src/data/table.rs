//! The table to learn from: rows are inputs, columns are choices, cells hold the median feedback.
//! Most cells may be missing (83 % in PyTorch's `mm` logs), so a row is a short list of cells.
//!
//! Inputs are sorted by their text and samples by their value, so the order of the log's rows does
//! not matter from here on.

use ah_model::hash::fnv1a;
use ah_model::math::{exp, ln};
use ah_model::{ChoiceId, Objective, Value};
use ah_types::log::{Input as LoggedInput, Log, Sample};
use ah_types::random::mix;
use ah_types::{SingleChoice, median};
use serde::Serialize;

use super::impossible;

/// A run breaks the promise only if it takes more than these milliseconds longer than the fallback, beside the limit
/// that is a ratio: no program feels 2 ns, and no clock of ours sees them in one run.
pub const LEAST_MS: f64 = 2e-6;

/// One choice on one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    pub choice: ChoiceId,
    /// Median feedback in milliseconds; infinite if the choice failed.
    pub time: f64,
    /// How far apart two of its measurements are: the geometric mean over all pairs of the greater over the lesser feedback; 1 for
    /// one. The greatest over the least would grow with their number.
    pub repeats_within: f64,
    /// Medians of either half of the measurements; the median itself where there are no two. The best of noisy times is too good: of
    /// choices that are chosen by one half, the other half tells the time.
    pub halves: [f64; 2],
    /// The number of measurements; copies of one measurement count once. 0 for an estimate.
    pub samples: u32,
}

impl Cell {
    /// False for an estimate of a joint model.
    pub fn is_measured(&self) -> bool {
        self.samples > 0
    }
}

/// One input with its measured cells.
#[derive(Clone, Debug)]
pub struct Input {
    /// The features' text as in the log, joined by commas.
    pub text: Box<str>,
    /// The values of the logged features, by slot.
    pub values: Box<[Value]>,
    /// The least median, in milliseconds; infinite if every choice failed.
    pub best: f64,
    /// How much it counts, in learning and in judging.
    pub weight: f64,
    /// Its place among the log's inputs, by first appearance: inputs that were measured one after the other.
    pub position: u32,
    /// The measured cells, by choice.
    cells: Vec<Cell>,
}

/// The greater over the lesser of two times of a choice on an input.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// The pairs of choice and input that were measured more than once.
    pub cells: usize,
    /// The median over these.
    pub median: f64,
    /// The 95th percentile.
    pub p95: f64,
}

/// Inputs × choices.
#[derive(Clone, Debug)]
pub struct Table {
    /// The choices' names, sorted: a [`ChoiceId`] is a position here.
    pub choices: Vec<String>,
    /// Sorted by text.
    pub inputs: Vec<Input>,
    /// The number of cells whose samples are copies of one measurement.
    pub copies: usize,
    /// The unit of the times.
    pub unit: &'static str,
    /// What choices cost.
    pub objective: Objective,
    /// The least best time to learn from; 0 if each counts.
    least_best: f64,
    /// The share of the cells that were measured, where a missing time means that it was not: what decisions lose is then not
    /// known. Otherwise `None`: a choice without a time cannot run.
    pub timed: Option<f64>,
    /// By choice: true if too few inputs of the log measure it to learn it. A corrupt name must not ship.
    rare: Vec<bool>,
}

impl Table {
    /// The medians of a log. Warns about times that cannot be.
    pub fn new(log: Log, warnings: &mut Vec<String>) -> Self {
        // What `ah-collect` measured twice is no copy: a coarse clock repeats itself.
        let may_copy = !log.metadata.is_collected();
        let unit = log.metadata.rates().map_or("ms", |_| "ms for an unknown amount");
        let Log { choices, inputs: logged, mut samples, .. } = log;
        let unmeasured = |(position, logged): (u32, LoggedInput)| {
            let LoggedInput { text, values } = logged;
            Input { text, values, best: f64::INFINITY, weight: 1.0, position, cells: Vec::new() }
        };
        let mut inputs: Vec<Input> = (0..).zip(logged).map(unmeasured).collect();
        inputs.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        let mut rank = vec![0_u32; inputs.len()];
        for (new, input) in (0..).zip(&inputs) {
            rank[input.position as usize] = new;
        }
        samples.iter_mut().for_each(|sample| sample.input = rank[sample.input as usize]);
        samples.sort_unstable_by(|a, b| {
            (a.input, a.choice).cmp(&(b.input, b.choice)).then(a.feedback.total_cmp(&b.feedback))
        });
        let values: Vec<&[Value]> = inputs.iter().map(|input| &*input.values).collect();
        let impossible = impossible::take_out(&mut samples, choices.len(), &values);
        warnings.extend(impossible.sentences(|input| &inputs[input as usize].text, &choices, unit));

        let cells = || samples.chunk_by(|a, b| (a.input, a.choice) == (b.input, b.choice));
        // They are sorted, so equal ends mean that all are equal.
        let is_equal = |cell: &&[Sample]| cell[0].feedback == cell[cell.len() - 1].feedback;
        let repeated = || cells().filter(|cell| cell.len() > 1 && cell[0].feedback.is_finite());
        // Beside repetitions that differ, times of a few digits are equal by chance.
        let differ = 2 * repeated().filter(is_equal).count() <= repeated().count();
        let mut copies = 0;
        for cell in cells() {
            let Sample { input, choice, .. } = cell[0];
            let input = &mut inputs[input as usize];
            let times: Vec<f64> = cell.iter().map(|sample| sample.feedback).collect();
            let time = median(&times).unwrap_or(f64::INFINITY);
            let is_copied =
                may_copy && times.len() > 1 && is_equal(&cell) && (!differ || has_many_digits(time));
            copies += usize::from(is_copied && time.is_finite());
            input.best = input.best.min(time);
            input.cells.push(Cell {
                choice,
                time,
                repeats_within: ratio_of_pairs(&times),
                halves: medians_of_halves(&times, &input.text, &choices[choice.index()]),
                samples: if is_copied { 1 } else { times.len() as u32 },
            });
        }
        inputs.retain(|input| !input.cells.is_empty());
        let mut measured = vec![0; choices.len()];
        for cell in inputs.iter().flat_map(|input| &input.cells) {
            measured[cell.choice.index()] += 1;
        }
        let rare = measured.iter().map(|&count| count < enough(inputs.len())).collect();
        let objective = Objective::default();
        Self { choices, inputs, copies, unit, objective, least_best: 0.0, timed: None, rare }
    }

    /// A table of these inputs alone.
    pub fn part(&self, inputs: &[u32]) -> Self {
        let inputs = inputs.iter().map(|&input| self.inputs[input as usize].clone()).collect();
        Self { choices: self.choices.clone(), inputs, rare: self.rare.clone(), ..*self }
    }

    /// A table of these choices alone, by name, sorted. Slowdowns still compare with the best of all choices.
    pub fn narrowed(&self, choices: &[String]) -> Self {
        let new_ids: Vec<Option<ChoiceId>> =
            self.choices.iter().map(|name| ChoiceId::find(choices, name)).collect();
        let narrow = |cell: &Cell| Some(Cell { choice: new_ids[cell.choice.index()]?, ..*cell });
        let mut table = self.clone();
        for input in &mut table.inputs {
            input.cells = input.cells.iter().filter_map(narrow).collect();
        }
        let rare = self.rare.iter().zip(&new_ids).filter(|(_, id)| id.is_some()).map(|(rare, _)| *rare);
        Self { choices: choices.to_vec(), rare: rare.collect(), ..table }
    }

    /// The table with estimates, by input: (choice, milliseconds) of choices without a cell.
    pub fn with_estimates(&self, estimates: &[Vec<(ChoiceId, f64)>]) -> Self {
        let mut table = self.clone();
        for (input, estimates) in table.inputs.iter_mut().zip(estimates) {
            input.cells.extend(estimates.iter().map(estimate));
            input.cells.sort_unstable_by_key(|cell| cell.choice);
            input.best = input.cells.iter().map(|cell| cell.time).fold(f64::INFINITY, f64::min);
        }
        table
    }

    /// Whether some cells are estimates.
    pub fn has_estimates(&self) -> bool {
        self.inputs.iter().flat_map(|input| &input.cells).any(|cell| !cell.is_measured())
    }

    /// Whether too few inputs of the log measure a choice to learn it. It still counts as a winner
    /// when a heuristic is judged.
    pub fn is_rare(&self, choice: ChoiceId) -> bool {
        self.rare[choice.index()]
    }

    /// The names of the choices that are not learned.
    pub fn rare(&self) -> impl Iterator<Item = &str> {
        self.choices.iter().zip(&self.rare).filter(|(_, rare)| **rare).map(|(name, _)| name.as_str())
    }

    /// The values of the logged features of an input, by slot.
    pub fn values(&self, input: u32) -> &[Value] {
        &self.inputs[input as usize].values
    }

    /// The measured cells of an input, by choice.
    pub fn cells(&self, input: u32) -> &[Cell] {
        &self.inputs[input as usize].cells
    }

    /// How much the repetitions on these inputs differ; `None` without repetitions.
    pub fn spread(&self, inputs: impl Iterator<Item = u32>) -> Option<Spread> {
        let cells = inputs.flat_map(|input| self.cells(input));
        let repeated = cells.filter(|cell| cell.samples > 1 && cell.repeats_within.is_finite());
        let mut spreads: Vec<f64> = repeated.map(|cell| cell.repeats_within).collect();
        spreads.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| spreads.get((spreads.len() as f64 * share) as usize).copied();
        Some(Spread { cells: spreads.len(), median: at(0.5)?, p95: at(0.95)? })
    }

    /// The cell of a choice on an input, where it was measured.
    pub fn cell(&self, input: u32, choice: ChoiceId) -> Option<&Cell> {
        let cells = self.cells(input);
        cells.binary_search_by_key(&choice, |c| c.choice).ok().map(|i| &cells[i])
    }

    /// The cell of a choice on an input, where it gave a time.
    pub fn usable(&self, input: u32, choice: ChoiceId) -> Option<&Cell> {
        self.cell(input, choice).filter(|c| c.time.is_finite())
    }

    /// The id of the choice of this name.
    pub fn choice_id(&self, name: &str) -> Option<ChoiceId> {
        ChoiceId::find(&self.choices, name)
    }

    /// Whether some choice of the input gave a time.
    pub fn is_usable(&self, input: u32) -> bool {
        self.inputs[input as usize].best.is_finite()
    }

    /// Whether a run of this time breaks a promise of this limit beside the fallback's: it takes more than `limit` times as
    /// long, and [`LEAST_MS`] longer.
    pub fn breaks(limit: f64, time: f64, fallback: f64) -> bool {
        time > limit * fallback && time > fallback + LEAST_MS
    }

    /// The time of taking `choice`. Where it has none, that of the fallback. Where this has none either, that of the slowest
    /// choice: nothing better is known there.
    pub fn time(&self, input: u32, choice: ChoiceId, fallback: ChoiceId) -> f64 {
        let cell = self.usable(input, choice).or_else(|| self.usable(input, fallback));
        let times = self.cells(input).iter().map(|cell| cell.time).filter(|time| time.is_finite());
        cell.map_or_else(|| times.fold(self.inputs[input as usize].best, f64::max), |cell| cell.time)
    }

    /// The log slowdown of taking `choice`, by its [`time`](Self::time).
    pub fn loss(&self, input: u32, choice: ChoiceId, fallback: ChoiceId) -> f64 {
        ln(self.time(input, choice, fallback) / self.inputs[input as usize].best)
    }

    /// The objective's cost of taking `choice`, by its [`time`](Self::time).
    pub fn cost(&self, input: u32, choice: ChoiceId, fallback: ChoiceId) -> f64 {
        self.objective.cost(self.time(input, choice, fallback), self.inputs[input as usize].best)
    }

    /// Says what choices cost that are learned.
    pub fn set_objective(&mut self, objective: Objective) {
        let best: Vec<f64> = self.inputs.iter().map(|input| input.best).filter(|x| x.is_finite()).collect();
        let share = if objective == Objective::Total { LEAST_BEST } else { 0.0 };
        (self.objective, self.least_best) = (objective, share * best.iter().sum::<f64>() / best.len() as f64);
    }

    /// The factor by which the best time of an input is raised to learn from. Its costs fall by this factor, and its weight grows by the root.
    pub fn raised(&self, input: u32) -> f64 {
        (self.least_best / self.inputs[input as usize].best).max(1.0)
    }

    /// The objective's cost of a cell; of a choice that failed it may be infinite.
    pub fn cost_of(&self, input: u32, cell: &Cell) -> f64 {
        self.objective.cost(cell.time, self.inputs[input as usize].best)
    }

    /// The cost of a cell to learn from, at most the greatest that counts.
    pub fn learned_cost(&self, input: u32, cell: &Cell) -> f64 {
        self.cost_of(input, cell).min(self.objective.greatest_cost())
    }

    /// The weight of an input's cost.
    pub fn cost_weight(&self, input: u32) -> f64 {
        let input = &self.inputs[input as usize];
        input.weight * self.objective.weight(input.best)
    }

    /// The weight of an input to learn from. For the total time this is the root of its best time: by the time itself a few
    /// inputs decide, and 20 logs of kernels lose 3.7 instead of 1.9 % of the total time of other inputs (six seeds).
    pub fn learned_weight(&self, input: u32) -> f64 {
        let Input { weight, best, .. } = self.inputs[input as usize];
        weight * (self.objective.weight(best) * self.raised(input)).sqrt()
    }

    /// How much each input counts to learn from; without a usable choice the most.
    pub fn learned_weights(&self) -> Vec<f64> {
        let weights: Vec<f64> =
            (0..self.inputs.len() as u32).map(|input| self.learned_weight(input)).collect();
        let most = weights.iter().copied().filter(|weight| weight.is_finite()).fold(0.0, f64::max);
        weights.into_iter().map(|weight| weight.min(most)).collect()
    }

    /// The choice to fall back to on these inputs: the one with the least mean cost when always taken. An input on
    /// which it has no time costs the slowest choice; one on which it failed at least the greatest cost.
    pub fn best_fallback(&self, inputs: &[u32]) -> ChoiceId {
        let mut total = vec![0.0; self.choices.len()];
        for &input in inputs {
            let weight = self.cost_weight(input);
            // Every choice pays what a missing one costs, and those that were measured the difference.
            let missing = self.cost(input, ChoiceId(u32::MAX), ChoiceId(u32::MAX));
            let failed = missing.max(self.objective.greatest_cost());
            for cell in self.cells(input) {
                let cost = self.cost_of(input, cell);
                let cost = if cost.is_finite() { cost } else { failed };
                total[cell.choice.index()] += weight * (cost - missing);
            }
        }
        // A fallback always counts as offered, so choices that run nearly everywhere come first.
        let timed = self.count_timed(inputs);
        let runs_everywhere = |choice: usize| timed[choice] * 100 >= inputs.len() * 99;
        let learned = (0..total.len()).filter(|&choice| !self.rare[choice]);
        let best = learned
            .min_by(|&a, &b| runs_everywhere(b).cmp(&runs_everywhere(a)).then(total[a].total_cmp(&total[b])));
        ChoiceId(best.unwrap_or(0) as u32)
    }

    /// By choice, the number of these inputs that have a time of it.
    pub fn count_timed(&self, inputs: &[u32]) -> Vec<usize> {
        let mut timed = vec![0; self.choices.len()];
        let cells = inputs.iter().flat_map(|&input| self.cells(input)).filter(|cell| cell.time.is_finite());
        cells.for_each(|cell| timed[cell.choice.index()] += 1);
        timed
    }

    /// The best single choice on these inputs.
    pub fn best_single(&self, inputs: &[u32]) -> SingleChoice {
        let times = |&input: &u32| {
            let costs = self.cells(input).iter().map(move |cell| (cell.choice, self.cost_of(input, cell)));
            (self.cost_weight(input), costs.filter(|(_, cost)| cost.is_finite()))
        };
        let single =
            SingleChoice::best(self.choices.len(), &inputs.iter().map(times), |choice| !self.is_rare(choice));
        single.unwrap_or(SingleChoice { first: ChoiceId(0), second: None })
    }
}

/// The least best time to learn the total time from, as a share of the mean. A choice costs at most nine times the best time, which
/// on a short input hides how long a time-out takes: without this, 7 scenarios of ASlib close 41 instead of 53 % of their gap.
const LEAST_BEST: f64 = 1.0 / 16.0;

/// The least share of the inputs.
const ENOUGH_SHARE: f64 = 0.001;
/// The least number of inputs: a single one may be a corrupt row.
const ENOUGH_INPUTS: usize = 2;

/// Whether a time has more digits than a table shows that rounds its times.
fn has_many_digits(time: f64) -> bool {
    format!("{time:e}").find('e').is_some_and(|digits| digits > "1.234".len())
}

/// The number of inputs that a fact about a log needs, out of all its inputs; fewer may be corrupt rows.
pub fn enough(inputs: usize) -> usize {
    ((inputs as f64 * ENOUGH_SHARE).ceil() as usize).max(ENOUGH_INPUTS).min(inputs)
}

/// The cell of an estimated time.
fn estimate(&(choice, time): &(ChoiceId, f64)) -> Cell {
    Cell { choice, time, repeats_within: 1.0, halves: [time; 2], samples: 0 }
}

/// The geometric mean over all pairs of these times, which are sorted, of the greater over the lesser one.
fn ratio_of_pairs(times: &[f64]) -> f64 {
    if times.len() < 2 {
        return 1.0;
    }
    let count = times.len() as f64;
    let pairs = (times.len() * (times.len() - 1) / 2) as f64;
    // A time is the greater one of a pair as often as there are times before it.
    let sum: f64 =
        (0_u32..).zip(times).map(|(before, time)| (f64::from(2 * before + 1) - count) * ln(*time)).sum();
    exp(sum / pairs)
}

/// The medians of both halves of these times, which are sorted, by a draw that does not depend on their order in the log; of
/// fewer than two times the median twice.
fn medians_of_halves(times: &[f64], input: &str, choice: &str) -> [f64; 2] {
    if times.len() < 2 {
        return [median(times).unwrap_or(f64::INFINITY); 2];
    }
    let seed = mix(fnv1a(input), fnv1a(choice));
    let mut drawn: Vec<(u64, f64)> = (0..).zip(times).map(|(at, time)| (mix(seed, at), *time)).collect();
    drawn.sort_unstable_by_key(|(draw, _)| *draw);
    let of = |half: usize| {
        let times = drawn.iter().skip(half).step_by(2).map(|(_, time)| *time);
        median(&times.collect::<Vec<f64>>()).unwrap_or(f64::INFINITY)
    };
    [of(0), of(1)]
}

#[cfg(test)]
mod tests {
    use ah_types::random::fraction;

    use super::*;

    /// The greatest over the least of 10,000 times with 10 % of noise is 2.2, of two 1.1.
    #[test]
    fn more_repetitions_of_the_same_noise_differ_by_as_much() {
        let gauss = |draw: u64| (0..12).map(|at| fraction(3, 12 * draw + at)).sum::<f64>() - 6.0;
        let ratio = |cell: u64, times: u64| {
            let mut times: Vec<f64> = (0..times).map(|at| 1.0 + 0.1 * gauss(cell * times + at)).collect();
            times.sort_unstable_by(f64::total_cmp);
            ratio_of_pairs(&times)
        };
        let mean =
            |times: u64, cells: u64| (0..cells).map(|cell| ratio(cell, times)).sum::<f64>() / cells as f64;
        let [two, three, many] = [mean(2, 400), mean(3, 400), mean(10_000, 4)];
        assert!((1.11..1.14).contains(&two), "{two}");
        assert!((two - three).abs() < 0.015 && (two - many).abs() < 0.015, "{two} {three} {many}");
        assert!(ratio_of_pairs(&[2.0]) == 1.0 && (ratio_of_pairs(&[2.0, 3.0]) - 1.5).abs() < 1e-12);
    }
}
