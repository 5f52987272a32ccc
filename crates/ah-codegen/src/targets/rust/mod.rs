//! Rust: a crate of its own, without dependencies by default, without std and without `unsafe`.
//!
//! Its layout is that of `templates/rust`; this file says what those templates see.

mod expression;
mod identifiers;
mod leaves;
mod tree;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use ah_types::expr::{LOG2_COEFFICIENTS, LOG2_LARGEST, Type};
use ah_types::model::Promise;
use ah_types::{Device, Feature, FeatureKind, Model};
use serde_json::{Value as Json, json};

use identifiers::Identifiers;

use crate::CodegenError;
use crate::files::Files;
use crate::lower::LoweredModel;
use crate::target::{Surroundings, Target, View};
use crate::text::{code, number, rust_string, sentence, shown};

/// rustfmt breaks longer lines.
const WIDTH: usize = 100;

const COMPARISONS: [(&str, &str); 6] =
    [("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")];

/// A crate without dependencies and without std.
#[derive(Clone, Copy, Debug)]
pub struct Rust;

impl Target for Rust {
    fn name(&self) -> &'static str {
        "rust"
    }

    fn view(
        &self,
        lowered: &LoweredModel<'_>,
        surroundings: &Surroundings<'_>,
    ) -> Result<View, CodegenError> {
        view(lowered, surroundings)
    }

    fn finish(&self, files: &mut Files) {
        skip_long_files(files);
    }
}

