//! The evidence of a leaf in one line.

use ah_types::{ChoiceId, Leaf};

use crate::lower::LoweredModel;
use crate::printing::text::shown;

/// Returns the evidence for the leaf's choice: the number of inputs, and the choice's time over the
/// winner's and the fallback's.
pub fn evidence(leaf: &Leaf, best: Option<ChoiceId>) -> String {
    let mut text = format!("{} input{}", leaf.samples, if leaf.samples == 1 { "" } else { "s" });
    let ranked = best.map_or(leaf.ranking.first(), |choice| leaf.ranked(choice));
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
pub fn leaf_comment(lowered: &LoweredModel<'_>, leaf: &Leaf, best: Option<ChoiceId>) -> String {
    let decision = match best {
        Some(choice) => shown(lowered.model.choice_name(choice)),
        None => "declines, no choice is allowed".to_owned(),
    };
    format!("{decision}: {}", evidence(leaf, best))
}
