//! Rust: a crate of its own, without dependencies by default, without std and without `unsafe`.
//!
//! Its layout is that of `templates/rust`; this file says what those templates see.

mod expression;
mod leaves;
mod tree;

pub(super) use leaves::comments;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use ah_types::expr::{LOG2_COEFFICIENTS, LOG2_LARGEST, Type};
use ah_types::model::Promise;
use ah_types::{Device, Feature, FeatureKind, Model};
use serde_json::{Value as Json, json};

use super::View;
use crate::CodegenError;
use crate::lower::{Form, Plan, lower};
use crate::names::{Case, Namer, single};
use crate::text::{code, number, rust_string, sentence, shown};

/// rustfmt breaks longer lines.
const WIDTH: usize = 100;

/// Keywords of every edition, and what the templates name themselves.
const RESERVED: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "union", "raw", "safe", "row", "context", "values", "memo", "node", "at",
    "slot", "leaf", "leaves", "features", "known", "needed", "number", "seen", "defined", "divide", "modulo",
    "min", "max", "abs", "floor", "ceil", "log2", "ctz", "same", "eq", "ne", "lt", "le", "gt", "ge",
];
const RESERVED_TYPES: &[&str] = &[
    "Self",
    "Choice",
    "Context",
    "Row",
    "Leaf",
    "Unsure",
    "Device",
    "Promise",
    "UnknownChoice",
    "Heuristic",
    "Option",
    "Some",
    "None",
    "Result",
    "Ok",
    "Err",
    "Other",
    "Memo",
    "Node",
    "Test",
    "Log",
];
const COMPARISONS: [(&str, &str); 6] =
    [("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")];
/// Names that no package may have, beside the keywords.
const RESERVED_CRATES: &[&str] = &[
    "core",
    "std",
    "alloc",
    "test",
    "proc_macro",
    "serde",
    "ah_runtime",
    "ah_types",
    "con",
    "nul",
    "aux",
    "prn",
];

/// The identifiers of a model's things.
pub struct Identifiers {
    /// By slot: fields, locals and functions.
    pub features: Vec<String>,
    /// By logged slot: the types of categorical features.
    pub enums: Vec<String>,
    /// By logged slot: the variants, as in [`Plan::variants`].
    pub variants: Vec<Vec<String>>,
    pub choices: Vec<String>,
}

impl Identifiers {
    fn new(plan: &Plan<'_>) -> Self {
        let mut names = Namer::new(Case::Snake, RESERVED);
        let features = plan.model.features.all().features().iter().map(|f| names.give(&f.name, "feature"));
        let features = features.collect();
        let mut types = Namer::new(Case::Camel, RESERVED_TYPES);
        let base = plan.model.features.base().features();
        let enums = base.iter().map(|f| types.give(&f.name, "Feature")).collect();
        let variants = plan.variants.iter().map(|texts| {
            let mut names = Namer::new(Case::Camel, &["Self", "Other"]);
            texts.iter().map(|text| names.give(text, "Category")).collect()
        });
        let mut choices = Namer::new(Case::Camel, &["Self"]);
        Self {
            features,
            enums,
            variants: variants.collect(),
            choices: plan.model.choices.iter().map(|c| choices.give(c, "Choice")).collect(),
        }
    }

    /// The path of the variant for a category of a logged feature.
    fn variant(&self, plan: &Plan<'_>, slot: usize, category: &str) -> String {
        let variant =
            plan.variants[slot].binary_search(&category).ok().map(|i| self.variants[slot][i].as_str());
        format!("context::{}::{}", self.enums[slot], variant.unwrap_or("Other"))
    }
}