fn view(lowered: &LoweredModel<'_>, surroundings: &Surroundings<'_>) -> Result<View, CodegenError> {
    let model = lowered.model;
    let runtime_path = surroundings.runtime_path;
    let mut left_out = Vec::new();
    let identifiers = Identifiers::new(lowered);
    let place = identifiers::krate(&model.heuristic);
    let mut printer = expression::Printer { lowered, identifiers: &identifiers, helpers: BTreeSet::new() };
    let derived = derived(&mut printer);
    let precondition = model.precondition.as_ref().map(|p| {
        let body = printer.truth_body(&p.typed);
        let mut needs_row = false;
        p.typed.for_each_feature(&mut |_| needs_row = true);
        json!({
            "text": code(&p.expression), "string": rust_string(&p.expression), "body": body,
            "long": body.len() + 4 > WIDTH, "needs_row": needs_row,
        })
    });
    let bodies: Vec<&str> = derived
        .iter()
        .filter(|d| d["used"] == true)
        .chain(&precondition)
        .filter_map(|item| item["body"].as_str())
        .collect();
    let names_categories = bodies.iter().any(|body| body.contains("context::"));
    let used = |slot: usize| lowered.used[slot];
    let mut features: Vec<Json> =
        (0..model.features.base().len()).map(|s| feature(lowered, &identifiers, &place, s)).collect();
    if let Some(first) = features.iter_mut().find(|f| f["used"] == true) {
        first["first"] = true.into();
    }
    let categorical: Vec<&Json> = features.iter().filter(|f| f["kind"] == "category").collect();
    // Methods of whole numbers, and the functions that they call beyond 2^53.
    let methods = [
        ("low_bits", "modulo"),
        ("ceil_shifted", "ceil"),
        ("floor_shifted", "floor"),
        ("trailing_zeros", "ctz"),
    ];
    let mut helpers = printer.helpers;
    let is_method = |helper: &str| methods.iter().any(|(method, _)| *method == helper);
    let mut imports: Vec<&str> = helpers.iter().copied().filter(|helper| !is_method(helper)).collect();
    if bodies.iter().any(|body| body.contains("().")) {
        imports.insert(0, "Number");
    }
    let shifted = helpers.iter().any(|&helper| is_method(helper) && helper != "trailing_zeros");
    let whole_operation = helpers.iter().any(|helper| is_method(helper));
    helpers.extend(
        methods
            .iter()
            .filter(|(method, _)| helpers.contains(method))
            .map(|(_, general)| *general)
            .collect::<Vec<_>>(),
    );
    let table = lowered.is_table();
    let any_whole = features.iter().any(|f| f["used"] == true && f["kind"] == "integer");
    if !any_whole && helpers.is_empty() {
        left_out.push("src/number.rs");
    }
    let device = device(model.device.as_ref());
    let values = json!({
        "generator": concat!("ah-codegen ", env!("CARGO_PKG_VERSION")),
        "version": env!("CARGO_PKG_VERSION"),
        "crate": place,
        "features": features,
        "categorical": categorical,
        "any_category_needed": categorical.iter().any(|f| f["tested"] == true),
        "any_used": (0..model.features.base().len()).any(used),
        "any_row": lowered.used.contains(&true) || model.precondition.is_some(),
        "any_number": features.iter().any(|f| f["used"] == true && f["kind"] != "category"),
        "any_category": categorical.iter().any(|f| f["used"] == true),
        "derived_any": derived.iter().any(|d| d["used"] == true),
        "derived_tested": derived.iter().any(|d| d["tested"] == true),
        "derived_numbers": derived.iter().any(|d| d["tested"] == true && d["type"] == "f64"),
        "derived_categories": derived.iter().any(|d| d["tested"] == true && d["type"] != "f64"),
        "comparisons": COMPARISONS.map(|(name, symbol)| json!({ "name": name, "symbol": symbol })),
        "derived": derived,
        "precondition": precondition,
        "tree_names_categories": lowered.tested.iter().zip(&lowered.variants).any(|(tested, v)| *tested && !v.is_empty()) && !table,
        "features_name_categories": names_categories,
        "numbers": any_whole || !helpers.is_empty(),
        "helpers": helpers,
        "imports_long": imports.join(", ").len() > WIDTH - 24,
        "imports": imports,
        "any_whole_operation": whole_operation,
        "any_shifted": shifted,
        "log2": { "coefficients": LOG2_COEFFICIENTS.map(number), "largest": number(LOG2_LARGEST) },
        "choices": model.choices.iter().zip(&identifiers.choices).map(|(name, identifier)| {
            json!({ "identifier": identifier, "text": code(name), "string": rust_string(name) })
        }).collect::<Vec<_>>(),
        "fallback": model.fallback.map(|c| &identifiers.choices[c.index()]),
        "fallback_text": model.fallback.map(|c| code(model.choice_name(c))),
        "codes": lowered.codes,
        "table": table,
        "votes": lowered.votes(),
        "count": lowered.model.trees.len(),
        "most": lowered.most_votes(),
        "any_whole": any_whole,
        "any_whole_tested": features.iter().any(|f| f["tested"] == true && f["kind"] == "integer"),
        "tree": tree::view(lowered, &identifiers),
        "leaves": leaves::view(lowered, &identifiers),
        "all_allowed": lowered.leaves.iter().all(|l| l.ranking.iter().all(|r| r.allowed)),
    });
    let origin = json!({
        "heuristic": code(&model.heuristic),
        "heuristic_text": shown(&model.heuristic),
        "heuristic_string": rust_string(&model.heuristic),
        "optimization": code(&model.optimization),
        "optimization_text": shown(&model.optimization),
        "optimization_string": rust_string(&model.optimization),
        "device": device,
        "device_text": model.device.as_ref().map(|d| shown(&d.to_string())),
        "capability": [model.device_capa.0, model.device_capa.1],
        "shared_memory": model.shared_memory,
        "promise": model.promise.as_ref().map(promise),
        "provenance": provenance(model),
        "runtime_path": runtime_path.map(|path| relative(&surroundings.out.join(&place), path)).transpose()?,
    });
    let context = |values| tera::Context::from_value(values).map_err(|e| CodegenError::template(&e));
    let mut all = context(values)?;
    all.extend(context(origin)?);
    if runtime_path.is_none() {
        left_out.push("src/runtime.rs");
    }
    if derived_is_empty(lowered) {
        left_out.push("src/features.rs");
    }
    Ok(View { place, context: all, left_out, file: None })
}

/// Names may be as long as they like, and rustfmt would break the lines with them: it is told to
/// pass over such files.
fn skip_long_files(files: &mut Files) {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    // It breaks attributes a little earlier.
    let most = |line: &str| if line.trim_start().starts_with("#[") { WIDTH - 5 } else { WIDTH };
    let long = |text: &str| text.lines().filter(code).any(|line| line.chars().count() > most(line));
    let modules: Vec<String> = files
        .iter()
        .filter(|(_, text)| long(text))
        .filter_map(|(path, _)| Some(path.strip_prefix("src/")?.strip_suffix(".rs")?.to_owned()))
        .filter(|module| module != "lib" && !module.contains('/'))
        .collect();
    if let Some(lib) = files.get_mut("src/lib.rs") {
        for module in modules {
            *lib =
                lib.replacen(&format!("\nmod {module};"), &format!("\n#[rustfmt::skip]\nmod {module};"), 1);
        }
    }
}

