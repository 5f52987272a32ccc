//! What a decision point answers: a choice, or the fallback and why.

use std::fmt;

use crate::heuristic::Unsure;

/// The choice to take now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Its name.
    pub choice: &'a str,
    /// Its position among the choices of the decision point: for dispatching, not for storing.
    pub index: usize,
    /// Why it is the fallback; `None` where a heuristic chose.
    pub fallback: Option<Reason>,
}

impl Answer<'_> {
    /// True where a heuristic chose.
    #[must_use]
    pub fn is_learned(&self) -> bool {
        self.fallback.is_none()
    }
}

/// `pad`, or `orig (fallback: low confidence)`.
impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.choice)?;
        match self.fallback {
            Some(reason) => write!(f, " (fallback: {reason})"),
            None => Ok(()),
        }
    }
}

/// Why the answer is the fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    /// The environment or the program says not to consult.
    #[error("not enabled")]
    NotEnabled,
    /// This run collects: the fallback is returned whatever was measured.
    #[error("collecting")]
    Collecting,
    /// The decision point's own precondition does not hold.
    #[error("the precondition of the decision point does not hold")]
    Precondition,
    /// No heuristic is known for the optimization.
    #[error("no heuristic")]
    NoHeuristic,
    /// There are heuristics, none for this device, these features or these choices;
    /// [`AutoHeuristic::explain`](crate::AutoHeuristic::explain) says what differs.
    #[error("no heuristic passes the guard")]
    Guard,
    /// The heuristic declines.
    #[error("unsure: {0}")]
    Unsure(Unsure),
    /// The heuristic's choices are not available for this input.
    #[error("the choice is not available")]
    NotAvailable,
}
