//! Evaluates a heuristic on inputs that it was not learned from: measures every choice there, and compares the
//! heuristic's choice with the winner (the oracle) and with the fallback.

use ah_types::{Context, Model, Outcome, TimingPolicy};

use crate::error::CollectError;
use crate::plan::{EarlierInputs, InputQueue, Shard};
use ah_measure::sampling::Seed;
use ah_measure::{Failure, Measurement, Runner, measure};
use serde::{Serialize, Serializer};
use serde_json::json;

/// One evaluated input. Times are medians in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluatedInput {
    /// The input in a few words.
    pub label: String,
    /// The input.
    #[serde(serialize_with = "features")]
    pub context: Context,
    /// The heuristic's choice; `None` if it was unsure.
    pub chosen: Option<String>,
    /// The heuristic's choice for a program that does not list its choices; `None` if it is unsure.
    pub unlisted: Option<String>,
    /// The time of that choice, or of the fallback if the heuristic is unsure; `None` if the choice has no
    /// time.
    pub unlisted_ms: Option<f64>,
    /// The fastest choice.
    pub winner: String,
    /// Its time.
    pub winner_ms: f64,
    /// The time of the choice that runs: the heuristic's, or the fallback if the heuristic was unsure or
    /// its choice failed.
    pub ms: f64,
    /// The time of the fallback.
    pub fallback_ms: f64,
    /// The fastest choice of the baseline and its time; `None` if none of them could be measured.
    pub baseline: Option<(String, f64)>,
}

impl EvaluatedInput {
    /// `ms` over the winner's time, at least 1.
    pub fn slowdown(&self) -> f64 {
        self.ms / self.winner_ms
    }

    /// Returns the fallback's time over `ms`.
    pub fn speedup(&self) -> f64 {
        self.fallback_ms / self.ms
    }

    /// Returns the baseline's time over `ms`.
    pub fn gain(&self) -> Option<f64> {
        self.baseline.as_ref().map(|(_, ms)| ms / self.ms)
    }
}

/// The choices that a heuristic is compared with.
#[derive(Clone, Debug, Serialize)]
pub struct References {
    /// The choice that runs without a heuristic.
    pub fallback: String,
    /// The choices that a library would take. On each input the fastest of them counts. May be empty.
    pub baseline: Vec<String>,
}

/// The result of [`evaluate`]. All means are geometric.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// The choices that the heuristic was compared with.
    pub references: References,
    /// The mean slowdown against the oracle.
    pub slowdown: f64,
    /// The mean speedup over the fallback.
    #[serde(rename = "speedup_over_fallback")]
    pub speedup: f64,
    /// The mean gain over the baseline; `None` without a baseline.
    #[serde(rename = "gain_over_baseline")]
    pub gain: Option<f64>,
    /// The mean slowdown of the fallback against the oracle.
    pub fallback_slowdown: f64,
    /// The share of inputs on which the heuristic decided.
    pub coverage: f64,
    /// Inputs on which the heuristic is more than 5 % slower than the fallback.
    pub slower_inputs: usize,
    /// The mean slowdown for a program that does not list its choices. A choice without a time costs as much as the
    /// fallback.
    pub unlisted_slowdown: f64,
    /// Inputs on which the heuristic takes a choice without a time, for a program that does not list its choices.
    pub unlisted_untimed: usize,
    /// The inputs, in order.
    pub inputs: Vec<EvaluatedInput>,
    /// Inputs that could not be evaluated, each with its reason.
    pub left_out: Vec<(String, String)>,
}

impl Evaluation {
    fn of(inputs: Vec<EvaluatedInput>, references: References, left_out: Vec<(String, String)>) -> Self {
        let mean = |ratio: fn(&EvaluatedInput) -> f64| geometric_mean(inputs.iter().map(ratio));
        let count = |is_counted: fn(&EvaluatedInput) -> bool| inputs.iter().filter(|i| is_counted(i)).count();
        let gains: Vec<f64> = inputs.iter().filter_map(EvaluatedInput::gain).collect();
        Self {
            slowdown: mean(EvaluatedInput::slowdown),
            speedup: mean(EvaluatedInput::speedup),
            gain: (!gains.is_empty()).then(|| geometric_mean(gains.into_iter())),
            fallback_slowdown: mean(|i| i.fallback_ms / i.winner_ms),
            coverage: count(|i| i.chosen.is_some()) as f64 / inputs.len().max(1) as f64,
            slower_inputs: count(|i| i.ms > 1.05 * i.fallback_ms),
            unlisted_slowdown: mean(|i| i.unlisted_ms.unwrap_or(i.fallback_ms) / i.winner_ms),
            unlisted_untimed: count(|i| i.unlisted_ms.is_none()),
            inputs,
            references,
            left_out,
        }
    }

    /// Returns true if the decisions depend on whether the program lists its choices.
    pub fn is_unlisted_different(&self) -> bool {
        self.inputs.iter().any(|i| i.unlisted != i.chosen || i.unlisted_ms.is_none())
    }
}