/// Neither a derived feature nor a precondition: nothing is computed.
fn derived_is_empty(lowered: &LoweredModel<'_>) -> bool {
    lowered.model.precondition.is_none()
        && !lowered.used[lowered.model.features.base().len()..].contains(&true)
}

fn feature(lowered: &LoweredModel<'_>, identifiers: &Identifiers, krate: &str, slot: usize) -> Json {
    let feature: &Feature = &lowered.model.features.base().features()[slot];
    let name = &identifiers.features[slot];
    let mut doc = code(&feature.name);
    let text = |text: &Option<String>| text.as_deref().map(sentence).filter(|s| !s.is_empty());
    if let Some(description) = text(&feature.description) {
        doc.push_str(": ");
        doc.push_str(&description);
    }
    if let Some(unit) = text(&feature.unit) {
        doc.push_str(&format!(" ({unit})"));
    }
    let (kind, ty) = match feature.kind {
        FeatureKind::Numerical if feature.integer => ("integer", "i64"),
        FeatureKind::Numerical => ("number", "f64"),
        FeatureKind::Categorical => ("category", identifiers.enums[slot].as_str()),
    };
    let known = &lowered.model.categories[slot];
    let variants: Vec<Json> = lowered.variants[slot]
        .iter()
        .zip(&identifiers.variants[slot])
        .map(|(text, identifier)| {
            let seen = known.binary_search_by(|k| k.as_str().cmp(text)).is_ok();
            json!({ "identifier": identifier, "text": code(text), "string": rust_string(text),
                    "code": lowered.code(text), "known": seen })
        })
        .collect();
    let of = |text: &str| {
        let i = lowered.variants[slot].binary_search(&text).ok()?;
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
        "used": lowered.used[slot], "tested": lowered.tested[slot],
        "all_known": variants.iter().all(|v| v["known"] == true),
        "any_known": variants.iter().any(|v| v["known"] == true),
        "yes": of("True"), "no": of("False"),
        "variants": variants,
    })
}

fn derived(printer: &mut expression::Printer<'_>) -> Vec<Json> {
    let lowered = printer.lowered;
    let base = lowered.model.features.base().len();
    let mut views = Vec::new();
    for (i, (derived, typed)) in lowered.model.features.derived().iter().enumerate() {
        let slot = base + i;
        let used = lowered.used[slot];
        let helpers = printer.helpers.clone();
        let body = printer.body(typed);
        if !used {
            printer.helpers = helpers;
        }
        let ty = match typed.ty() {
            Type::Number => "f64",
            Type::Bool => "bool",
            Type::Category => "u16",
        };
        let mut needs_row = false;
        typed.for_each_feature(&mut |s| needs_row |= s < base);
        let name = |s: &usize| printer.identifiers.features[*s].as_str();
        let parameters: Vec<Json> = lowered
            .parameters(slot)
            .iter()
            .map(|s| {
                let ty = match lowered.derived_type(*s) {
                    Some(Type::Bool) => "bool",
                    Some(Type::Category) => "u16",
                    _ => "f64",
                };
                json!({ "identifier": name(s), "type": ty })
            })
            .collect();
        let mut signature =
            vec![if needs_row { "row: &impl Row".to_owned() } else { "_row: &impl Row".to_owned() }];
        signature.extend(
            lowered
                .parameters(slot)
                .iter()
                .zip(&parameters)
                .map(|(s, p)| format!("{}: Option<{}>", name(s), p["type"].as_str().unwrap_or_default())),
        );
        let signature = signature.join(", ");
        let head = format!("pub(crate) fn {}({signature}) -> Option<{ty}> {{", name(&slot));
        views.push(json!({
            "slot": slot, "identifier": name(&slot), "used": used, "tested": lowered.tested[slot],
            "string": rust_string(&derived.name), "text": code(&derived.name),
            "expression": code(&derived.expression), "type": ty, "parameters": parameters,
            "signature": signature, "body": body,
            "known": lowered.model.categories[slot].iter().map(|c| lowered.code(c)).collect::<Vec<_>>(),
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
