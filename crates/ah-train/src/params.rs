//! The parameters of a training: one list of fields for the library, the command line and the table `[training]` of an
//! optimization's file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

#[cfg(feature = "cli")]
use ah_cli::arguments::one_of;
use ah_model::{Objective, Target, named};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

/// The parameters of a training. A setting that is `None` or empty is not given: the next layer's counts.
// On the command line, the doc comments are the help texts. A file gives the settings alone, not what is read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Params {
    /// The logs, plain or gzip, merged in this order.
    #[cfg_attr(feature = "cli", arg(required = true, value_name = "LOG"))]
    #[serde(skip)]
    pub logs: Vec<PathBuf>,
    /// The heuristic's name, which becomes the name of the generated crate.
    // The default is for subcommands, which do without; the flag is required all the same.
    #[cfg_attr(
        feature = "cli",
        arg(long, required = true, default_value = "", hide_default_value = true, value_name = "NAME")
    )]
    #[serde(skip)]
    pub heuristic_name: String,
    /// The languages or programs that ask, for which code is written too; the slowest counts. The time of a decision there is a part of
    /// each pick's time [default: the optimization's, else rust].
    #[cfg_attr(feature = "cli", arg(long = "target", value_name = "TARGET,...", value_delimiter = ',', value_parser = one_of(Target::ROWS.map(|row| (row.name, row.target)))))]
    #[serde(rename = "target")]
    pub targets: Vec<Target>,
    /// The learner: one of our trees, with boosted trees beside it where they pay (`auto`) or never (`cost_tree`),
    /// boosted trees unless only the fallback is taken (`boosted`), or classification by linfa-trees (`linfa`) [default: the
    /// optimization's, else auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "LEARNER", value_parser = one_of(LearnerKind::NAMES)))]
    pub learner: Option<LearnerKind>,
    /// What to learn for: the geometric mean of the slowdowns, where all inputs count alike (`geomean`), or the total time
    /// (`total`) [default: the optimization's, else geomean].
    #[cfg_attr(feature = "cli", arg(long, value_name = "OBJECTIVE", value_parser = one_of(Objective::NAMES)))]
    pub objective: Option<Objective>,
    /// At most D splits on a path [default: 8].
    #[cfg_attr(feature = "cli", arg(long, value_name = "D"))]
    pub max_depth: Option<usize>,
    /// At least N inputs in a leaf; below 1, a share of the training inputs [default: 3, of fewer than 32 inputs 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N|SHARE", allow_negative_numbers = true))]
    pub min_samples_leaf: Option<f64>,
    /// At most N leaves in a tree.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", conflicts_with = "size"))]
    pub max_leaves: Option<usize>,
    /// The size of the model, judged by cross-validation on the training part: one tree, the smallest that
    /// loses at most 0.2 % of the time more than the best tree, unless boosted trees save 0.5 % of the time or half of what it loses (`default`), one tree that loses at most 2 % more
    /// than the best tree (`smallest`), the best (`best`), or the smallest one within another share, such as 0.1%
    /// [default: default].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SIZE"))]
    #[serde(deserialize_with = "share_or_word")]
    pub size: Option<Size>,
    /// The choice that the program takes when the heuristic declines [default: the optimization's].
    #[cfg_attr(feature = "cli", arg(long, value_name = "CHOICE", allow_negative_numbers = true))]
    pub fallback: Option<String>,
    /// Learn without this logged feature; can be given more than once.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FEATURE"))]
    pub exclude: Vec<String>,
    /// Hold out single inputs, or all inputs of the same dimensions together [default: input].
    #[cfg_attr(feature = "cli", arg(long, value_enum))]
    pub test_split: Option<SplitBy>,
    /// The seed of all splits [default: 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub seed: Option<u64>,
    /// Skip malformed rows and count them.
    #[cfg_attr(feature = "cli", arg(long))]
    #[serde(skip)]
    pub skip_bad_rows: bool,
    /// A file with the weights of inputs. Each line holds an input's features joined by commas, a tab, and how often the
    /// input occurs.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
    #[serde(skip)]
    pub weights: Option<PathBuf>,
    /// Keep K choices or more in each leaf, best first, for a program that measures the first K. The
    /// heuristic then never declines.
    #[cfg_attr(feature = "cli", arg(long, value_name = "K"))]
    pub ranking: Option<usize>,
    /// Keep only the N choices that lose least.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub max_choices: Option<usize>,
    /// The share of inputs that may be slower than the fallback by more than --max-slowdown, such as 1% or 0.01, with
    /// 95 % confidence; `none` always decides [default: 1%, or what the inputs can show: 2% or 5%].
    #[cfg_attr(feature = "cli", arg(long, value_name = "P|none"))]
    #[serde(deserialize_with = "share_or_word")]
    pub max_risk: Option<MaxRisk>,
    /// An input counts as slower when it takes more than X times as long as with the fallback [default: 1.05].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_negative_numbers = true))]
    pub max_slowdown: Option<f64>,
    /// What to do where a number that the heuristic reads is more than twice as large as all measured ones, or less than half as
    /// large: the program's fallback (`decline`), or what the nearest measured inputs say (`decide`, which is the default without a fallback
    /// and for a program that measures) [default: decline].
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHAT", value_parser = one_of(Outside::NAMES)))]
    pub outside: Option<Outside>,
    /// The runs that a program does with one answer, where it asks once and keeps it, as an inference engine does while it loads a
    /// model: each run pays that share of the decision [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_negative_numbers = true))]
    pub runs_per_decision: Option<f64>,
    /// The columns that name an entity, such as the file of a measurement: inputs with equal values are one piece of evidence for the
    /// promise, whether the heuristic may ask for the column or not (--exclude). `none`: all inputs are independent.
    /// If it is not given, groups are found in the log.
    #[cfg_attr(feature = "cli", arg(long, value_name = "COLUMN,...|none", value_delimiter = ','))]
    pub group: Vec<String>,
    /// The features that make up an input's shape: inputs that agree in all of them are held out together by
    /// `--test-split dims`. Only a file gives these.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub dimensions: Vec<String>,
    /// The nanoseconds that a program takes to get a feature before it asks, such as `rows=20,entropy=4000`. They replace the
    /// milliseconds of the log and of the table `[feature_ms]` of a file.
    #[cfg_attr(feature = "cli", arg(long = "feature-ns", value_name = "FEATURE=NS,...", value_parser = feature_ns, default_value = "", hide_default_value = true))]
    pub feature_ms: BTreeMap<String, f64>,
    /// An optimization file that replaces the built-in one of the log's name.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE.toml"))]
    #[serde(skip)]
    pub optimization: Option<PathBuf>,
}

