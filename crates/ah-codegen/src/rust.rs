//! Rust: a crate of one file, or that file as a module of a library. It needs no other crate and no std, and allocates nothing.

use std::path::{Path, PathBuf};

use ah_decide::LEAF;
use ah_types::expr::Type;
use ah_types::{ChoiceId, FeatureKind, FieldValue, Model, fields};

use crate::body::Outcome;
use crate::code::{Binds, Code};
use crate::error::CodegenError;
use crate::language::{Language, Words};
use crate::names::{Case, Names, RUST_NAMES, RUST_WORDS};
use crate::page::{Lines, described, mark, units, wrapped};
use crate::plan::{Planned, TableCode};
use crate::skeleton;
use crate::target::{Files, Output, Plan, Target, stem};
use crate::text::{code, markup, rust_string, sentence};

/// A crate without dependencies, or with `--into` a module.
pub const RUST: Target = Target { name: "rust", usage, has_rankings: false, files };

/// How Rust writes code.
struct RustSyntax;

impl Language for RustSyntax {
    const WORDS: Words = Words {
        and: "&&",
        or: "||",
        truths: ["true", "false"],
        floats: ["f64::NAN", "f64::INFINITY", "f64::NEG_INFINITY"],
        field: "c.",
        block: ["if ", " {", "}"],
        in_one_line: false,
        comment: ["// ", ""],
    };
    const IS_TYPED: bool = true;
    // The limits of rustfmt, less the statement around.
    const WIDTHS: [usize; 3] = [70, 56, 36];

    fn text(&self, text: &str) -> String {
        rust_string(text)
    }

    fn at_most_or_nan(&self, value: &Code, literal: &Code) -> Code {
        let at_most = Code::binary(Binds::Comparison, value, "<=", literal);
        Code::binary(Binds::Or, &self.is_nan(value), "||", &at_most)
    }

    fn is_nan(&self, a: &Code) -> Code {
        Code::atom(format!("{}.is_nan()", a.at_least(Binds::Atom))).reading(&[a])
    }

    fn conditional(&self, c: &Code, a: &Code, b: &Code) -> Code {
        Code::new(Binds::Choice, format!("if {} {{ {} }} else {{ {} }}", c.text, a.text, b.text))
            .reading(&[c, a, b])
    }

    fn is_in(&self, a: &Code, texts: &[&str]) -> Code {
        let texts: Vec<String> = texts.iter().map(|text| rust_string(text)).collect();
        Code::atom(format!("matches!({}, {})", a.text, texts.join(" | "))).reading(&[a])
    }

    fn to_float(&self, a: &Code) -> Code {
        Code::new(Binds::Cast, format!("{} as f64", a.at_least(Binds::Cast))).reading(&[a])
    }

    fn own(&self, function: &str, operands: &[&Code]) -> Option<Code> {
        let is_literal = |code: &Code| code.text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let method =
            |a: &Code, rest: &str| Code::atom(format!("{}.{function}({rest})", a.at_least(Binds::Atom)));
        match (function, operands) {
            ("abs", [a]) if !a.is_integer && !is_literal(a) => Some(method(a, "").reading(operands)),
            ("min" | "max", [a, b]) if !is_literal(a) => Some(method(a, &b.text).reading(operands)),
            ("min" | "max", [a, b]) if !is_literal(b) => Some(method(b, &a.text).reading(operands)),
            _ => None,
        }
    }

    fn between(&self, low: &Code, value: &Code, high: &Code) -> Option<Code> {
        let range = Code::atom(format!("({}..={}).contains(&{})", low.text, high.text, value.text));
        Some(range.reading(&[value]))
    }

    fn remainder(&self, a: &Code, b: &Code, is_negative: bool) -> Option<Code> {
        if !a.is_integer {
            return (!is_negative).then(|| Code::binary(Binds::Product, a, "%", b));
        }
        let remainder = match is_negative {
            true => Code::atom(format!("{}.rem_euclid({})", a.at_least(Binds::Atom), b.text)).reading(&[a]),
            false => Code::binary(Binds::Product, a, "%", b),
        };
        Some(Code { is_integer: true, ..remainder })
    }

