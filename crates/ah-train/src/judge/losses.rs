//! What decisions lose by the times of a table, and how far that may be off: because inputs are few, and because times are noisy.

use ah_model::math::ln;
use ah_model::{ChoiceId, Model, Objective};

use crate::bootstrap::{Range, Term, mean, over_times, quantile, ratio};
use crate::data::Table;
use crate::data::table::Cell;
use crate::decisions::JudgedInput;
use crate::prepared::Prepared;

/// What decisions lose by the times of a table.
#[derive(Clone, Copy)]
pub struct Losses<'a> {
    /// The times.
    pub table: &'a Table,
    /// What counts where a choice has no time.
    pub fallback: ChoiceId,
    /// An input is slower than the fallback where it takes more than this many times as long.
    pub max_slowdown: f64,
}

/// The quantiles of a loss.
const TAILS: [f64; 2] = [0.025, 0.975];

impl<'a> Losses<'a> {
    /// By the table that judges a training, for this model.
    pub fn of_training(prepared: &'a Prepared, model: &Model) -> Self {
        let table = &prepared.judging;
        let name = model.fallback.map(|fallback| model.choice_name(fallback));
        let fallback = name.and_then(|name| table.choice_id(name)).unwrap_or(ChoiceId(0));
        Self { table, fallback, max_slowdown: prepared.plan.max_slowdown }
    }

    /// The choice whose time counts.
    pub fn taken(&self, judged: &JudgedInput) -> ChoiceId {
        judged.taken(self.fallback)
    }

    /// The time of taking this choice, with the decision. A declined input pays for it too.
    pub fn time(&self, judged: &JudgedInput, choice: ChoiceId) -> f64 {
        judged.overhead.net(self.table.time(judged.input, choice, self.fallback))
    }

    /// The log slowdown of taking this choice, with the decision.
    pub fn loss(&self, judged: &JudgedInput, choice: ChoiceId) -> f64 {
        ln(self.time(judged, choice) / self.table.inputs[judged.input as usize].best)
    }

    /// The log slowdown of what is taken, with the decision.
    pub fn loss_of_taken(&self, judged: &JudgedInput) -> f64 {
        self.loss(judged, self.taken(judged))
    }

    /// Whether the program is slower than with the fallback by more than the limit, or what is taken failed.
    pub fn is_slower(&self, judged: &JudgedInput) -> bool {
        let taken = self.table.usable(judged.input, self.taken(judged));
        self.table.usable(judged.input, self.fallback).is_some_and(|base| {
            taken.is_none_or(|cell| {
                Table::breaks(self.max_slowdown, judged.overhead.net(cell.time), base.time)
            })
        })
    }

    /// The range of the slowdown of these decisions, by the objective. Its upper end counts an input more, on which the heuristic
    /// errs as much as it or the best single choice errs on one of these, but by the greatest cost at most. Its lower end counts the
    /// least time of an input by halves of the measurements.
    pub fn range(&self, judged: &[JudgedInput], of_single: &[JudgedInput], keys: &[String]) -> Range {
        let terms =
            |by_halves: bool| -> Vec<Term> { judged.iter().map(|j| self.term(j, by_halves)).collect() };
        let measured = terms(false);
        let greatest = self.table.objective.greatest_cost();
        let excess = |term: &Term| if self.is_total() { term.over - term.under } else { term.over };
        let all = measured.iter().copied().chain(of_single.iter().map(|j| self.term(j, false)));
        let most = if self.is_total() { 1.0 + greatest } else { greatest };
        let worst = all.max_by(|a, b| excess(a).total_cmp(&excess(b)));
        let worst = worst.map(|term| Term { over: term.over.min(term.under * most), ..term });
        let low = quantile(&terms(true), keys, TAILS[0], None);
        let high = quantile(&measured, keys, TAILS[1], worst);
        let slowdown = |ratio: f64| over_times(self.table.objective, ratio);
        let known = |end: f64| if self.table.timed.is_some() { f64::NAN } else { slowdown(end).max(1.0) };
        Range { low: known(low).min(slowdown(ratio(&measured))), high: known(high) }
    }

    /// The slowdown by halves of the measurements, by the objective.
    pub fn by_halves(&self, judged: &[JudgedInput]) -> Option<f64> {
        let is_repeated = |j: &JudgedInput| self.table.cells(j.input).iter().any(|cell| cell.samples > 1);
        if self.table.timed.is_some() || !judged.iter().any(is_repeated) {
            return None;
        }
        let terms: Vec<Term> = judged.iter().map(|j| self.term(j, true)).collect();
        Some(over_times(self.table.objective, ratio(&terms)))
    }

    fn is_total(&self) -> bool {
        self.table.objective == Objective::Total
    }

    /// The time of a decision and that of the best choice. By halves, the choice that is the fastest in one half of the
    /// measurements has its time of the other half.
    fn term(&self, judged: &JudgedInput, by_halves: bool) -> Term {
        let table = self.table;
        let input = judged.input;
        let choice = self.taken(judged);
        let measured = || (self.time(judged, choice), table.inputs[input as usize].best);
        let halves: Vec<(f64, f64)> = match table.usable(input, choice).filter(|_| by_halves) {
            Some(taken) => [0, 1].iter().filter_map(|&half| self.crossed(judged, taken, half)).collect(),
            None => Vec::new(),
        };
        let times = if halves.len() == 2 { halves } else { vec![measured()] };
        let terms = times.into_iter().map(|(taken, best)| Term::of_times(table.objective, taken, best));
        mean(terms).weighted(table.inputs[input as usize].weight)
    }

    /// The time of what is taken in a half of the measurements, and in the same half that of the choice which is the fastest in
    /// the other.
    fn crossed(&self, judged: &JudgedInput, taken: &Cell, half: usize) -> Option<(f64, f64)> {
        let cells = self.table.cells(judged.input).iter();
        let winner = cells.min_by(|a, b| a.halves[1 - half].total_cmp(&b.halves[1 - half]))?;
        let times = (judged.overhead.net(taken.halves[half]), winner.halves[half]);
        (times.0.is_finite() && times.1.is_finite()).then_some(times)
    }
}