/// Reads the nanoseconds of features, as milliseconds.
#[cfg(feature = "cli")]
fn feature_ns(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let read = |part: &str| {
        let (name, ns) = part.rsplit_once('=')?;
        Some((name.to_owned(), ns.parse::<f64>().ok().filter(|ns| *ns >= 0.0 && ns.is_finite())? / 1e6))
    };
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            read(part).ok_or_else(|| format!("{part:?}: expected FEATURE=NS, with 0 or more nanoseconds"))
        })
        .collect()
}

/// The learners by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "String")]
pub enum LearnerKind {
    /// One of our trees over soft targets, with boosted trees beside it where they pay.
    Auto,
    /// One of our trees over soft targets.
    CostTree,
    /// Boosted trees beside one of ours, whatever the size of the log, unless only the fallback is taken: that is one leaf.
    Boosted,
    /// Classification of the winner by linfa-trees.
    Linfa,
}

impl LearnerKind {
    /// All learners by name.
    pub const NAMES: [(&str, Self); 4] = [
        ("auto", Self::Auto),
        ("cost_tree", Self::CostTree),
        ("boosted", Self::Boosted),
        ("linfa", Self::Linfa),
    ];
}

impl TryFrom<String> for LearnerKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        named("a learner", &Self::NAMES, &name)
    }
}

/// A share or a word, as a TOML file has it.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a share or a word")]
enum ShareOrWord {
    Share(f64),
    Word(String),
}

fn share_or_word<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(d: D) -> Result<Option<T>, D::Error> {
    let text = match Option::<ShareOrWord>::deserialize(d)? {
        None => return Ok(None),
        Some(ShareOrWord::Share(share)) => share.to_string(),
        Some(ShareOrWord::Word(word)) => word,
    };
    text.parse().map(Some).map_err(D::Error::custom)
}

/// The share of inputs for which a promise may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MaxRisk {
    /// Always decides and promises nothing.
    None,
    /// This share, above 0 and below 1.
    #[serde(untagged)]
    Share(f64),
}

impl MaxRisk {
    /// The share, if a promise is asked for.
    pub fn share(self) -> Option<f64> {
        match self {
            Self::Share(share) => Some(share),
            Self::None => None,
        }
    }
}