pub(super) fn view(model: &Model, out: &Path, runtime_path: Option<&Path>) -> Result<View, CodegenError> {
    let plan = lower(model);
    let identifiers = Identifiers::new(&plan);
    let reserved: Vec<&str> = RESERVED.iter().chain(RESERVED_CRATES).copied().collect();
    let place = single(&model.heuristic, Case::Snake, "heuristic", &reserved);
    let mut printer =
        expression::Printer { plan: &plan, identifiers: &identifiers, helpers: BTreeSet::new() };
    let derived = derived(&mut printer);
    let precondition = model.precondition.as_ref().map(|p| {
        let body = printer.body(p.typed.expr(), Type::Bool);
        let mut needs_row = false;
        p.typed.expr().for_each_feature(&mut |_| needs_row = true);
        json!({
            "text": code(&p.expression), "string": rust_string(&p.expression), "body": body,
            "long": body.len() + 4 > WIDTH, "needs_row": needs_row,
        })
    });
    let names_categories = derived
        .iter()
        .filter(|d| d["used"] == true)
        .map(|d| &d["body"])
        .chain(precondition.iter().map(|p| &p["body"]))
        .any(|body| body.as_str().is_some_and(|b| b.contains("context::")));
    let used = |slot: usize| plan.used[slot];
    let features: Vec<Json> =
        (0..model.features.base().len()).map(|s| feature(&plan, &identifiers, &place, s)).collect();
    let categorical: Vec<&Json> = features.iter().filter(|f| f["kind"] == "category").collect();
    let helpers = printer.helpers;
    let table = matches!(plan.tree, Form::Table(_));
    let device = device(model.device.as_ref());
    let values = json!({
        "generator": concat!("ah-codegen ", env!("CARGO_PKG_VERSION")),
        "crate": place,
        "heuristic": code(&model.heuristic),
        "heuristic_text": shown(&model.heuristic),
        "heuristic_string": rust_string(&model.heuristic),
        "optimization": code(&model.optimization),
        "optimization_text": shown(&model.optimization),
        "optimization_string": rust_string(&model.optimization),
        "features": features,
        "categorical": categorical,
        "any_category_needed": categorical.iter().any(|f| f["tested"] == true),
        "any_used": (0..model.features.base().len()).any(used),
        "any_row": plan.used.contains(&true) || model.precondition.is_some(),
        "any_number": features.iter().any(|f| f["used"] == true && f["kind"] != "category"),
        "any_category": categorical.iter().any(|f| f["used"] == true),
        "derived_any": derived.iter().any(|d| d["used"] == true),
        "derived_tested": derived.iter().any(|d| d["tested"] == true),
        "derived_numbers": derived.iter().any(|d| d["tested"] == true && d["type"] == "f64"),
        "derived_categories": derived.iter().any(|d| d["tested"] == true && d["type"] != "f64"),
        "comparisons": COMPARISONS.map(|(name, symbol)| json!({ "name": name, "symbol": symbol })),
        "derived": derived,
        "precondition": precondition,
        "tree_names_categories": plan.tested.iter().zip(&plan.variants).any(|(tested, v)| *tested && !v.is_empty()) && !table,
        "features_name_categories": names_categories,
        "helpers": helpers,
        "log2": { "coefficients": LOG2_COEFFICIENTS.map(number), "largest": number(LOG2_LARGEST) },
        "choices": model.choices.iter().zip(&identifiers.choices).map(|(name, identifier)| {
            json!({ "identifier": identifier, "text": code(name), "string": rust_string(name) })
        }).collect::<Vec<_>>(),
        "fallback": model.fallback.map(|c| &identifiers.choices[c.index()]),
        "fallback_text": model.fallback.map(|c| code(model.choice_name(c))),
        "codes": plan.codes,
        "table": table,
        "tree": tree::view(&plan, &identifiers),
        "leaves": leaves::view(&plan, &identifiers),
        "all_allowed": plan.leaves.iter().all(|l| l.ranking.iter().all(|r| r.allowed)),
        "device": device,
        "device_text": model.device.as_ref().map(|d| shown(&d.to_string())),
        "capability": [model.device_capa.0, model.device_capa.1],
        "shared_memory": model.shared_memory,
        "promise": model.promise.as_ref().map(promise),
        "provenance": provenance(model),
        "runtime_path": runtime_path.map(|path| relative(&out.join(&place), path)).transpose()?,
    });
    let context = tera::Context::from_value(values).map_err(|e| CodegenError::template(&e))?;
    let mut left_out = Vec::new();
    if runtime_path.is_none() {
        left_out.push("src/runtime.rs");
    }
    if derived_is_empty(&plan) {
        left_out.push("src/features.rs");
    }
    Ok(View { place, context, left_out, file: None })
}

