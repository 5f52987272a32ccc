//! What a training tells its user to do, and the evidence that decides it: the gain on held-out inputs beside always taking one choice,
//! input by input, and the noise of the log.

use ah_model::math::ln;
use ah_model::{Model, Objective};
use ah_types::SingleChoice;
use serde::Serialize;

use super::held_out::TestReport;
use super::losses::Losses;
use crate::bootstrap::{Range, Term, mean, over_times, range, ratio};
use crate::decisions::JudgedInput;
use crate::prepared::Prepared;
use crate::promise::{GOOD_ENOUGH, Rung};

/// The three words of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// The held-out inputs show that the heuristic gains.
    Take,
    /// One choice is as good, or the only one that keeps the promise.
    AlwaysTake,
    /// The log does not show which is better.
    MeasureMore,
}

/// Why a verdict is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The gain is above 1 beyond the noise of the held-out inputs.
    GainIsShown,
    /// The same by the inputs that cross-validation holds out too: few of the others are among those that gain.
    GainIsCrossValidated,
    /// The gain may be none.
    GainIsNotShown {
        /// About as many inputs of a log would show the gain.
        needed: Option<usize>,
        /// The gain that they would show. Without a number, the greatest that it may be.
        gain: f64,
    },
    /// The gain is at most [`GOOD_ENOUGH`], if there is any. A few inputs never show that: they may hold none of those that gain.
    GainIsLittle,
    /// Repetitions of one measurement differ more than what is decided on.
    Noise {
        /// The greater over the lesser of two times of a choice on an input, in the median.
        repetitions: f64,
        /// What always taking the best single choice loses, as a slowdown.
        decided_on: f64,
    },
    /// The log lacks times of the choices, so nobody knows what a decision gains.
    Untimed,
    /// Cross-validation found no heuristic that pays.
    NoHeuristicPays,
    /// It found none, and the inputs are too few for it.
    TooFewInputs {
        /// Inputs that show a crossover of two choices.
        needed: usize,
    },
    /// The inputs are too few for the promise that was asked for.
    TooFewForPromise,
    /// Nothing else keeps the promise.
    PromiseUnkept,
}

/// How many times as fast as always taking one choice, on held-out inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The choice, and a second one for inputs on which the first has no time.
    pub over: Vec<String>,
    /// The gain: the geometric mean over inputs, or that of the total time where the heuristic was learned for it.
    pub times: f64,
    /// Its least value at 95 % confidence.
    pub low: f64,
    /// Its greatest value at 95 % confidence.
    pub high: f64,
    /// The held-out inputs on which both have a time, with those that cross-validation holds out where the others do not decide.
    pub inputs: usize,
}

/// What a training tells its user to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What to do.
    pub advice: Advice,
    /// Why.
    pub reason: Reason,
    /// What to take always where the advice is not to take the heuristic: a choice, and a second one for inputs on which the first has
    /// no time.
    pub choices: Vec<String>,
    /// The gain that decides; `None` where nobody knows it.
    pub gain: Option<Gain>,
}

/// Among fewer inputs, a crossover of two choices often looks like noise (docs/laboratory.md), and no gain on fewer held-out ones is no
/// proof that there is none.
pub const FEW_INPUTS: usize = 40;
/// The quantiles of a gain: each end is a test at 5 %.
const TAILS: [f64; 2] = [0.05, 0.95];
/// No more inputs are asked for than this many times those of the log.
const MOST_MORE: f64 = 50.0;
/// A smaller gain is printed as none.
const LEAST_GAIN: f64 = 1.0005;
/// Where always one choice loses less, nothing is decided that noise could hide.
const NOTHING_DECIDED: f64 = 1.001;

