//! Rust: a crate of one file, or that file as a module of a library. It needs no other crate and no std, and allocates nothing.

use std::collections::BTreeMap;
use std::path::Path;

use ah_model::expr::Type;
use ah_model::{Error, FeatureKind, FieldValue, Model, Target, fields};
use serde_json::json;

use crate::code::{Binds, Code, Form};
use crate::costs::CostCode;
use crate::facts::is_truth;
use crate::language::{BASE, Language};
use crate::names::{Case, LONGEST, Namer, RUST_NAMES, RUST_WORDS};
use crate::page::mark;
use crate::skeleton;
use crate::target::{Generator, Output, Request, stem};
use crate::text::{code, markup, rust_string, sentence};

/// A crate without dependencies, or with `--into` a module.
pub const RUST: Generator = Generator { target: Target::Rust, usage, endings: &["rs"], files };

/// How Rust writes code.
static LANGUAGE: Language = Language {
    cases: [Case::Snake, Case::Snake, Case::Camel],
    reserved: [RUST_WORDS, RUST_NAMES],
    types: ["i64", "f64", "bool", "&'a str"],
    documented: [markup, sentence, code],
    floats: ["f64::NAN", "f64::INFINITY", "f64::NEG_INFINITY"],
    conditional: Form("if $0 { $1 } else { $2 }", Binds::Choice, Binds::Choice),
    to_float: Form("$0 as f64", Binds::Cast, Binds::Cast),
    is_nan: [Form("$0.is_nan()", Binds::Atom, Binds::Atom), Form("!$0.is_nan()", Binds::Sign, Binds::Atom)],
    is_in: Some((
        [
            Form("matches!($0, $1)", Binds::Atom, Binds::Choice),
            Form("!matches!($0, $1)", Binds::Sign, Binds::Choice),
        ],
        " | ",
    )),
    between: Some(Form("($0..=$2).contains(&$1)", Binds::Atom, Binds::Sum)),
    own,
    text: rust_string,
    choice: |_, names, id| format!("Choice::{}", names.choices[id.index()]),
    results: ["None", "Some($)", "Some($)"],
    returned: ["return ", ";"],
    has_tail: true,
    assign: |name, ty, value| {
        // Methods need the type, which literals and `if` do not say.
        let is_literal = value.reads.is_empty() || value.text.contains("if ");
        let is_literal = ty == Type::Number && !value.is_integer && is_literal;
        format!("let {name}{} = {};", if is_literal { ": f64" } else { "" }, value.text)
    },
    rows: ["Node(", "ranked_(", "Split(", "(", ")"],
    leaf: "LEAF",
    lanes: |lanes| format!("Row({lanes:?})"),
    ..BASE
};

fn own(function: &str, operands: &[&Code]) -> Option<Code> {
    // A method needs an operand whose type is known.
    let is_typed =
        |a: &Code| !a.reads.is_empty() && (a.is_integer || matches!(a.binds, Binds::Cast | Binds::Atom));
    match (function, operands) {
        ("abs" | "min" | "max", [a, rest @ ..]) if is_typed(a) => {
            let method = format!("{}.{function}", a.at_least(Binds::Atom));
            Some(Code::call(&method, rest).reading(operands))
        }
        ("abs" | "min" | "max", _) => Some(Code::call(&format!("f64::{function}"), operands)),
        _ => None,
    }
}

fn usage(place: &Path, _: &str) -> String {
    let name = stem(place);
    if place.extension().is_some_and(|ending| ending == "rs") {
        return format!("declare it: mod {name}; then ask {name}::choose");
    }
    let place = place.to_string_lossy();
    let quoted = shlex::try_quote(&place).unwrap_or_default();
    format!("add it: cargo add --path {quoted}; then ask {name}::choose")
}

fn files(request: &Request<'_>) -> Result<Output, Error> {
    let model = request.model;
    let (mut values, names, planned) = skeleton::values(request, &LANGUAGE, true)?;
    let has_texts = planned.given.iter().any(|slot| {
        model.features.base().features()[*slot].kind == FeatureKind::Categorical && !is_truth(model, *slot)
    });
    values.insert("lifetime", if has_texts { "<'a>" } else { "" });
    // A function that does not read its input has a parameter without a name.
    let parameter = |reads: bool| match (planned.given.is_empty(), reads) {
        (true, _) => "",
        (_, true) => "c: &Context",
        (_, false) => "_: &Context",
    };
    values.insert("parameter", parameter(planned.factors.is_empty() || planned.loop_reads_input()));
    values.insert("body_parameter", parameter(planned.body.reads_input()));
    values.insert("leaf_parameter", parameter(planned.leaf.reads_input()));
    values.insert("costs_parameter", parameter(planned.costs.as_ref().is_some_and(CostCode::reads_input)));
    values.insert("conditions_parameter", parameter(planned.before_conditions.reads_input()));
    values.insert("is_crate", &request.into.is_none());
    insert_configs(&mut values, model);
    let executor = if planned.tables.is_some() { ah_decide::SOURCE } else { "" };
    if request.into.is_some() {
        values.insert("executor", executor);
        let file = skeleton::render("rust/lib.rs", &values)?;
        return Ok(Output::file(request, "", file, planned.signature(&names)));
    }
    if let Some(runtime) = request.runtime {
        values.insert("runtime", &rust_string(&runtime.to_string_lossy()));
        insert_runtime(&mut values, model);
    }
    let optimization = code(&model.optimization).replace('`', "");
    values.insert("description", &format!("A learned heuristic for {optimization}"));
    let mut files = BTreeMap::new();
    for file in ["src/lib.rs", "Cargo.toml", "README.md"] {
        let skeleton = format!("rust/{}", file.trim_start_matches("src/"));
        files.insert(file.to_owned(), skeleton::render(&skeleton, &values)?);
    }
    let executor = if executor.is_empty() { String::new() } else { format!("// {}\n{executor}", mark()) };
    files.insert("src/decide.rs".to_owned(), executor);
    let place = request.out.join(&names.package);
    let signature = planned.signature(&names);
    Ok(Output { place, signature, files, warning: None })
}