/// Neither a derived feature nor a precondition: nothing is computed.
fn derived_is_empty(plan: &Plan<'_>) -> bool {
    plan.model.precondition.is_none() && !plan.used[plan.model.features.base().len()..].contains(&true)
}

fn feature(plan: &Plan<'_>, identifiers: &Identifiers, krate: &str, slot: usize) -> Json {
    let feature: &Feature = &plan.model.features.base().features()[slot];
    let name = &identifiers.features[slot];
    let mut doc = code(&feature.name);
    if let Some(description) = &feature.description {
        doc.push_str(": ");
        doc.push_str(&sentence(description));
    }
    if let Some(unit) = &feature.unit {
        doc.push_str(&format!(" ({})", sentence(unit)));
    }
    let (kind, ty) = match feature.kind {
        FeatureKind::Numerical if feature.integer => ("integer", "i64"),
        FeatureKind::Numerical => ("number", "f64"),
        FeatureKind::Categorical => ("category", identifiers.enums[slot].as_str()),
    };
    let known = &plan.model.categories[slot];
    let variants: Vec<Json> = plan.variants[slot]
        .iter()
        .zip(&identifiers.variants[slot])
        .map(|(text, identifier)| {
            let seen = known.binary_search_by(|k| k.as_str().cmp(text)).is_ok();
            json!({ "identifier": identifier, "text": code(text), "string": rust_string(text),
                    "code": plan.code(text), "known": seen })
        })
        .collect();
    let of = |text: &str| {
        let i = plan.variants[slot].binary_search(&text).ok()?;
        Some(&identifiers.variants[slot][i])
    };
    let example = match kind {
        "integer" => "1024".to_owned(),
        "number" => "1024.0".to_owned(),
        _ => {
            format!("{}::{ty}::{}", krate, identifiers.variants[slot].first().map_or("Other", String::as_str))
        }
    };
    json!({
        "example": example,
        "slot": slot, "identifier": name, "name": feature.name, "string": rust_string(&feature.name),
        "text": code(&feature.name), "renamed": *name != feature.name, "doc": doc, "kind": kind, "type": ty,
        "used": plan.used[slot], "tested": plan.tested[slot],
        "all_known": variants.iter().all(|v| v["known"] == true),
        "any_known": variants.iter().any(|v| v["known"] == true),
        "yes": of("True"), "no": of("False"),
        "variants": variants,
    })
}

