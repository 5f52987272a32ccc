//! What the leaves say, as the templates see it.

use ah_types::Leaf;
use ah_types::tree::LeafUnsure;
use serde_json::{Value as Json, json};

use super::{Identifiers, WIDTH};
use crate::lower::{LoweredModel, votes};
use crate::targets::leaf_comment::leaf_comment;
use crate::text::number;

pub(super) fn view(lowered: &LoweredModel<'_>, identifiers: &Identifiers) -> Vec<Json> {
    lowered.leaves.iter().enumerate().map(|(index, leaf)| one(lowered, identifiers, index, leaf)).collect()
}

fn one(lowered: &LoweredModel<'_>, identifiers: &Identifiers, index: usize, leaf: &Leaf) -> Json {
    let choice = |i: usize| format!("Choice::{}", identifiers.choices[i]);
    let unsure = leaf.unsure.map(|u| match u {
        LeafUnsure::LowConfidence => "LowConfidence",
        LeafUnsure::Unsafe => "UnsafeLeaf",
    });
    let best = match (unsure, leaf.pick(lowered.model.fallback, |_| true)) {
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
    let votes = votes(leaf).map(|r| {
        json!({ "choice": choice(r.choice.index()), "score": number(r.score + 0.0),
                "probability": number(r.probability), "allowed": r.allowed })
    });
    let ranking_head = format!("static RANKING_{index}: [(f64, Choice); {}] = ", ranking.len());
    let barred_head = format!("static BARRED_{index}: [Choice; {}] = ", barred.len());
    json!({
        "index": index,
        "comment": leaf_comment(lowered, leaf),
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
