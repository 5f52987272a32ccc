//! The parameters of a training: one list of fields for the library and for the command line.

use std::ops::Deref;
use std::path::PathBuf;

#[cfg(feature = "cli")]
use ah_cli::arguments::one_of;
use ah_types::{Criterion, LearnerKind, OutsidePolicy};
use serde::{Serialize, Serializer};

use crate::error::TrainError;

/// The parameters of a training. [`check`](Self::check) makes them [`ValidParams`].
///
/// The model's record holds those that shape the result, apart from files and the seed, which it
/// records elsewhere.
// On the command line, the doc comments are the help texts.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Params {
    /// The logs, plain or gzip, merged in this order.
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(required = true, value_name = "LOG"))]
    pub logs: Vec<PathBuf>,
    /// The heuristic's name, which becomes the name of the generated crate.
    #[serde(skip)]
    // The default is for subcommands, which do without; the flag is required all the same.
    #[cfg_attr(
        feature = "cli",
        arg(long, required = true, default_value = "", hide_default_value = true, value_name = "NAME")
    )]
    pub heuristic_name: String,
    /// The learner: our trees with the preset that cross-validation prefers (`auto`) or the default preset (`soft`),
    /// classification by linfa-trees (`linfa`), or our trees over the costs themselves (`regression`) [default: the
    /// optimization's, else auto].
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "LEARNER", value_parser = one_of(LEARNERS))
    )]
    pub learner: Option<LearnerKind>,
    /// The impurity that linfa-trees minimises [default: cross-validation tries both].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "CRITERION", value_parser = one_of(CRITERIA))
    )]
    pub criterion: Option<Criterion>,
    /// At most D splits on a path [default: chosen by cross-validation, at most 8].
    #[cfg_attr(feature = "cli", arg(long, value_name = "D"))]
    pub max_depth: Option<usize>,
    /// At least N inputs in a leaf; below 1, a share of the training inputs [default: chosen by cross-validation].
    #[serde(serialize_with = "whole_or_share")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N|SHARE", allow_negative_numbers = true))]
    pub min_samples_leaf: Option<f64>,
    /// At most N leaves in a tree: the splits that save least are taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", conflicts_with = "within"))]
    pub max_leaves: Option<usize>,
    /// Keep the smallest tree that loses at most this share of the time more than the best tree, judged by
    /// cross-validation on the training part: 0.1% or 0.001.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", value_parser = share))]
    pub within: Option<f64>,
    /// The choice that the program takes when the heuristic declines [default: the optimization's].
    #[cfg_attr(feature = "cli", arg(long, value_name = "CHOICE"))]
    pub fallback: Option<String>,
    /// Learn without this logged feature; can be given more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FEATURE"))]
    pub exclude: Vec<String>,
    /// Hold out single inputs, or all inputs of the same dimensions together, or judge each device as if it had never
    /// been measured.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t = Params::default().test_split))]
    pub test_split: SplitBy,
    /// The seed of all splits.
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Params::default().seed, value_name = "N"))]
    pub seed: u64,
    /// Skip malformed rows and count them.
    #[cfg_attr(feature = "cli", arg(long))]
    pub skip_bad_rows: bool,
    /// Read only the first N rows of each log.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub nrows: Option<u64>,
    /// Logs to learn from that are never held out.
    #[serde(rename = "also_train_weights", serialize_with = "weights")]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub also_train: Vec<FurtherLog>,
    /// Features of the device that inputs get, also if the logs are of one device.
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub device_features: Vec<String>,
    /// How often each input occurs: its features joined by commas, a tab, a number.
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
    pub weights: Option<PathBuf>,
    /// Keep K choices or more in each leaf, best first, for a program that measures the first K. The
    /// heuristic then never declines.
    #[cfg_attr(feature = "cli", arg(long, value_name = "K"))]
    pub ranking: Option<usize>,
    /// Keep only the N choices that lose least.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub max_choices: Option<usize>,
    /// The number of trees that vote, 1 to 3.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = Params::default().trees, value_name = "N"))]
    pub trees: usize,
    /// The share of inputs that may be slower than the fallback by more than --max-slowdown, such as 1% or 0.01, with
    /// 95 % confidence; `none` always decides [default: 1%, or what the inputs can show: 2% or 5%].
    #[serde(serialize_with = "risk")]
    #[cfg_attr(feature = "cli", arg(long, default_value = "usual", hide_default_value = true, value_name = "P|none", value_parser = max_risk))]
    pub max_risk: MaxRisk,
    /// An input counts as slower when it takes more than X times as long as with the fallback.
    #[cfg_attr(
        feature = "cli",
        arg(long, default_value_t = Params::default().max_slowdown, value_name = "X", allow_negative_numbers = true)
    )]
    pub max_slowdown: f64,
    /// How the inputs that calibrate the promise are kept out of the fit.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t = Params::default().promise))]
    pub promise: PromiseMode,
    /// What to do with an input outside the range of its leaf's training inputs: decline, take a choice that the nodes
    /// above the leaf support too (`safe`), or decide as inside [default: safe; decide for a log of fewer than 500
    /// inputs, where nearly every new input is outside].
    #[cfg_attr(feature = "cli", arg(long, value_name = "ANSWER", value_parser = one_of(OUTSIDE)))]
    pub outside: Option<OutsidePolicy>,
    /// An optimization file that replaces the built-in one of the log's name.
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE.toml"))]
    pub optimization: Option<PathBuf>,
    /// Also judge other learners, and learn from fewer inputs, for a report.
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub study: bool,
    /// A training policy that replaces the optimization's: a file, or PyTorch's pytorch_pad_mm, pytorch_mm or
    /// pytorch_mixed_mm.
    #[serde(skip)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME|FILE.toml"))]
    pub policy: Option<PathBuf>,
}

