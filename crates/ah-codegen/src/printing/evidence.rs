//! The evidence of a leaf in one line.

use crate::lower::{LoweredLeaf, LoweredModel, Reason};
use crate::printing::text::shown;

/// Returns the evidence for the leaf's choice: the number of inputs, and the choice's time over the
/// winner's and the fallback's.
pub fn evidence(end: &LoweredLeaf<'_>) -> String {
    let leaf = end.leaf;
    let mut text = format!("{} input{}", leaf.samples, if leaf.samples == 1 { "" } else { "s" });
    let ranked = end.best.map_or(leaf.ranking.first(), |choice| leaf.ranked(choice));
    if let Some(ranked) = ranked.filter(|ranked| ranked.slowdown.is_finite()) {
        text.push_str(&format!(", {:.3} times the best time", ranked.slowdown));
        if ranked.worst.is_finite() {
            text.push_str(&format!(" (worst {:.3})", ranked.worst));
        }
        if ranked.worst_over_fallback.is_finite() {
            text.push_str(&format!(", at most {:.3} times the fallback's", ranked.worst_over_fallback));
        }
    }
    text
}

/// Returns the leaf's choice and the [`evidence`].
pub fn leaf_comment(lowered: &LoweredModel<'_>, end: &LoweredLeaf<'_>) -> String {
    let decision = match (end.declines, end.best) {
        (Some(Reason::LowConfidence), _) => "declines, low confidence".to_owned(),
        (Some(Reason::UnsafeLeaf), _) => "declines, the best choice may be too slow".to_owned(),
        (Some(Reason::Outside), _) => "declines, outside of what was measured".to_owned(),
        (None, Some(choice)) => shown(lowered.model.choice_name(choice)),
        (None, None) => "declines, no choice is allowed".to_owned(),
    };
    format!("{decision}: {}", evidence(end))
}
