//! The skeletons of files: Tera templates with places for text. They have no logic but "if this part exists".

use std::sync::LazyLock;

use ah_model::math::{LOG2_COEFFICIENTS, LOG2_LARGEST};
use ah_model::{ChoiceId, Device, Error, FeatureKind};
use include_dir::{Dir, File, include_dir};
use serde_json::json;
use tera::{Context, Tera};

use crate::body::Body;
use crate::facts::is_truth;
use crate::language::Language;
use crate::names::Names;
use crate::page::{Lines, about, described, mark, wrapped};
use crate::plan::{Condition, Planned, Ranking};
use crate::target::Request;
use crate::text::shown;

static SKELETONS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

static TERA: LazyLock<Result<Tera, String>> = LazyLock::new(|| {
    let source = |file: &'static File<'_>| {
        let name = file.path().to_str()?.strip_suffix(".tera")?.replace('\\', "/");
        Some((name, file.contents_utf8()?))
    };
    let sources: Vec<(String, &str)> = SKELETONS.dirs().flat_map(Dir::files).filter_map(source).collect();
    let mut tera = Tera::default();
    // The output is not HTML; strings are escaped by the rules of their language.
    tera.autoescape_on(Vec::new());
    tera.add_raw_templates(sources).map_err(|e| format!("{e:?}"))?;
    Ok(tera)
});

/// Builds a model's code in a language: `gives_all` as for [`Request::built`]. Returns what every skeleton may print, and the code.
pub fn values(
    request: &Request<'_>,
    language: &Language,
    gives_all: bool,
) -> Result<(Context, Names, Planned), Error> {
    let model = request.model;
    let names =
        Names::new(model, language.cases, &language.reserved, language.has_fields).map_err(Error::Invalid)?;
    let planned = request.built(language, &names, gives_all);
    let print =
        |body: &Body, level, is_tail| Lines::new(language, model, &names).print(&body.steps, level, is_tail);
    let choice = |id: ChoiceId| (language.choice)(model, &names, id);
    let [before, after] = language.guard;
    let level = if before.is_empty() { 1 } else { 2 };
    let guarded = |body: &Body| match body.reads_input() {
        false => print(body, 1, true),
        true => format!("{before}{}{after}", print(body, level, true)),
    };
    let condition = |Condition { code, choices }: &Condition| {
        (choices.iter().map(|id| choice(*id)).collect::<Vec<_>>(), code.text.clone())
    };
    let entry = |(id, allowed): &(ChoiceId, bool)| (choice(*id), language.truth(*allowed).text);
    let ranking = |ranking: &Ranking| ranking.iter().map(entry).collect::<Vec<_>>();
    let factors = |row: &Vec<f64>| wrapped(row.iter().map(|x| language.float(*x)), "        ");
    let [line, escaped, quoted] = language.documented;
    let input = |slot: &usize| {
        let feature = &model.features.base().features()[*slot];
        let known = model.categories[*slot].first().map_or("", String::as_str);
        let (at, kind, example) = match feature.kind {
            FeatureKind::Numerical if feature.integer => (0, "whole", "1024".to_owned()),
            FeatureKind::Numerical => (1, "number", "1024.0".to_owned()),
            FeatureKind::Categorical if is_truth(model, *slot) => (2, "truth", "false".to_owned()),
            FeatureKind::Categorical => (3, "category", (language.text)(known)),
        };
        let doc = Some(described(model, *slot, &names, language)).filter(|text| !text.is_empty());
        json!({
            "slot": slot, "name": names.feature(*slot), "called": quoted(&feature.name), "doc": doc,
            "type": language.types[at], "kind": kind, "example": example, "is_read": planned.read.contains(slot),
        })
    };
    let variant = |(name, text): (&String, &String)| {
        let is_called = !text.eq_ignore_ascii_case(name);
        json!({ "name": name, "text": (language.text)(text), "called": quoted(text), "is_called": is_called })
    };
    let mut values = Context::from_value(json!({
        "mark": mark(),
        "package": names.package,
        "upper": names.package.to_ascii_uppercase(),
        "license": request.license.map(shown),
        "ranked": request.ranked,
        "tables": planned.tables.is_some(),
        "boosters": planned.is_boosted(),
        "costs": planned.costs.is_some(),
        "factors": planned.factors.iter().map(factors).collect::<Vec<_>>(),
        "helpers": planned.helpers(),
        "log2": wrapped(LOG2_COEFFICIENTS.iter().rev().map(|c| format!("{c:?}")), "    "),
        "log2_largest": format!("{LOG2_LARGEST:?}"),
        "version": env!("CARGO_PKG_VERSION"),
        "about": about(model, planned.is_constant, line),
        "inputs": planned.given.iter().map(input).collect::<Vec<_>>(),
        "given": if planned.given.is_empty() { "" } else { "c" },
        "variants": names.choices.iter().zip(&model.choices).map(variant).collect::<Vec<_>>(),
        "count": model.choices.len(),
        "fallback": model.fallback.map(choice),
        "body": guarded(&planned.body),
        "body_reads": planned.body.reads_input(),
        "leaf": guarded(&planned.leaf),
        "leaf_reads": planned.leaf.reads_input(),
        "rankings": planned.rankings.iter().map(ranking).collect::<Vec<_>>(),
        "condition_steps": print(&planned.before_conditions, level, true),
        "conditions_read": planned.before_conditions.reads_input(),
        "conditions": planned.conditions.iter().map(condition).collect::<Vec<_>>(),
    }))
    .map_err(broken)?;
    if let Some(device) = &model.device {
        let (units, count) = match device {
            Device::Cpu(cpu) => ("cores", cpu.cores),
            Device::Cuda(cuda) => ("multiprocessors", cuda.multiprocessors),
        };
        values.insert("device", &escaped(&device.to_string()));
        values.insert("device_name", &(language.text)(device.name()));
        values.insert("units", units);
        values.insert("units_count", &count);
    }
    if let Some(code) = &planned.costs {
        code.insert(model, language, &names, &mut values);
    }
    if let Some(code) = &planned.tables {
        // These steps decline or go on, in the skeleton's own guard.
        values.insert("body", &print(&planned.body, level, false));
        code.insert(language, &mut values);
    }
    Ok((values, names, planned))
}

/// The error of a skeleton that cannot be rendered.
fn broken(problem: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("a skeleton of ah-codegen does not render; report this: {problem}"))
}

/// Renders a skeleton.
pub fn render(name: &str, values: &Context) -> Result<String, Error> {
    let tera = TERA.as_ref().map_err(broken)?;
    let mut text = tera.render(name, values).map_err(|e| broken(format!("{e:?}")))?;
    // One blank line between parts, whichever of them exist.
    let most = if name.ends_with(".py") { "\n\n\n\n" } else { "\n\n\n" };
    while text.contains(most) {
        text = text.replace(most, &most[1..]);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    Ok(text)
}