#[cfg(feature = "cli")]
const LEARNERS: [(&str, LearnerKind); 5] = [
    ("auto", LearnerKind::Auto),
    ("soft", LearnerKind::Soft),
    ("boosted", LearnerKind::Boosted),
    ("linfa", LearnerKind::Linfa),
    ("regression", LearnerKind::Regression),
];
#[cfg(feature = "cli")]
const CRITERIA: [(&str, Criterion); 2] = [("gini", Criterion::Gini), ("entropy", Criterion::Entropy)];
#[cfg(feature = "cli")]
const OUTSIDE: [(&str, OutsidePolicy); 3] =
    [("decline", OutsidePolicy::Decline), ("safe", OutsidePolicy::Safe), ("decide", OutsidePolicy::Decide)];

/// The share of inputs for which a promise may be broken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MaxRisk {
    /// 1 %, or with few inputs the [usual share](PromiseMode::usual_share) of the promise's mode.
    #[default]
    Usual,
    /// This share, above 0 and below 1.
    Share(f64),
    /// Always decides and promises nothing.
    None,
}

impl MaxRisk {
    /// Returns the share, if a promise is asked for.
    pub fn share(self) -> Option<f64> {
        match self {
            Self::Usual => Some(0.01),
            Self::Share(share) => Some(share),
            Self::None => None,
        }
    }
}

/// A log to learn from that is never held out.
#[derive(Clone, Debug, PartialEq)]
pub struct FurtherLog {
    /// The file.
    pub path: PathBuf,
    /// How much each of its inputs counts; an input of the main logs counts 1.
    pub weight: f64,
}

/// What is held out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    /// Each input alone.
    Input,
    /// All inputs with the same dimensions. Harder: no similar shape remains to learn from.
    Dims,
    /// The same inputs of all devices together; then each device is also judged as if it had never been measured.
    Device,
}

/// How the inputs that calibrate the promise are kept out of the fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum PromiseMode {
    /// Cross-fitted.
    Auto,
    /// A part of the inputs is never fitted on.
    HoldOut,
    /// Folds by input.
    CrossFitted,
    /// Folds by combination of dimensions.
    ByDimensions,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            logs: Vec::new(),
            heuristic_name: String::new(),
            learner: None,
            criterion: None,
            max_depth: None,
            min_samples_leaf: None,
            max_leaves: None,
            within: None,
            fallback: None,
            exclude: Vec::new(),
            test_split: SplitBy::Input,
            seed: 0,
            skip_bad_rows: false,
            nrows: None,
            also_train: Vec::new(),
            device_features: Vec::new(),
            weights: None,
            ranking: None,
            max_choices: None,
            trees: 1,
            max_risk: MaxRisk::Usual,
            max_slowdown: 1.05,
            promise: PromiseMode::Auto,
            outside: None,
            optimization: None,
            study: false,
            policy: None,
        }
    }
}

/// Checked parameters, read-only.
#[derive(Clone, Debug, Serialize)]
pub struct ValidParams(Params);

impl ValidParams {
    /// Returns the same parameters, for a heuristic that always decides.
    pub fn always_deciding(&self) -> Self {
        Self(Params { max_risk: MaxRisk::None, ..self.0.clone() })
    }

    /// Returns the same parameters with the share that `inputs` calibration inputs can show, unless one was asked for.
    pub fn with_share_for(&self, inputs: usize) -> Self {
        let max_risk = match self.max_risk {
            MaxRisk::Usual => MaxRisk::Share(self.promise.usual_share(inputs)),
            asked => asked,
        };
        Self(Params { max_risk, ..self.0.clone() })
    }
}

impl Deref for ValidParams {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.0
    }
}

impl Params {
    /// Returns the defaults for these logs.
    pub fn new(logs: Vec<PathBuf>, heuristic_name: &str) -> Self {
        Self { logs, heuristic_name: heuristic_name.to_owned(), ..Self::default() }
    }

    /// Checks every field.
    pub fn check(mut self) -> Result<ValidParams, TrainError> {
        self.check_names()?;
        self.check_numbers()?;
        // A program that measures several choices itself needs no promise.
        if self.ranking.is_some() {
            self.max_risk = MaxRisk::None;
        }
        Ok(ValidParams(self))
    }
}

fn weights<S: Serializer>(logs: &[FurtherLog], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(logs.iter().map(|log| log.weight))
}

fn whole_or_share<S: Serializer>(least: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match least {
        Some(x) if *x >= 1.0 => serializer.serialize_u64(*x as u64),
        share => share.serialize(serializer),
    }
}

#[cfg(feature = "cli")]
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 0.01));
    let share = number.parse::<f64>().ok().map(|x| x * unit).filter(|x| (0.0..1.0).contains(x));
    share.ok_or_else(|| "expected a share such as 0.1% or 0.001".to_owned())
}

fn risk<S: Serializer>(risk: &MaxRisk, serializer: S) -> Result<S::Ok, S::Error> {
    risk.share().serialize(serializer)
}

#[cfg(feature = "cli")]
fn max_risk(text: &str) -> Result<MaxRisk, String> {
    match text {
        "usual" => Ok(MaxRisk::Usual),
        "none" => Ok(MaxRisk::None),
        _ => {
            share(text).map(MaxRisk::Share).map_err(|_| "expected a share such as 1% or 0.01, or none".into())
        }
    }
}
