//! What the leaves say, as the templates see it.

use ah_types::Leaf;
use ah_types::tree::LeafUnsure;
use serde_json::{Value as Json, json};

use super::{Identifiers, WIDTH};
use crate::lower::Plan;
use crate::text::{number, shown};

/// Choices of a leaf that its comment tells of.
const TOLD: usize = 3;

pub(super) fn view(plan: &Plan<'_>, identifiers: &Identifiers) -> Vec<Json> {
    plan.leaves.iter().enumerate().map(|(index, leaf)| one(plan, identifiers, index, leaf)).collect()
}

fn one(plan: &Plan<'_>, identifiers: &Identifiers, index: usize, leaf: &Leaf) -> Json {
    let choice = |i: usize| format!("Choice::{}", identifiers.choices[i]);
    let unsure = leaf.unsure.map(|u| match u {
        LeafUnsure::LowConfidence => "LowConfidence",
        LeafUnsure::Unsafe => "UnsafeLeaf",
    });
    let best = match (unsure, leaf.pick(plan.model.fallback, |_| true)) {
        (Some(reason), _) => format!("Err(Unsure::{reason})"),
        (None, Some(ranked)) => format!("Ok({})", choice(ranked.choice.index())),
        (None, None) => "Err(Unsure::NoneAllowed)".to_owned(),
    };
    let ranking: Vec<String> = leaf
        .ranking
        .iter()
        .map(|r| format!("({}, {})", number(r.probability), choice(r.choice.index())))
        .collect();
    let barred: Vec<String> =
        leaf.ranking.iter().filter(|r| !r.allowed).map(|r| choice(r.choice.index())).collect();
    let votes = crate::targets::votes(leaf).map(|r| {
        json!({ "choice": choice(r.choice.index()), "score": number(r.score + 0.0),
                "probability": number(r.probability), "allowed": r.allowed })
    });
    let ranking_head = format!("static RANKING_{index}: [(f64, Choice); {}] = ", ranking.len());
    let barred_head = format!("static BARRED_{index}: [Choice; {}] = ", barred.len());
    json!({
        "index": index,
        "comment": comments(plan, leaf),
        "best": best,
        "unsure": unsure,
        "votes": votes.collect::<Vec<_>>(),
        "ranking": array(&ranking_head, &ranking),
        "barred": (!barred.is_empty()).then(|| array(&barred_head, &barred)),
    })
}

/// An array as rustfmt prints it: on one line where it fits, else one element a line.
fn array(head: &str, elements: &[String]) -> String {
    let line = format!("{head}[{}];", elements.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    let own_line = format!("    [{}];", elements.join(", "));
    if own_line.len() <= WIDTH {
        return format!("{}\n{own_line}", head.trim_end());
    }
    let mut text = format!("{head}[\n");
    for element in elements {
        text.push_str(&format!("    {element},\n"));
    }
    text.push_str("];");
    text
}

/// Samples, expected and worst slowdown of the best choices.
pub(in crate::targets) fn comments(plan: &Plan<'_>, leaf: &Leaf) -> Vec<String> {
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
    for ranked in leaf.ranking.iter().take(TOLD) {
        let times = |x: f64| if x.is_finite() { format!("{x:.3}") } else { "unknown".to_owned() };
        let over = if ranked.worst_over_fallback.is_finite() {
            format!(", {:.3} of the fallback's time at worst", ranked.worst_over_fallback)
        } else {
            String::new()
        };
        lines.push(format!(
            "{}: slowdown {} expected, {} at worst{over}{}",
            shown(plan.model.choice_name(ranked.choice)),
            times(ranked.slowdown),
            times(ranked.worst),
            if ranked.allowed { "" } else { "; not allowed" },
        ));
    }
    if leaf.ranking.len() > TOLD {
        lines.push(format!("and {} more", leaf.ranking.len() - TOLD));
    }
    lines
}