/// Measures every choice on each of `inputs` and compares the heuristic's choice with the winner and with the
/// `references`. `decide` is the heuristic: it gets a context and the offered choices (`None`: the program
/// does not list them), and returns one of them, or `None` if it is unsure and the fallback runs. Calls
/// `each` with every evaluated input.
///
/// # Errors
/// The device is lost, or nothing could be evaluated.
pub fn evaluate(
    runner: &mut dyn Runner,
    inputs: impl IntoIterator<Item = (Context, Seed)>,
    policy: &TimingPolicy,
    references: &References,
    mut decide: impl FnMut(&Context, Option<&[&str]>) -> Option<String>,
    mut each: impl FnMut(&EvaluatedInput),
) -> Result<Evaluation, CollectError> {
    let choices = runner.subject().choices.clone();
    let fallback = std::iter::once(("fallback", &references.fallback));
    let named = fallback.chain(references.baseline.iter().map(|choice| ("baseline", choice)));
    if let Some((role, unknown)) = named.into_iter().find(|(_, name)| !choices.contains(name)) {
        return Err(CollectError::Usage(format!(
            "the {role} {unknown:?} is none of the choices here: {}",
            choices.join(", ")
        )));
    }
    let (mut evaluated, mut left_out) = (Vec::new(), Vec::new());
    for (context, seed) in inputs {
        let label = runner.label(&context);
        let measured = measure(runner, &context, seed, policy).map_err(|failure| failure.to_string());
        if let Ok(Measurement { lost: Some(reason), .. }) = &measured {
            return Err(CollectError::Device(format!("the device is lost: {reason}")));
        }
        match measured.and_then(|m| one(label.clone(), context, &choices, &m, references, &mut decide)) {
            Ok(input) => {
                each(&input);
                evaluated.push(input);
            }
            Err(reason) => left_out.push((label, reason)),
        }
    }
    match (evaluated.is_empty(), left_out.first()) {
        (true, Some((label, reason))) => {
            Err(CollectError::TooLittle(format!("no input could be evaluated; the first, {label}: {reason}")))
        }
        (true, None) => Err(CollectError::TooLittle("there is no input to evaluate on".to_owned())),
        (false, _) => Ok(Evaluation::of(evaluated, references.clone(), left_out)),
    }
}

fn one(
    label: String,
    context: Context,
    choices: &[String],
    measurement: &Measurement,
    references: &References,
    decide: &mut impl FnMut(&Context, Option<&[&str]>) -> Option<String>,
) -> Result<EvaluatedInput, String> {
    let time = |name: &str| {
        let position = choices.iter().position(|c| c == name)?;
        measurement.outcomes[position].median().filter(|ms| ms.is_finite())
    };
    let (winner, winner_ms) = measurement.winner().ok_or("no choice could be measured")?;
    let References { fallback, baseline } = references;
    let fallback_ms =
        time(fallback).ok_or_else(|| format!("the fallback {fallback} could not be measured"))?;
    let baseline = baseline
        .iter()
        .filter_map(|name| Some((name.clone(), time(name)?)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b));
    let offered: Vec<&str> = choices
        .iter()
        .zip(&measurement.outcomes)
        .filter(|(_, outcome)| !matches!(outcome, Outcome::Skipped { .. }))
        .map(|(choice, _)| choice.as_str())
        .collect();
    let chosen = decide(&context, Some(&offered));
    let unlisted = decide(&context, None);
    let ms = chosen.as_deref().and_then(time).unwrap_or(fallback_ms);
    let unlisted_ms = unlisted.as_deref().map_or(Some(fallback_ms), time);
    let winner = choices[winner.index()].clone();
    Ok(EvaluatedInput {
        label,
        context,
        chosen,
        unlisted,
        unlisted_ms,
        winner,
        winner_ms,
        ms,
        fallback_ms,
        baseline,
    })
}

/// Returns the first `count` inputs of the sequence of `seed`. They are fresh if the log was collected with
/// another seed.
///
/// # Errors
/// The optimization's features are malformed, or the runner cannot draw.
pub fn fresh(runner: &dyn Runner, seed: u64, count: usize) -> Result<Vec<(Context, Seed)>, CollectError> {
    let schema = runner.subject().optimization.schema()?;
    let mut queue = InputQueue::new(None, seed, Shard::default(), EarlierInputs::default(), schema);
    let next = || queue.next(runner).transpose();
    let inputs = std::iter::from_fn(next).filter(|input| !input.as_ref().is_ok_and(|p| p.flaw.is_some()));
    let inputs = inputs.map(|input| input.map(|p| (p.context, p.seed)));
    let drawn: Result<_, Failure> = inputs.take(count).collect();
    drawn.map_err(|failure| CollectError::Device(format!("no input can be drawn: {}", failure.reason())))
}

/// Returns a model as the `decide` of [`evaluate`].
pub fn decide(model: &Model) -> impl FnMut(&Context, Option<&[&str]>) -> Option<String> {
    |context, offered| {
        let values = model.values(context);
        let decided = match offered {
            Some(offered) => model.decide(&values, |id| offered.contains(&model.choice_name(id))),
            None => model.choose(&values),
        };
        decided.ok().map(|ranked| model.choice_name(ranked.choice).to_owned())
    }
}

fn features<S: Serializer>(context: &Context, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(context.iter().map(|(name, value)| match value {
        ah_types::Value::Number(number) => (name, json!(number)),
        ah_types::Value::Category(category) => (name, json!(**category)),
    }))
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value.ln();
        count += 1;
    }
    (sum / f64::from(count.max(1))).exp()
}