fn derived(printer: &mut expression::Printer<'_>) -> Vec<Json> {
    let plan = printer.plan;
    let base = plan.model.features.base().len();
    let mut views = Vec::new();
    for (i, (derived, typed)) in plan.model.features.derived().iter().enumerate() {
        let slot = base + i;
        let used = plan.used[slot];
        let helpers = printer.helpers.clone();
        let body = printer.body(typed.expr(), typed.ty());
        if !used {
            printer.helpers = helpers;
        }
        let ty = match typed.ty() {
            Type::Number => "f64",
            Type::Bool => "bool",
            Type::Category => "u16",
        };
        let mut needs_row = false;
        typed.expr().for_each_feature(&mut |&s| needs_row |= s < base);
        let name = |s: &usize| printer.identifiers.features[*s].as_str();
        let parameters: Vec<Json> = plan
            .parameters(slot)
            .iter()
            .map(|s| {
                let ty = match plan.derived_type(*s) {
                    Some(Type::Bool) => "bool",
                    Some(Type::Category) => "u16",
                    _ => "f64",
                };
                json!({ "identifier": name(s), "type": ty })
            })
            .collect();
        let mut signature = vec![if needs_row { "row: &Row".to_owned() } else { "_row: &Row".to_owned() }];
        signature.extend(
            plan.parameters(slot)
                .iter()
                .zip(&parameters)
                .map(|(s, p)| format!("{}: Option<{}>", name(s), p["type"].as_str().unwrap_or_default())),
        );
        let signature = signature.join(", ");
        let head = format!("pub(crate) fn {}({signature}) -> Option<{ty}> {{", name(&slot));
        views.push(json!({
            "slot": slot, "identifier": name(&slot), "used": used, "tested": plan.tested[slot],
            "string": rust_string(&derived.name), "text": code(&derived.name),
            "expression": code(&derived.expression), "type": ty, "parameters": parameters,
            "signature": signature, "body": body,
            "known": plan.model.categories[slot].iter().map(|c| plan.code(c)).collect::<Vec<_>>(),
            "first": views.iter().all(|v: &Json| v["used"] == false),
            "long": head.len() > WIDTH || body.len() + 4 > WIDTH,
        }));
    }
    views
}

fn device(device: Option<&Device>) -> Option<Json> {
    Some(match device? {
        Device::Cpu(cpu) => json!({
            "kind": "cpu", "model": rust_string(&cpu.model), "cores": cpu.cores,
            "instruction_sets": cpu.instruction_sets.iter().map(|s| rust_string(s)).collect::<Vec<_>>(),
        }),
        Device::Cuda(cuda) => json!({
            "kind": "cuda", "name": rust_string(&cuda.name), "multiprocessors": cuda.multiprocessors,
        }),
    })
}

fn promise(promise: &Promise) -> Json {
    json!({
        "target": number(promise.target), "confidence": number(promise.confidence), "limit": number(promise.limit),
        "mode": rust_string(&promise.mode), "mode_text": sentence(&promise.mode), "inputs": promise.inputs,
        "groups": promise.groups, "violations": promise.violations, "threshold": promise.threshold.map(number),
    })
}

fn provenance(model: &Model) -> Json {
    let provenance = &model.provenance;
    let pairs = |map: &serde_json::Map<String, Json>| {
        map.iter().map(|(key, value)| json!([shown(key), shown(&value.to_string())])).collect::<Vec<_>>()
    };
    json!({
        "tool": shown(&provenance.tool),
        "seed": provenance.seed,
        "logs": provenance.logs.iter().map(|log| json!({
            "file": rust_string(&log.file), "file_text": code(&log.file),
            "blake3": rust_string(&log.blake3), "blake3_text": shown(&log.blake3), "rows": log.rows,
        })).collect::<Vec<_>>(),
        "parameters": pairs(&provenance.parameters),
        "metrics": pairs(&provenance.metrics),
    })
}

/// The way from the crate's folder to `path`, so that the crate builds wherever the repository lies.
fn relative(from: &Path, path: &Path) -> Result<String, CodegenError> {
    let io = |path: &Path, source| CodegenError::Io { action: "find", path: path.to_owned(), source };
    let absolute = path.canonicalize().map_err(|e| io(path, e))?;
    // The crate's folder may not exist yet; its nearest ancestor does.
    let from = std::path::absolute(from).map_err(|e| io(from, e))?;
    let existing = from.ancestors().find(|a| a.exists()).unwrap_or(Path::new("/"));
    let rest = from.strip_prefix(existing).unwrap_or(Path::new(""));
    let from = existing.canonicalize().map_err(|e| io(existing, e))?.join(rest);
    let (a, b): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), absolute.components().collect());
    let shared = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let mut way = PathBuf::new();
    way.extend(a[shared..].iter().map(|_| ".."));
    way.extend(&b[shared..]);
    let way = way.to_str().ok_or_else(|| CodegenError::NotUnicode { path: absolute.clone() })?;
    Ok(rust_string(&way.replace('\\', "/")))
}
