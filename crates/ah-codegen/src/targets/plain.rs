//! What the targets of one file, PyTorch and C, print alike: a function for each derived feature,
//! and the trees as chains of tests over values that are computed where they are needed.

use ah_types::expr::{LOG2_COEFFICIENTS, LOG2_LARGEST, Type};
use ah_types::tree::LeafUnsure;
use ah_types::{FeatureKind, Ranked, Test};
use serde_json::{Value as Json, json};

use super::calls::{Called, Words, print, print_truth, variable};
use super::leaf_comment::leaf_comment;
use crate::lower::{Argument, Condition, Event, Form, LoweredModel, Row, votes};
use crate::text::{code, number, shown};

/// How a language writes what its templates do not.
pub struct Language<'a> {
    /// How it writes expressions. Inside one, every feature is a parameter or read from the context.
    pub words: Words<'a>,
    /// By slot.
    pub features: &'a [String],
    /// How a logged feature is read where the tree needs it.
    pub logged: &'a dyn Fn(usize) -> String,
    /// `value <= threshold` for the feature in this slot.
    pub at_most: &'a dyn Fn(usize, f64) -> String,
    /// The category of this name, beside the feature in this slot.
    pub category: &'a dyn Fn(usize, &str) -> String,
    /// A string literal.
    pub string: &'a dyn Fn(&str) -> String,
}