    fn assign(&self, name: &str, _: Type, value: &Code, level: usize) -> String {
        let indent = "    ".repeat(level);
        let line = format!("{indent}let {name} = {};", value.text);
        // As rustfmt breaks it.
        if (line.len() > 100 || value.text.len() > 50)
            && value.binds == Binds::Choice
            && let Some((condition, rest)) =
                value.text.strip_prefix("if ").and_then(|text| text.split_once(" { "))
            && let Some((a, b)) = rest.strip_suffix(" }").and_then(|rest| rest.split_once(" } else { "))
            && !a.contains('{')
            && !b.contains('{')
        {
            return format!(
                "{indent}let {name} = if {condition} {{\n{indent}    {a}\n{indent}}} else {{\n{indent}    {b}\n{indent}}};"
            );
        }
        line
    }

    fn function(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// Returns the path from the crate's folder to `path`, so that the crate builds wherever the repository is.
fn relative(from: &Path, path: &Path) -> Result<String, CodegenError> {
    let absolute = path.canonicalize().map_err(CodegenError::io("find", path))?;
    // The crate's folder may not exist yet; its nearest ancestor does.
    let from = std::path::absolute(from).map_err(CodegenError::io("find", from))?;
    let existing = from.ancestors().find(|a| a.exists()).unwrap_or(Path::new("/"));
    let rest = from.strip_prefix(existing).unwrap_or(Path::new(""));
    let from = existing.canonicalize().map_err(CodegenError::io("find", existing))?.join(rest);
    let (a, b): (Vec<_>, Vec<_>) = (from.components().collect(), absolute.components().collect());
    let shared = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let mut relative = PathBuf::new();
    relative.extend(a[shared..].iter().map(|_| ".."));
    relative.extend(&b[shared..]);
    Ok(rust_string(&relative.to_string_lossy().replace('\\', "/")))
}

/// Returns an item for rustfmt: what is wider than it allows stays as it is.
fn item(text: String) -> String {
    let is_wide = |line: &str| line.chars().count() > 100 && !line.trim_start().starts_with("//");
    if text.lines().any(is_wide) {
        // Documentation comes first.
        let at = text
            .lines()
            .take_while(|line| line.trim_start().starts_with("///"))
            .map(|line| line.len() + 1)
            .sum();
        let indent = text[at..].len() - text[at..].trim_start_matches(' ').len();
        return format!("{}{}#[rustfmt::skip]\n{}", &text[..at], " ".repeat(indent), &text[at..]);
    }
    text
}

fn usage(place: &Path, _: &str) -> String {
    let name = stem(place);
    match place.extension().is_some_and(|ending| ending == "rs") {
        true => format!("declare it: mod {name}; then ask {name}::choose"),
        false => format!("add it: cargo add --path {}; then ask {name}::choose", place.display()),
    }
}

fn files(plan: &Plan<'_>) -> Result<Output, CodegenError> {
    let model = plan.request.model;
    let words = [RUST_WORDS, RUST_NAMES];
    let names = Names::new(model, &plan.used, [Case::Snake, Case::Camel], &words, Some(RUST_WORDS))?;
    let planned = plan.built(&RustSyntax, &names);
    let mut values = skeleton::values(plan, &names, &planned);
    insert_source(&mut values, plan, &names, &planned)?;
    let file = skeleton::render("rust/lib.rs", &values)?;
    if plan.request.into.is_some() {
        return Ok(Output::file(plan, "", file, planned.signature(&names)));
    }
    if let Some(runtime) = plan.request.runtime {
        values.insert("runtime", &relative(&plan.request.out.join(&names.package), runtime)?);
    }
    let optimization = code(&model.optimization).replace('`', "");
    values.insert("description", &format!("A learned heuristic for {optimization}"));
    values.insert("about", &markup(&planned.about(model, "", "\n\n")));
    values.insert("example", &example(model, &names, &planned));
    let mut files = Files::from([("src/lib.rs".to_owned(), file)]);
    for name in ["Cargo.toml", "README.md"] {
        files.insert(name.to_owned(), skeleton::render(&format!("rust/{name}"), &values)?);
    }
    let executor = planned.tables.as_ref().map(|_| format!("// {}\n{}", mark(), ah_decide::SOURCE));
    files.insert("src/decide.rs".to_owned(), executor.unwrap_or_default());
    Ok(Output { place: plan.request.out.join(&names.package), signature: planned.signature(&names), files })
}

/// Inserts the parts of the source.
fn insert_source(
    values: &mut tera::Context,
    plan: &Plan<'_>,
    names: &Names,
    planned: &Planned,
) -> Result<(), CodegenError> {
    let model = plan.request.model;
    let variant = |choice: ChoiceId| format!("Choice::{}", names.choices[choice.index()]);
    let result = |outcome: Outcome, tail: bool| {
        let value = match outcome {
            Outcome::Decline => "None".to_owned(),
            Outcome::Choice(choice) if planned.is_certain() => variant(choice),
            Outcome::Choice(choice) => format!("Some({})", variant(choice)),
            Outcome::Ranking(number) => format!("Some({number})"),
        };
        if tail { value } else { format!("return {value};") }
    };
    let lines = || Lines::new(&RustSyntax, model, &result);
    let is_constant = planned.read.is_empty();
    let parameter = if is_constant { "" } else { "c: &Context" };
    let (ty, returns) = match planned.is_certain() {
        true => ("Choice", ""),
        false => ("Option<Choice>", "; `None` where the heuristic declines: do what you would do without it"),
    };
    let constant = if is_constant && planned.body.len() == 1 { "const " } else { "" };
    let choose = item(format!(
        "/// Returns the choice to take{returns}.\npub {constant}fn choose({parameter}) -> {ty} {{\n{}\n}}",
        lines().print(&planned.body, 1, true)
    ));
    let (steps, all) = &planned.conditions;
    let arm = |(code, choices): &(Code, Vec<ChoiceId>)| {
        let choices: Vec<String> = choices.iter().map(|id| variant(*id)).collect();
        format!("        {} => {},\n", choices.join(" | "), code.text)
    };
    let entry = |(choice, allowed): &(ChoiceId, bool)| format!("({}, {allowed})", variant(*choice));
    let ranking = |all: &Vec<(ChoiceId, bool)>| {
        format!("    &[{}],\n", all.iter().map(entry).collect::<Vec<_>>().join(", "))
    };
    let inserted = [
        ("choose", choose),
        ("about", markup(&planned.about(model, "//! ", "\n"))),
        ("context", context(model, names, planned)),
        ("choices", choices(model, names)),
        ("device", device(model)),
        ("parameter", parameter.to_owned()),
        ("given", if is_constant { "" } else { "c" }.to_owned()),
        ("condition_steps", lines().print(steps, 1, true)),
        ("conditions", all.iter().map(arm).collect()),
        ("leaf", lines().print(&planned.leaf, 1, true)),
        ("rankings", planned.rankings.iter().map(ranking).collect()),
        ("fallback", model.fallback.map_or("None".to_owned(), |id| format!("Some({})", variant(id)))),
    ];
    inserted.iter().for_each(|(key, text)| values.insert(*key, text));
    values.insert("rankings_count", &planned.rankings.len());
    values.insert("is_crate", &plan.request.into.is_none());
    if let Some(code) = &planned.tables {
        insert_tables(values, code);
        // The steps that decline leave `columns`.
        values.insert("column_steps", &lines().print(&planned.body, 1, false));
        values.insert("executor", if plan.request.into.is_some() { ah_decide::SOURCE } else { "" });
    }
    if plan.request.runtime.is_some() && plan.request.into.is_none() {
        values.insert("runtime_door", &runtime(model, names, planned)?);
    }
    Ok(())
}

/// Inserts the tables of trees and boosters.
fn insert_tables(values: &mut tera::Context, code: &TableCode) {
    let (tables, boosters) = (&code.tables, &code.tables.boosters);
    let mut insert = |key: &str, all: Vec<String>| {
        values.insert(key, &wrapped(all.iter().cloned(), "    "));
        values.insert(format!("{key}_count"), &all.len());
    };
    let node = |node: &ah_decide::Node| match node.0 {
        LEAF => format!("Node(LEAF, 0.0, {})", node.2),
        column => format!("Node({column}, {:?}, {})", node.1, node.2),
    };
    let ranked = |r: &ah_decide::Ranked| {
        format!("ranked_({}, {}, {}, {})", r.choice, RustSyntax.float(r.score), r.allowed, r.expected)
    };
    let row = |row: &[i8; ah_decide::LANES]| format!("[{}]", row.map(|x| x.to_string()).join(", "));
    insert("nodes", tables.nodes.iter().map(node).collect());
    insert("ends", tables.ends.iter().map(ToString::to_string).collect());
    insert("entries", tables.ranking.iter().map(ranked).collect());
    insert("boosted_columns", boosters.columns.iter().map(|column| format!("{column:?}")).collect());
    insert("thresholds", boosters.thresholds.iter().map(|x| format!("{x:?}")).collect());
    let splits = boosters.splits.iter().map(|s| format!("Split({}, {}, {}, {})", s.0, s.1, s.2, s.3));
    insert("splits", splits.collect());
    insert("first_rows", boosters.first_rows.iter().map(ToString::to_string).collect());
    insert("rows", boosters.rows.iter().map(row).collect());
    let columns: String = code.columns.iter().map(|code| format!("        {},\n", code.text)).collect();
    values.insert("columns", &columns);
    values.insert("columns_count", &code.columns.len());
    values.insert("masks_count", &boosters.masks.len());
    values.insert("rule", &format!("{:?}", tables.rule));
}

/// Returns the struct of the logged features that the code reads.
fn context(model: &Model, names: &Names, planned: &Planned) -> String {
    if planned.read.is_empty() {
        return String::new();
    }
    let types: Vec<(usize, &str)> =
        planned.read.iter().map(|slot| (*slot, type_of(model, planned, *slot))).collect();
    let lifetime = if types.iter().any(|(_, ty)| ty.contains('\'')) { "<'a>" } else { "" };
    let mut text = format!(
        "/// The features of an input.\n#[derive(Clone, Copy, Debug, PartialEq)]\npub struct Context{lifetime} {{\n"
    );
    for (slot, ty) in types {
        text += &format!("    /// {}\n    pub {}: {ty},\n", doc(model, slot, names), names.feature(slot));
    }
    text + "}"
}

fn type_of(model: &Model, planned: &Planned, slot: usize) -> &'static str {
    let feature = &model.features.base().features()[slot];
    match feature.kind {
        FeatureKind::Numerical if feature.integer => "i64",
        FeatureKind::Numerical => "f64",
        FeatureKind::Categorical if planned.truths.contains(&slot) => "bool",
        FeatureKind::Categorical => "&'a str",
    }
}

/// Returns the documentation of a feature.
fn doc(model: &Model, slot: usize, names: &Names) -> String {
    let text = described(model, slot, names, sentence, code);
    if text.is_empty() { code(&model.features.base().features()[slot].name) } else { text }
}

fn choices(model: &Model, names: &Names) -> String {
    let idents = &names.choices;
    let count = idents.len();
    let variants: Vec<String> = idents
        .iter()
        .zip(&model.choices)
        .map(|(ident, name)| match name.eq_ignore_ascii_case(ident) {
            true => format!("    {ident},\n"),
            false => format!("    /// {}\n    {ident},\n", code(name)),
        })
        .collect();
    let all: Vec<String> = idents.iter().map(|ident| format!("Self::{ident}")).collect();
    let line = format!("    pub const ALL: [Self; {count}] = [{}];", all.join(", "));
    let all = match all.join(", ").len() < 58 && line.len() <= 100 {
        true => line,
        false => format!(
            "    #[rustfmt::skip]\n    pub const ALL: [Self; {count}] = [\n        {},\n    ];",
            all.join(",\n        ")
        ),
    };
    let arms: Vec<String> = idents
        .iter()
        .zip(&model.choices)
        .map(|(ident, name)| format!("            Self::{ident} => {},\n", rust_string(name)))
        .collect();
    let name = item(format!(
        "    /// Returns the name, as logs have it.\n    pub fn name(self) -> &'static str {{\n        match self {{\n{}        }}\n    }}",
        arms.concat()
    ));
    let config = configs(model, names);
    format!(
        "/// The choices, sorted by name.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum Choice {{\n{}}}\n\nimpl Choice {{\n    /// All \
         choices.\n{all}\n\n{name}\n}}{config}",
        variants.concat()
    )
}

/// Returns the fields that the names of choices list; a field of several types is a number or a text.
fn configs(model: &Model, names: &Names) -> String {
    let of: Vec<Option<Vec<(String, FieldValue)>>> = model.choices.iter().map(|name| fields(name)).collect();
    let mut namer = crate::names::Namer::new(Case::Snake, &[RUST_WORDS]);
    let structured = || of.iter().flatten();
    let is_complete = structured().count() == of.len();
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for (key, value) in structured().flatten() {
        let this = match value {
            FieldValue::Integer(_) => "i64",
            FieldValue::Number(_) => "f64",
            FieldValue::Truth(_) => "bool",
            FieldValue::Text(_) => "&'static str",
        };
        match columns.iter_mut().find(|(other, _)| other == key) {
            None => columns.push((key, this)),
            Some((_, ty)) if *ty == this => {}
            Some((_, ty)) => {
                *ty =
                    if matches!((*ty, this), ("i64" | "f64", "i64" | "f64")) { "f64" } else { "&'static str" }
            }
        }
    }
    if columns.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n\n/// The fields of a choice, by its name.\n#[derive(Clone, Copy, Debug, PartialEq)]\npub struct Config {\n",
    );
    let has = |all: &[(String, FieldValue)], key: &str| all.iter().any(|(other, _)| other == key);
    let column = |(key, ty): (&'_ str, &'static str)| {
        let ident = namer.give(key, "field", 160);
        let is_optional = structured().any(|all| !has(all, key));
        let name = if is_optional { format!("Option<{ty}>") } else { ty.to_owned() };
        text += &format!("    /// {}\n    pub {ident}: {name},\n", code(key));
        (key.to_owned(), ident, ty, is_optional)
    };
    let columns: Vec<_> = columns.into_iter().map(column).collect();
    let (ty, returns) =
        if is_complete { ("Config", "") } else { ("Option<Config>", "; `None` where the name lists none") };
    let mut arms = String::new();
    for (choice, all) in names.choices.iter().zip(&of) {
        let value = |(key, ident, ty, is_optional): &(String, String, &str, bool)| {
            let value = all.iter().flatten().find(|(other, _)| other == key);
            let value = value.map(|(_, value)| match (*ty, value) {
                ("f64", FieldValue::Integer(x)) => format!("{:?}", *x as f64),
                ("&'static str", value) => rust_string(&value.to_string()),
                (_, value) => value.to_string().to_lowercase(),
            });
            let value = match (value, is_optional) {
                (Some(value), true) => format!("Some({value})"),
                (None, _) => "None".to_owned(),
                (Some(value), false) => value,
            };
            if value == *ident { value } else { format!("{ident}: {value}") }
        };
        let config = format!("Config {{ {} }}", columns.iter().map(value).collect::<Vec<_>>().join(", "));
        let config = match (all, is_complete) {
            (None, _) => "None".to_owned(),
            (_, true) => config,
            (_, false) => format!("Some({config})"),
        };
        arms += &format!("            Self::{choice} => {config},\n");
    }
    text + &format!(
        "}}\n\nimpl Choice {{\n    /// Returns the fields that the name lists{returns}.\n    #[rustfmt::skip]\n    pub fn config(self) -> {ty} {{\n        \
         match self {{\n{arms}        }}\n    }}\n}}"
    )
}