impl Verdict {
    /// Decides about the model that ships. `constant` is the choice that it takes everywhere, if it is only one, and `obstacle` why a
    /// promise that was asked for leaves no other.
    pub fn new(
        prepared: &Prepared,
        model: &Model,
        constant: Option<&str>,
        held_out: &TestReport,
        rung: &Rung,
        obstacle: Option<Reason>,
    ) -> Self {
        let evaluation = &held_out.evaluation;
        let inputs = prepared.learning.usable.len();
        let table = &evaluation.table;
        let comparison = &evaluation.comparison;
        let losses = Losses::of_training(prepared, model);
        let fallback = losses.fallback;
        let gain = |judged: &[JudgedInput], over| Gain::new(prepared, &losses, judged, over);
        let of_fallback = SingleChoice { first: fallback, second: None };
        let always = |advice, reason, single: SingleChoice, gain| {
            let choices = std::iter::once(single.first).chain(single.second);
            Self {
                advice,
                reason,
                choices: choices.map(|c| table.choices[c.index()].clone()).collect(),
                gain,
            }
        };
        if let Some(choice) = constant.and_then(|name| table.choice_id(name)) {
            let taken: Vec<JudgedInput> =
                evaluation.judged.iter().map(|judged| JudgedInput::constant(judged.input, choice)).collect();
            let single = SingleChoice { first: choice, second: None };
            let gain = gain(&taken, of_fallback);
            let is_few = inputs < FEW_INPUTS && rung.slowdown > 1.0 + GOOD_ENOUGH;
            return match (obstacle, &gain) {
                (Some(reason @ Reason::TooFewForPromise), _) => {
                    always(Advice::MeasureMore, reason, single, None)
                }
                (Some(reason), _) => always(Advice::AlwaysTake, reason, single, None),
                // A choice that replaces the program's own must be shown to gain too.
                (None, Some(found)) if choice != fallback && found.low <= 1.0 => {
                    always(Advice::MeasureMore, found.needed(inputs), of_fallback, gain)
                }
                (None, _) if is_few => {
                    always(Advice::MeasureMore, Reason::TooFewInputs { needed: FEW_INPUTS }, single, gain)
                }
                (None, _) => always(Advice::AlwaysTake, Reason::NoHeuristicPays, single, gain),
            };
        }
        let risk = model.promise.as_ref().map_or(1.0, |promise| promise.target);
        let is_safe = comparison.best_single.metrics.over_limit <= risk;
        let rivals = [of_fallback, comparison.single];
        let rivals = rivals.into_iter().take(if is_safe { 2 } else { 1 });
        // `A, else B` is no advice for a program that cannot tell where A runs: the heuristic knows that.
        let names_choices = prepared.plan.call_site.names_choices();
        let can_follow = |single: &SingleChoice| names_choices || single.second.is_none();
        // The rival that does best on these inputs.
        let best_rival = |judged: &[JudgedInput]| {
            let known = rivals.clone().filter_map(|over| Some((over, gain(judged, over)?)));
            let known: Vec<(SingleChoice, Gain)> = known.collect();
            let is_any = known.iter().any(|(single, _)| can_follow(single));
            let known = known.into_iter().filter(|(single, _)| !is_any || can_follow(single));
            known.min_by(|a, b| a.1.times.total_cmp(&b.1.times))
        };
        let is_shown = |found: &Gain| found.low > 1.0 && found.times > LEAST_GAIN;
        let Some((single, found)) = best_rival(&evaluation.judged) else {
            return always(Advice::MeasureMore, Reason::Untimed, of_fallback, None);
        };
        let decided_on = comparison.best_single.metrics.slowdown;
        let spread = table.spread(evaluation.judged.iter().map(|judged| judged.input));
        let repetitions = spread.map_or(1.0, |spread| spread.median);
        let by_folds = if is_shown(&found) { None } else { best_rival(&held_out.evidence) };
        let by_folds = by_folds.filter(|by_folds| is_shown(&by_folds.1) || found.high <= LEAST_GAIN);
        let shown = if by_folds.is_some() { Reason::GainIsCrossValidated } else { Reason::GainIsShown };
        let (single, found) = by_folds.unwrap_or((single, found));
        let (advice, reason) = if decided_on > NOTHING_DECIDED && repetitions > decided_on {
            (Advice::MeasureMore, Reason::Noise { repetitions, decided_on })
        } else if is_shown(&found) {
            (Advice::Take, shown)
        } else if found.high < 1.0 + GOOD_ENOUGH && found.inputs >= FEW_INPUTS {
            (Advice::AlwaysTake, Reason::GainIsLittle)
        } else {
            (Advice::MeasureMore, found.needed(inputs))
        };
        always(advice, reason, single, Some(found))
    }
}