impl FromStr for MaxRisk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            _ => share(text).map(Self::Share).ok_or("expected a share such as 1% or 0.01, or none".into()),
        }
    }
}

/// The size of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// One tree: the smallest that loses at most 2 % more than the best one.
    Smallest,
    /// The smallest tree that loses at most 0.2 % more than the best one and keeps [`Self::KEPT_GAIN`] of its gain over one leaf, unless
    /// boosted trees pay.
    #[default]
    Default,
    /// The best model.
    Best,
    /// The smallest model that loses at most this share of the time more than the best.
    #[serde(untagged)]
    Within(#[serde(serialize_with = "as_text")] f64),
}

impl Size {
    /// The share that a model of the default size keeps of the gain over one leaf. Where always padding loses 1.2 % and the
    /// best size 0.4 %, a tree that loses 0.6 % is a poor bargain, even if 0.2 % is little.
    pub const KEPT_GAIN: f64 = 0.95;

    /// The share of the time that a smaller model may lose more than the best one.
    pub fn tolerance(self) -> f64 {
        match self {
            Self::Smallest => 0.02,
            Self::Default => 0.002,
            Self::Best => 0.0,
            Self::Within(share) => share,
        }
    }

    /// The greatest slowdown of a model of this size, where the best model has the slowdown `best`, and one leaf
    /// `one_leaf`.
    pub fn greatest_slowdown(self, best: f64, one_leaf: f64) -> f64 {
        let within = best * (1.0 + self.tolerance());
        match self {
            Self::Default => within.min(best + (1.0 - Self::KEPT_GAIN) * (one_leaf - best).max(0.0)),
            _ => within,
        }
    }
}

/// A share of the size is text in models, as its words are.
fn as_text<S: Serializer>(share: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(share)
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "smallest" => Ok(Self::Smallest),
            "default" => Ok(Self::Default),
            "best" => Ok(Self::Best),
            _ => share(text)
                .map(Self::Within)
                .ok_or("expected smallest, default, best, or a share such as 0.1% or 0.001".into()),
        }
    }
}

/// What is held out together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    /// Each input alone.
    #[default]
    Input,
    /// All inputs with the same dimensions. Harder: no similar shape remains to learn from.
    Dims,
}

/// What a heuristic does far from all measured inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum Outside {
    /// It declines.
    #[default]
    Decline,
    /// It decides as at the nearest measured inputs.
    Decide,
}

impl Outside {
    /// Both by name.
    pub const NAMES: [(&str, Self); 2] = [("decline", Self::Decline), ("decide", Self::Decide)];
}

impl TryFrom<String> for Outside {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        named("an answer", &Self::NAMES, &name)
    }
}

impl Params {
    /// The defaults for these logs.
    pub fn new(logs: Vec<PathBuf>, heuristic_name: &str) -> Self {
        Self { logs, heuristic_name: heuristic_name.to_owned(), ..Self::default() }
    }
}

/// The number of inputs that a leaf needs: `least`, or this share of `inputs` if it is below 1.
pub fn leaf_size(least: f64, inputs: usize) -> usize {
    if least < 1.0 { (least * inputs as f64).ceil() } else { least }.max(1.0) as usize
}

/// Reads a share from 0 and below 1, such as 0.1% or 0.001.
fn share(text: &str) -> Option<f64> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 0.01));
    number.parse::<f64>().ok().map(|x| x * unit).filter(|x| (0.0..1.0).contains(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_size_loses_little_time_and_little_of_the_gain() {
        let greatest = |size: Size, one_leaf| size.greatest_slowdown(1.004, one_leaf);
        // One leaf loses 20 %: 0.2 % of the time is the narrower bound. It loses 1.4 %: a twentieth of the gain is 0.05 %.
        assert!((greatest(Size::Default, 1.2) - 1.004 * 1.002).abs() < 1e-12);
        assert!((greatest(Size::Default, 1.014) - 1.0045).abs() < 1e-12);
        // Nothing is gained over one leaf, and one leaf was not tried.
        assert_eq!(greatest(Size::Default, 1.003), 1.004);
        assert!((greatest(Size::Default, f64::INFINITY) - 1.004 * 1.002).abs() < 1e-12);
        assert!((greatest(Size::Within(0.01), 1.004) - 1.004 * 1.01).abs() < 1e-12);
        assert_eq!(greatest(Size::Best, 1.2), 1.004);
    }
}
