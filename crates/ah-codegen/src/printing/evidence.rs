//! What training saw in a leaf, in one line.

use ah_types::{Leaf, LeafUnsure};

use crate::lower::LoweredModel;
use crate::printing::text::shown;

/// Returns the evidence for the leaf's choice: its inputs, and the choice's time over the winner's and the
/// fallback's.
pub fn evidence(lowered: &LoweredModel<'_>, leaf: &Leaf) -> String {
    let mut text = format!("{} input{}", leaf.samples, if leaf.samples == 1 { "" } else { "s" });
    let pick = leaf.choose(lowered.model.fallback, false).or(leaf.ranking.first());
    if let Some(ranked) = pick.filter(|ranked| ranked.slowdown.is_finite()) {
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
pub fn leaf_comment(lowered: &LoweredModel<'_>, leaf: &Leaf) -> String {
    let declines = match leaf.unsure {
        None => None,
        Some(LeafUnsure::LowConfidence) => Some("declines, low confidence".to_owned()),
        Some(LeafUnsure::Unsafe) => Some("declines, the best choice may be too slow".to_owned()),
    };
    let pick = || leaf.choose(lowered.model.fallback, false);
    let choice = declines.or_else(|| pick().map(|ranked| shown(lowered.model.choice_name(ranked.choice))));
    format!("{}: {}", choice.as_deref().unwrap_or("declines, no choice is allowed"), evidence(lowered, leaf))
}
