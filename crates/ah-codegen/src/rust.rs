//! Rust: a crate of one file, or that file as a module of a library. It needs no other crate and no std, and allocates nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ah_types::expr::Type;
use ah_types::{ChoiceId, FeatureKind, FieldValue, Model, fields};

use crate::body::Outcome;
use crate::code::{Binds, Code};
use crate::error::CodegenError;
use crate::facts::is_truth;
use crate::language::{Language, Words};
use crate::names::{Case, Namer, Names, RUST_NAMES, RUST_WORDS};
use crate::page::{Lines, described, mark, units};
use crate::plan::Planned;
use crate::skeleton;
use crate::target::{Output, Request, Target, stem};
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
        leaf: "LEAF",
        fuses: false,
    };
    const IS_TYPED: bool = true;
    // The limits of rustfmt, less the statement around.
    const WIDTHS: [usize; 3] = [70, 56, 36];

    fn text(&self, text: &str) -> String {
        rust_string(text)
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

    fn between(&self, low: &str, value: &str, high: &str) -> Option<Code> {
        Some(Code::atom(format!("({low}..={high}).contains(&{value})")))
    }

    fn remainder(&self, a: &Code, b: &Code) -> Code {
        Code { is_integer: a.is_integer, ..Code::binary(Binds::Product, a, "%", b) }
    }

    fn assign(&self, name: &str, ty: Type, value: &Code, level: usize) -> String {
        let indent = "    ".repeat(level);
        // Methods of a literal need its type.
        let is_literal = ty == Type::Number && value.reads.is_empty() && !value.is_integer;
        let line = format!("{indent}let {name}{} = {};", if is_literal { ": f64" } else { "" }, value.text);
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

    fn row(&self, name: &str, fields: &[String]) -> String {
        format!("{name}({})", fields.join(", "))
    }

    fn lanes(&self, lanes: &[i8]) -> String {
        format!("{lanes:?}")
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

fn files(request: &Request<'_>) -> Result<Output, CodegenError> {
    let model = request.model;
    let words = [RUST_WORDS, RUST_NAMES];
    let names = Names::new(model, [Case::Snake, Case::Camel], &words, Some(RUST_WORDS))?;
    let planned = request.built(&RustSyntax, &names);
    let mut values = skeleton::values(request, &names, &planned);
    insert_source(&mut values, request, &names, &planned)?;
    let file = skeleton::render("rust/lib.rs", &values)?;
    if request.into.is_some() {
        return Ok(Output::file(request, "", file, planned.signature(&names)));
    }
    if let Some(runtime) = request.runtime {
        values.insert("runtime", &relative(&request.out.join(&names.package), runtime)?);
    }
    let optimization = code(&model.optimization).replace('`', "");
    values.insert("description", &format!("A learned heuristic for {optimization}"));
    values.insert("about", &markup(&planned.about(model, "", "\n\n")));
    values.insert("example", &example(model, &names, &planned));
    let mut files = BTreeMap::from([("src/lib.rs".to_owned(), file)]);
    for name in ["Cargo.toml", "README.md"] {
        files.insert(name.to_owned(), skeleton::render(&format!("rust/{name}"), &values)?);
    }
    let executor = planned.tables.as_ref().map(|_| format!("// {}\n{}", mark(), ah_decide::SOURCE));
    files.insert("src/decide.rs".to_owned(), executor.unwrap_or_default());
    Ok(Output { place: request.out.join(&names.package), signature: planned.signature(&names), files })
}

/// Inserts the parts of the source.
fn insert_source(
    values: &mut tera::Context,
    request: &Request<'_>,
    names: &Names,
    planned: &Planned,
) -> Result<(), CodegenError> {
    let model = request.model;
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
    planned.insert(values, &lines, &variant);
    let inserted = [
        ("choose", choose),
        ("about", markup(&planned.about(model, "//! ", "\n"))),
        ("context", context(model, names, planned)),
        ("choices", choices(model, names)),
        ("device", device(model)),
        ("parameter", parameter.to_owned()),
        ("given", if is_constant { "" } else { "c" }.to_owned()),
        ("fallback", model.fallback.map_or("None".to_owned(), |id| format!("Some({})", variant(id)))),
    ];
    inserted.iter().for_each(|(key, text)| values.insert(*key, text));
    values.insert("is_crate", &request.into.is_none());
    if let Some(code) = &planned.tables {
        code.insert(&RustSyntax, values);
        // The steps that decline leave `columns`.
        values.insert("column_steps", &lines().print(&planned.body, 1, false));
        values.insert("executor", if request.into.is_some() { ah_decide::SOURCE } else { "" });
    }
    if request.runtime.is_some() && request.into.is_none() {
        values.insert("runtime_door", &runtime(model, names, planned)?);
    }
    Ok(())
}

/// Returns the struct of the logged features that the code reads.
fn context(model: &Model, names: &Names, planned: &Planned) -> String {
    if planned.read.is_empty() {
        return String::new();
    }
    let types: Vec<(usize, &str)> = planned.read.iter().map(|slot| (*slot, type_of(model, *slot))).collect();
    let lifetime = if types.iter().any(|(_, ty)| ty.contains('\'')) { "<'a>" } else { "" };
    let mut text = format!(
        "/// The features of an input.\n#[derive(Clone, Copy, Debug, PartialEq)]\npub struct Context{lifetime} {{\n"
    );
    for (slot, ty) in types {
        text += &format!("    /// {}\n    pub {}: {ty},\n", doc(model, slot, names), names.feature(slot));
    }
    text + "}"
}

fn type_of(model: &Model, slot: usize) -> &'static str {
    let feature = &model.features.base().features()[slot];
    match feature.kind {
        FeatureKind::Numerical if feature.integer => "i64",
        FeatureKind::Numerical => "f64",
        FeatureKind::Categorical if is_truth(model, slot) => "bool",
        FeatureKind::Categorical => "&'a str",
    }
}

/// Returns the documentation of a feature.
fn doc(model: &Model, slot: usize, names: &Names) -> String {
    let text = described(model, slot, names, sentence, code);
    if text.is_empty() { code(&model.features.base().features()[slot].name) } else { text }
}

fn choices(model: &Model, names: &Names) -> String {
    let (count, mut variants, mut arms) = (names.choices.len(), String::new(), String::new());
    for (ident, name) in names.choices.iter().zip(&model.choices) {
        if !name.eq_ignore_ascii_case(ident) {
            variants += &format!("    /// {}\n", code(name));
        }
        variants += &format!("    {ident},\n");
        arms += &format!("            Self::{ident} => {},\n", rust_string(name));
    }
    let all: Vec<String> = names.choices.iter().map(|ident| format!("Self::{ident}")).collect();
    let line = format!("    pub const ALL: [Self; {count}] = [{}];", all.join(", "));
    let all = match all.join(", ").len() < 58 && line.len() <= 100 {
        true => line,
        false => format!(
            "    #[rustfmt::skip]\n    pub const ALL: [Self; {count}] = [\n        {},\n    ];",
            all.join(",\n        ")
        ),
    };
    let name = item(format!(
        "    /// Returns the name, as logs have it.\n    pub fn name(self) -> &'static str {{\n        match self {{\n{arms}        }}\n    }}"
    ));
    format!(
        "/// The choices, sorted by name.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum Choice {{\n{variants}}}\n\nimpl Choice {{\n    /// All \
         choices.\n{all}\n\n{name}\n}}{}",
        configs(model, names)
    )
}

/// Returns the fields that the names of choices list; a field of several types is a number or a text.
fn configs(model: &Model, names: &Names) -> String {
    let all: Vec<Option<Vec<(String, FieldValue)>>> = model.choices.iter().map(|name| fields(name)).collect();
    let mut keys: Vec<&String> = Vec::new();
    for (key, _) in all.iter().flatten().flatten() {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        return String::new();
    }
    let mut namer = Namer::new(Case::Snake, &[RUST_WORDS]);
    let mut configs = vec![Vec::new(); all.len()];
    let mut text = String::from(
        "\n\n/// The fields of a choice, by its name.\n#[derive(Clone, Copy, Debug, PartialEq)]\npub struct Config {\n",
    );
    for key in keys {
        let of = |all: &Vec<(String, FieldValue)>| {
            all.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone())
        };
        let values: Vec<Option<FieldValue>> = all.iter().map(|all| all.as_ref().and_then(of)).collect();
        let mut types = values.iter().flatten().map(field_type);
        let first = types.next().unwrap_or("f64");
        let ty = types.fold(first, |a, b| match (a, b) {
            _ if a == b => a,
            ("i64" | "f64", "i64" | "f64") => "f64",
            _ => "&'static str",
        });
        let is_optional = all.iter().zip(&values).any(|(all, value)| all.is_some() && value.is_none());
        let ident = namer.give(key, "field", 160);
        let shown_type = if is_optional { format!("Option<{ty}>") } else { ty.to_owned() };
        text += &format!("    /// {}\n    pub {ident}: {shown_type},\n", code(key));
        for (config, value) in configs.iter_mut().zip(values) {
            let value = value.map(|value| match (ty, value) {
                ("f64", FieldValue::Integer(x)) => format!("{:?}", x as f64),
                ("&'static str", value) => rust_string(&value.to_string()),
                (_, value) => value.to_string().to_lowercase(),
            });
            let value = match value {
                Some(value) if is_optional => format!("Some({value})"),
                Some(value) => value,
                None => "None".to_owned(),
            };
            config.push(if value == ident { value } else { format!("{ident}: {value}") });
        }
    }
    let is_complete = all.iter().all(Option::is_some);
    let (ty, returns) =
        if is_complete { ("Config", "") } else { ("Option<Config>", "; `None` where the name lists none") };
    let mut arms = String::new();
    for ((choice, all), config) in names.choices.iter().zip(&all).zip(configs) {
        let config = match (all, format!("Config {{ {} }}", config.join(", "))) {
            (None, _) => "None".to_owned(),
            (_, config) if is_complete => config,
            (_, config) => format!("Some({config})"),
        };
        arms += &format!("            Self::{choice} => {config},\n");
    }
    text + &format!(
        "}}\n\nimpl Choice {{\n    /// Returns the fields that the name lists{returns}.\n    #[rustfmt::skip]\n    pub fn config(self) -> {ty} {{\n        \
         match self {{\n{arms}        }}\n    }}\n}}"
    )
}

fn field_type(value: &FieldValue) -> &'static str {
    match value {
        FieldValue::Integer(_) => "i64",
        FieldValue::Number(_) => "f64",
        FieldValue::Truth(_) => "bool",
        FieldValue::Text(_) => "&'static str",
    }
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
    let features = model.features.base().features().iter().map(|feature| rust_string(&feature.name));
    let identity = model.identity();
    let identity = identity.iter().map(|(name, value)| format!("({name:?}, {})", rust_string(value)));
    let mut fields = String::new();
    let mut lifetime = "";
    for slot in &planned.read {
        let value = match type_of(model, *slot) {
            "i64" => format!("whole({slot})?"),
            "f64" => format!("number({slot})"),
            "bool" => format!("truth({slot})?"),
            _ => {
                lifetime = "<'a>";
                format!("category({slot})")
            }
        };
        fields += &format!("            {}: {value},\n", names.feature(*slot));
    }
    let inserted = [
        ("name", rust_string(&model.heuristic)),
        ("optimization", rust_string(&model.optimization)),
        ("version", rust_string(&model.version())),
        ("fallback", model.fallback.map(|id| rust_string(model.choice_name(id))).unwrap_or_default()),
        ("features", features.collect::<Vec<_>>().join(", ")),
        ("identity", identity.collect::<Vec<_>>().join(", ")),
        ("fields", fields),
        ("lifetime", lifetime.to_owned()),
    ];
    inserted.iter().for_each(|(key, text)| values.insert(*key, text));
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
        let value = match type_of(model, *slot) {
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
