//! The answer of a decision point: a choice, or the fallback and why.

use std::fmt;

use ah_model::Unsure;

/// The choice to take now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer<'a> {
    /// Its name.
    pub choice: &'a str,
    /// Its position among the decision point's choices. For dispatch only: positions may change between builds.
    pub index: usize,
    /// Why the choice is the fallback; `None` if a heuristic chose.
    pub fallback: Option<Reason>,
    /// The feature for which a heuristic declines, if it is one of the decision point's.
    pub(super) feature: Option<&'a str>,
}

impl Answer<'_> {
    /// Whether a heuristic chose.
    #[must_use]
    pub fn is_learned(&self) -> bool {
        self.fallback.is_none()
    }
}

/// `pad`, or `orig (fallback: unsure: the feature "k" is undefined here)`.
impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.choice)?;
        match self.fallback {
            Some(Reason::Unsure(unsure)) => {
                write!(f, " (fallback: unsure: {})", unsure.explain_feature(self.feature))
            }
            Some(reason) => write!(f, " (fallback: {reason})"),
            None => Ok(()),
        }
    }
}

/// Why the answer is the fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The environment or the program turned consulting off.
    #[error("not enabled")]
    NotEnabled,
    /// This run collects, so the answer is always the fallback.
    #[error("collecting")]
    Collecting,
    /// The decision point's own precondition does not hold.
    #[error("the precondition of the decision point does not hold")]
    Precondition,
    /// No heuristic is known for the optimization.
    #[error("no heuristic")]
    NoHeuristic,
    /// There are heuristics, but none for this device, these features and these choices;
    /// [`AutoHeuristic::explain`](crate::AutoHeuristic::explain) names the differences.
    #[error("no heuristic passes the guard")]
    Guard,
    /// The heuristic declines.
    #[error("unsure: {0}")]
    Unsure(Unsure),
    /// None of the heuristic's choices is available for this input.
    #[error("the choice is not available")]
    NotAvailable,
}