impl Gain {
    /// How many times as fast these decisions are as always taking `over`, by the objective; `None` where nobody knows it.
    ///
    /// The lower end counts a further input, on which the decision loses as much as the others gain or lose in the mean. Of 12 to 40
    /// inputs without a gain, 3 to 5 % then show one, instead of 6 to 8 % of a plain bootstrap; a gain of 1.3 times shows on 16 inputs in
    /// 90 % of the logs, where an input as bad as the worst hides it in a quarter of them.
    fn new(
        prepared: &Prepared,
        losses: &Losses<'_>,
        judged: &[JudgedInput],
        over: SingleChoice,
    ) -> Option<Self> {
        let table = losses.table;
        let taken = |input: u32| over.taken(|choice| table.usable(input, choice).is_some());
        let has_time = |judged: &&JudgedInput| table.usable(judged.input, taken(judged.input)).is_some();
        let comparable: Vec<&JudgedInput> = judged.iter().filter(has_time).collect();
        if comparable.is_empty() || table.timed.is_some() {
            return None;
        }
        let term = |judged: &&JudgedInput| {
            let here = losses.time(judged, losses.taken(judged));
            let there = table.time(judged.input, taken(judged.input), losses.fallback);
            let term = Term::of_times(table.objective, there, here);
            term.weighted(table.inputs[judged.input as usize].weight)
        };
        let terms: Vec<Term> = comparable.iter().map(term).collect();
        let inputs: Vec<u32> = comparable.iter().map(|judged| judged.input).collect();
        let keys = prepared.keys(&inputs);
        let mirrored = |term: &Term| match table.objective {
            Objective::Total => Term { over: term.over.min(term.under), under: term.over.max(term.under) },
            Objective::Geomean => Term { over: -term.over.abs(), under: term.under },
        };
        let further = mean(terms.iter().map(mirrored));
        let Range { low, high } = range(&terms, &keys, TAILS, [Some(further), None]);
        let times = |ratio: f64| over_times(table.objective, ratio);
        Some(Self {
            over: over.names(&table.choices),
            times: times(ratio(&terms)),
            low: times(low),
            high: times(high),
            inputs: inputs.len(),
        })
    }

    /// How many inputs of a log would show this gain, where the log has `inputs`: the range narrows by the root of their number.
    /// Where no gain was found, or one that takes too many inputs, returns how many would show half the greatest that it may be.
    fn needed(&self, inputs: usize) -> Reason {
        let more = |gain: f64| (ln(self.times / self.low) / ln(gain)).powi(2);
        let is_shown_by_few = |gain: &f64| *gain > LEAST_GAIN && more(*gain) < MOST_MORE;
        let half = self.high.max(1.0).sqrt();
        let Some(gain) = [self.times, half].into_iter().find(is_shown_by_few) else {
            return Reason::GainIsNotShown { needed: None, gain: self.high };
        };
        // The inputs of the log do not show it.
        let least = if gain == half { 2.0 } else { 1.0 };
        let needed = (inputs as f64 * more(gain).max(least)).ceil();
        // Two digits.
        let mut digits = std::iter::successors(Some(1.0), |digit| Some(digit * 10.0));
        let digit = digits.find(|digit| needed < digit * 100.0).unwrap_or(1.0);
        Reason::GainIsNotShown { needed: Some(((needed / digit).ceil() * digit) as usize), gain }
    }
}
