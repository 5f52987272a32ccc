//! The comment at a leaf: the evidence that training saw there.

use ah_types::Leaf;
use ah_types::tree::LeafUnsure;

use crate::lower::LoweredModel;
use crate::text::shown;

/// The number of choices that a comment describes.
const MOST_CHOICES: usize = 3;

/// Samples, expected and worst slowdown of the best choices.
pub(super) fn leaf_comment(lowered: &LoweredModel<'_>, leaf: &Leaf) -> Vec<String> {
    let mut lines = vec![format!(
        "{} input{}{}",
        leaf.samples,
        if leaf.samples == 1 { "" } else { "s" },
        match leaf.unsure {
            None => "",
            Some(LeafUnsure::LowConfidence) => "; unsure: low confidence",
            Some(LeafUnsure::Unsafe) => "; unsure: the best choice may be too slow",
        }
    )];
    for ranked in leaf.ranking.iter().take(MOST_CHOICES) {
        let times = |x: f64| if x.is_finite() { format!("{x:.3}") } else { "unknown".to_owned() };
        let over = if ranked.worst_over_fallback.is_finite() {
            format!(", {:.3} of the fallback's time at worst", ranked.worst_over_fallback)
        } else {
            String::new()
        };
        lines.push(format!(
            "{}: slowdown {} expected, {} at worst{over}{}",
            shown(lowered.model.choice_name(ranked.choice)),
            times(ranked.slowdown),
            times(ranked.worst),
            if ranked.allowed { "" } else { "; not allowed" },
        ));
    }
    if leaf.ranking.len() > MOST_CHOICES {
        lines.push(format!("and {} more", leaf.ranking.len() - MOST_CHOICES));
    }
    lines
}
