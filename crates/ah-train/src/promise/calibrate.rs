//! The threshold on the price that keeps the promise: "with this confidence, on inputs drawn like
//! the calibration inputs, at most `target` of them are more than `limit` times slower than the fallback".
//!
//! Fixed-sequence testing (Angelopoulos and others, "Learn then test", 2021): a grid that is
//! fixed beforehand is walked from the safest threshold to the boldest, with an exact binomial test
//! at each step, up to the first failure. On a known truth it breaks its promise in at most
//! 2.8 % of runs at 95 % confidence; picking the threshold that fits empirically does so in up to 51 %.
//!
//! The inputs must not have grown the leaf that judges them:
//!
//! | mode | inputs | target, level | |
//! | --- | --- | --- | --- |
//! | hold-out | held out of the fit, which is kept | a, 0.05 | a theorem |
//! | cross-fitted | 10 folds by input, then a fit on all | a, 0.02 | an estimate: tested, no theorem |
//! | by dimensions | 10 folds by combination of dimensions | a / 2, 0.05 | the same, for new shapes |

use ah_types::ChoiceId;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::data::Columns;
use crate::data::Table;
use crate::data::Targets;
use crate::tree::fitted::{FittedTrees, RankedChoice};

/// The promise holds with this confidence.
pub const CONFIDENCE: f64 = 0.95;

/// How the calibration inputs are kept from the fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromiseMode {
    /// Cross-fitted.
    Auto,
    /// A part that is never fitted on.
    HoldOut,
    /// Folds by input.
    CrossFitted,
    /// Folds by combination of dimensions.
    ByDimensions,
}

impl PromiseMode {
    /// As it stands in the model.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::HoldOut => "hold-out",
            Self::CrossFitted => "cross-fitted",
            Self::ByDimensions => "by dimensions",
        }
    }

    /// The tested share and the level of the test.
    #[must_use]
    pub fn test(self, target: f64) -> (f64, f64) {
        match self {
            Self::Auto | Self::HoldOut => (target, 0.05),
            Self::CrossFitted => (target, 0.02),
            Self::ByDimensions => (target / 2.0, 0.05),
        }
    }

    /// With fewer inputs than this no threshold can pass, not even one without a violation.
    #[must_use]
    pub fn min_inputs(self, target: f64) -> usize {
        let (share, level) = self.test(target);
        (level.ln() / (1.0 - share).ln()).ceil() as usize
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PromiseTerms {
    /// The promised share.
    pub target: f64,
    /// An input counts when its choice takes more than this many times the fallback's time.
    pub limit: f64,
    /// How the inputs are kept from the fit.
    pub mode: PromiseMode,
}

/// What calibration found.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedThreshold {
    /// Choices up to this price (`tree::price`) are allowed; infinite: all, always.
    pub threshold: f64,
    /// Inputs.
    pub inputs: usize,
    /// Of these, those slower than the limit allows.
    pub violations: usize,
    /// Of these, those whose runs are clearly apart: the fallback's slowest × limit is below the
    /// choice's fastest.
    pub clear: usize,
}

/// Prices, from deciding only without any risk to always deciding.
fn grid() -> impl Iterator<Item = f64> {
    let steps = (0..60).map(|i| 1e-3 * 1e6_f64.powf(f64::from(i) / 59.0));
    std::iter::once(0.0).chain(steps).chain([f64::INFINITY])
}

/// At one step of the grid, one input is decided for a choice that breaks the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    step: usize,
    clear: bool,
}

/// What is decided at a threshold: the position in the ranking; `None` is unsure.
#[must_use]
pub fn pick(ranking: &[RankedChoice], fallback: ChoiceId, threshold: f64) -> Option<usize> {
    if threshold == f64::INFINITY {
        return (!ranking.is_empty()).then_some(0);
    }
    for (at, ranked) in ranking.iter().enumerate() {
        if ranked.choice == fallback {
            return (at == 0).then_some(0);
        }
        if ranked.price <= threshold {
            return Some(at);
        }
    }
    None
}

/// Where on the grid the decision for one of these inputs, which `fitted` has not seen, breaks the limit.
#[must_use]
pub fn violations(
    fitted: &FittedTrees,
    columns: &Columns,
    table: &Table,
    targets: &Targets,
    inputs: &[u32],
    fallback: ChoiceId,
    limit: f64,
) -> Vec<Violation> {
    let grid: Vec<f64> = grid().collect();
    let mut found = Vec::new();
    let mut ranking = Vec::new();
    for &input in inputs {
        let Some(base) = table.usable(input as usize, fallback) else { continue };
        fitted.rank(columns, targets, input, &mut ranking);
        // Only some inputs have a choice that breaks the limit at all.
        let breaks =
            |at: usize| table.cell(input as usize, ranking[at].choice).filter(|c| c.is_slower(base, limit));
        if !(0..ranking.len()).any(|at| breaks(at).is_some()) {
            continue;
        }
        for (step, &threshold) in grid.iter().enumerate() {
            if let Some(cell) = pick(&ranking, fallback, threshold).and_then(breaks) {
                found.push(Violation { step, clear: base.interval.1 * limit < cell.interval.0 });
            }
        }
    }
    found
}

/// Walks the grid; `None` where not even the safest threshold passes.
#[must_use]
pub fn walk(violations: &[Violation], inputs: usize, asked: &PromiseTerms) -> Option<CalibratedThreshold> {
    let (share, level) = asked.mode.test(asked.target);
    let binomial = Binomial::new(share, inputs as u64).ok()?;
    let mut last = None;
    for (step, threshold) in grid().enumerate() {
        let here = violations.iter().filter(|v| v.step == step);
        let (count, clear) = here.fold((0, 0), |(n, clear), v| (n + 1, clear + usize::from(v.clear)));
        if binomial.cdf(count as u64) > level {
            break;
        }
        last = Some(CalibratedThreshold { threshold, inputs, violations: count, clear });
    }
    last
}