/// A type of fields, and whether it has a value.
type FieldType = (&'static str, fn(&FieldValue) -> bool);

/// The types of fields, the narrowest first; all other fields are texts.
const FIELD_TYPES: [FieldType; 3] = [
    ("i64", |value| matches!(value, FieldValue::Integer(_))),
    ("f64", |value| matches!(value, FieldValue::Integer(_) | FieldValue::Number(_))),
    ("bool", |value| matches!(value, FieldValue::Truth(_))),
];

/// Inserts the fields that the names of choices list; a field of several types is a number or a text.
fn insert_configs(values: &mut tera::Context, model: &Model) {
    let all: Vec<Option<Vec<(String, FieldValue)>>> = model.choices.iter().map(|name| fields(name)).collect();
    let mut keys: Vec<&String> = Vec::new();
    for (key, _) in all.iter().flatten().flatten() {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut namer = Namer::new(Case::Snake, &[RUST_WORDS]);
    let wrapped = |text: String, is_optional| if is_optional { format!("Some({text})") } else { text };
    let mut shown = Vec::new();
    let mut configs = vec![Vec::new(); all.len()];
    for key in keys {
        let of = |all: &Option<Vec<(String, FieldValue)>>| {
            all.as_ref()?.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone())
        };
        let values: Vec<Option<FieldValue>> = all.iter().map(of).collect();
        let are_of = |(_, is_of): &&FieldType| values.iter().flatten().all(is_of);
        let ty = FIELD_TYPES.iter().find(are_of).map_or("&'static str", |(ty, _)| ty);
        let is_optional = all.iter().zip(&values).any(|(all, value)| all.is_some() && value.is_none());
        let ident = namer.give(key, "field", LONGEST);
        for (config, value) in configs.iter_mut().zip(values) {
            let value = value.map(|value| match (ty, value) {
                ("f64", FieldValue::Integer(x)) => format!("{:?}", x as f64),
                ("&'static str", value) => rust_string(&value.to_string()),
                (_, value) => value.to_string().to_lowercase(),
            });
            config.extend(value.map(|value| format!("{ident}: {}", wrapped(value, is_optional))));
        }
        let ty = if is_optional { format!("Option<{ty}>") } else { ty.to_owned() };
        shown.push(json!({ "name": ident, "called": code(key), "type": ty }));
    }
    let is_complete = all.iter().all(Option::is_some);
    let config = |config: &Vec<String>| match config[..] {
        [] => "None".to_owned(),
        _ => {
            let rest = if config.len() < shown.len() { ", ..Config::default()" } else { "" };
            wrapped(format!("Config {{ {}{rest} }}", config.join(", ")), !is_complete)
        }
    };
    values.insert("configs", &configs.iter().map(config).collect::<Vec<_>>());
    values.insert("fields", &shown);
    values.insert("is_complete", &is_complete);
}

/// Inserts what `ah_runtime` asks.
fn insert_runtime(values: &mut tera::Context, model: &Model) {
    let features = model.features.base().features().iter();
    let kinds = features.clone().map(|feature| format!("FeatureKind::{:?}", feature.kind));
    let features = features.map(|feature| rust_string(&feature.name));
    let identity = model.identity();
    let identity = identity.iter().map(|(name, value)| format!("({name:?}, {})", rust_string(value)));
    let inserted = [
        ("heuristic_text", rust_string(&model.heuristic)),
        ("optimization_text", rust_string(&model.optimization)),
        ("model_version", rust_string(&model.version())),
        ("fallback_text", model.fallback.map(|id| rust_string(model.choice_name(id))).unwrap_or_default()),
        ("features", features.collect::<Vec<_>>().join(", ")),
        ("kinds", kinds.collect::<Vec<_>>().join(", ")),
        ("identity", identity.collect::<Vec<_>>().join(", ")),
    ];
    inserted.iter().for_each(|(key, text)| values.insert(*key, text));
}