/// What the templates of both targets see.
pub fn view(lowered: &LoweredModel<'_>, language: &Language<'_>) -> serde_json::Map<String, Json> {
    let model = lowered.model;
    let base = model.features.base().len();
    let (words, mut called) = (&language.words, Called::default());
    let mut derived = Vec::new();
    for (i, (d, typed)) in model.features.derived().iter().enumerate() {
        let slot = base + i;
        if lowered.used[slot] {
            let body = print(lowered, words, typed, &mut called);
            derived.push(json!({
                "slot": slot, "identifier": language.features[slot], "text": code(&d.name),
                "expression": code(&d.expression), "body": body, "type": type_name(typed.ty()),
                "tested": lowered.tested[slot], "variables": variables(&called),
                "parameters": lowered.parameters(slot).iter().map(|&s| json!({
                    "identifier": language.features[s], "slot": s,
                    "type": type_name(lowered.derived_type(s).unwrap_or(Type::Number)),
                })).collect::<Vec<_>>(),
                "needs": lowered.needs(slot).iter().map(|&s| json!({
                    "slot": s, "identifier": language.features[s],
                    "parameters": lowered.parameters(s).iter().map(|&p| &language.features[p]).collect::<Vec<_>>(),
                })).collect::<Vec<_>>(),
                "seen": model.categories[slot].iter().map(|c| (words.text)(c)).collect::<Vec<_>>(),
            }));
        }
    }
    let precondition = model.precondition.as_ref().map(|p| {
        let body = print_truth(lowered, words, &p.typed, &mut called);
        json!({ "text": code(&p.expression), "body": body, "variables": variables(&called) })
    });
    let features: Vec<Json> = model
        .features
        .base()
        .features()
        .iter()
        .enumerate()
        .map(|(slot, f)| {
            json!({
                "slot": slot, "identifier": language.features[slot], "string": (language.string)(&f.name),
                "text": code(&f.name), "used": lowered.used[slot], "tested": lowered.tested[slot],
                "kind": match f.kind {
                    FeatureKind::Numerical if f.integer => "integer",
                    FeatureKind::Numerical => "number",
                    FeatureKind::Categorical => "category",
                },
                "doc": f.description.as_deref().map(shown),
                "unit": f.unit.as_deref().map(shown),
                "seen": model.categories[slot].iter().map(|c| (words.text)(c)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let ranked = |r: &Ranked| {
        json!({
            "probability": number(r.probability), "choice": r.choice.index(), "allowed": r.allowed,
            "score": (words.number)(r.score + 0.0),
        })
    };
    let mut end = 0;
    let leaves: Vec<Json> = lowered.leaves.iter().enumerate().map(|(index, leaf)| { end += leaf.ranking.len(); json!({
        "index": index,
        "end": end,
        "best": match (leaf.unsure, leaf.pick(model.fallback, |_| true)) {
            (Some(_), _) => -4,
            (None, None) => -5,
            (None, Some(ranked)) => i64::from(ranked.choice.0),
        },
        "comment": leaf_comment(lowered, leaf),
        "unsure": leaf.unsure.map(|u| match u { LeafUnsure::LowConfidence => "low confidence", LeafUnsure::Unsafe => "unsafe leaf" }),
        "ranking": leaf.ranking.iter().map(ranked).collect::<Vec<_>>(),
        "votes": votes(leaf).map(ranked).collect::<Vec<_>>(),
    })}).collect();
    let value = json!({
        "generator": concat!("ah-codegen ", env!("CARGO_PKG_VERSION")),
        "heuristic": code(&model.heuristic), "heuristic_string": (language.string)(&model.heuristic),
        "optimization": code(&model.optimization), "optimization_string": (language.string)(&model.optimization),
        "features": features, "derived": derived, "precondition": precondition, "called": called.functions,
        "choices": model.choices.iter().map(|c| json!({ "string": (language.string)(c), "text": shown(c) })).collect::<Vec<_>>(),
        "fallback": model.fallback.map(ah_types::ChoiceId::index),
        "device": model.device.as_ref().map(|d| shown(&d.to_string())),
        "capability": [model.device_capa.0, model.device_capa.1],
        "shared_memory": model.shared_memory,
        "log2": { "coefficients": LOG2_COEFFICIENTS.map(number), "largest": number(LOG2_LARGEST) },
        "tool": shown(&model.provenance.tool), "seed": model.provenance.seed,
        "logs": model.provenance.logs.iter().map(|l| json!([shown(&l.file), shown(&l.blake3), l.rows])).collect::<Vec<_>>(),
        "promise": model.promise.as_ref().map(|p| json!({
            "target": number(p.target), "confidence": number(p.confidence), "limit": number(p.limit),
            "mode": shown(&p.mode), "inputs": p.inputs, "violations": p.violations,
        })),
        "leaves": leaves,
        "table": lowered.is_table(),
        "votes": lowered.votes(),
        "count": model.trees.len(),
        "most": lowered.most_votes(),
    });
    let mut map = match value {
        Json::Object(map) => map,
        _ => serde_json::Map::new(),
    };
    match &lowered.trees {
        Form::Branches(trees) => {
            let trees = trees.iter().map(|tree| Json::Array(branches(lowered, language, tree))).collect();
            map.insert("trees".to_owned(), Json::Array(trees));
        }
        Form::Table { rows, roots } => {
            map.insert("rows".to_owned(), rows.iter().map(|row| table_row(row, words)).collect());
            map.insert("roots".to_owned(), json!(roots));
        }
    }
    map
}

fn variables(called: &Called) -> Vec<String> {
    (0..called.variables).map(variable).collect()
}

fn table_row(row: &Row<'_>, words: &Words<'_>) -> Json {
    match row {
        Row::Leaf(index) => json!({ "kind": "leaf", "index": index }),
        Row::Split(Test::Numerical { slot, threshold }, right) => {
            json!({ "kind": "at_most", "slot": slot, "threshold": (words.number)(*threshold), "right": right })
        }
        Row::Split(Test::Categorical { slot, category }, right) => {
            json!({ "kind": "differs", "slot": slot, "category": (words.text)(category), "right": right })
        }
    }
}

fn type_name(ty: Type) -> &'static str {
    match ty {
        Type::Number => "number",
        Type::Bool => "truth",
        Type::Category => "category",
    }
}

fn branches(lowered: &LoweredModel<'_>, language: &Language<'_>, events: &[(usize, Event<'_>)]) -> Vec<Json> {
    let name = |slot: usize| language.features[slot].as_str();
    let call = |arguments: &[Argument]| arguments.iter().map(|a| name(a.slot)).collect::<Vec<_>>();
    events
        .iter()
        .map(|(level, event)| {
            let mut line = match event {
                Event::Compute(slot, arguments) => json!({
                    "kind": "compute", "name": name(*slot), "arguments": call(arguments),
                    "type": type_name(lowered.derived_type(*slot).unwrap_or(Type::Number)),
                }),
                Event::Need(slot, arguments) => {
                    let derived = lowered.derived_type(*slot);
                    let ty = derived.map_or_else(
                        || {
                            if lowered.model.features.base().features()[*slot].kind == FeatureKind::Numerical
                            {
                                "number"
                            } else {
                                "category"
                            }
                        },
                        type_name,
                    );
                    let seen = &lowered.model.categories[*slot];
                    let all = ty == "number"
                        || (ty == "truth"
                            && seen.iter().any(|s| s == "True")
                            && seen.iter().any(|s| s == "False"));
                    json!({
                        "kind": "need", "name": name(*slot), "slot": slot, "type": ty,
                        "arguments": arguments.as_deref().map(call),
                        "logged": derived.is_none().then(|| (language.logged)(*slot)),
                        "whole": lowered.is_whole(*slot),
                        "all_seen": all,
                        "saw_true": seen.iter().any(|s| s == "True"),
                        "saw_false": seen.iter().any(|s| s == "False"),
                        "seen": seen.iter().map(|c| (language.category)(*slot, c)).collect::<Vec<_>>(),
                    })
                }
                Event::If(condition, chained) => {
                    let condition = match condition {
                        Condition::AtMost(slot, threshold) => (language.at_most)(*slot, *threshold),
                        Condition::Is(slot, category) => {
                            format!("{} == {}", name(*slot), (language.category)(*slot, category))
                        }
                        Condition::Holds(slot) => name(*slot).to_owned(),
                    };
                    json!({ "kind": if *chained { "else if" } else { "if" }, "condition": condition })
                }
                Event::Else => json!({ "kind": "else" }),
                Event::End => json!({ "kind": "end" }),
                Event::Leaf(index) => json!({ "kind": "leaf", "index": index }),
            };
            line["indent"] = " ".repeat(4 * level).into();
            line
        })
        .collect()
}