fn device(model: &Model) -> String {
    let Some(device) = &model.device else { return String::new() };
    let (name, (units, count)) = (rust_string(device.name()), units(device));
    item(format!(
        "/// Returns true on another device than {}: do not ask the heuristic there.\npub fn device_mismatch(name: &str, {units}: u32) -> \
         bool {{\n    name != {name} || {units} != {count}\n}}",
        sentence(&device.to_string())
    ))
}

/// Returns the module that serves `ah-runtime`.
fn runtime(model: &Model, names: &Names, planned: &Planned) -> Result<String, CodegenError> {
    let mut values = tera::Context::new();
    let features = model.features.base().features();
    values.insert("name", &rust_string(&model.heuristic));
    values.insert("optimization", &rust_string(&model.optimization));
    values.insert("version", &rust_string(&model.version()));
    values.insert("has_fallback", &model.fallback.is_some());
    values.insert(
        "fallback",
        &match model.fallback {
            Some(id) => format!("Some({})", rust_string(model.choice_name(id))),
            None => "None".to_owned(),
        },
    );
    values.insert(
        "features",
        &features.iter().map(|feature| rust_string(&feature.name)).collect::<Vec<_>>().join(", "),
    );
    let identity = model.identity();
    let identity = identity.iter().map(|(name, value)| format!("({name:?}, {})", rust_string(value)));
    values.insert("identity", &identity.collect::<Vec<_>>().join(", "));
    let mut fields = String::new();
    for slot in &planned.read {
        let value = match type_of(model, planned, *slot) {
            "i64" => format!("whole({slot})?"),
            "f64" => format!("number({slot})"),
            "bool" => format!("truth({slot})?"),
            _ => format!("category({slot})"),
        };
        fields += &format!("            {}: {value},\n", names.feature(*slot));
    }
    let is_constant = planned.read.is_empty();
    values.insert("fields", &fields);
    values.insert("context", if is_constant { "" } else { "&context(values)?" });
    values.insert("comma", if is_constant { "" } else { ", " });
    values.insert(
        "lifetime",
        if planned.read.iter().any(|slot| type_of(model, planned, *slot).contains('\'')) {
            "<'a>"
        } else {
            ""
        },
    );
    values.insert("is_constant", &is_constant);
    values.insert("is_certain", &planned.is_certain());
    skeleton::render("rust/runtime.rs", &values).map(|text| text.trim_end().to_owned())
}

/// Returns an example of a call, for the README.
fn example(model: &Model, names: &Names, planned: &Planned) -> String {
    let package = &names.package;
    if planned.read.is_empty() {
        return format!("let choice = {package}::choose();");
    }
    let value = |slot: &usize| {
        let value = match type_of(model, planned, *slot) {
            "i64" => "1024".to_owned(),
            "f64" => "1024.0".to_owned(),
            "bool" => "false".to_owned(),
            _ => rust_string(model.categories[*slot].first().map_or("", String::as_str)),
        };
        format!("    {}: {value},\n", names.feature(*slot))
    };
    let fields: String = planned.read.iter().map(value).collect();
    format!("let choice = {package}::choose(&{package}::Context {{\n{fields}}});")
}
