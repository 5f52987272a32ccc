//! Rust: a crate of one file, or that file as a module of a library. It needs no other crate and no std, and allocates nothing.

use std::path::{Path, PathBuf};

use ah_types::{Device, FeatureKind, FieldValue, Model};

use crate::body::Outcome;
use crate::error::CodegenError;
use crate::names::{Case, Names, RUST_NAMES, RUST_WORDS};
use crate::page::{FieldType, Fields, Lines, about, mark};
use crate::plan::{Plan, Planned};
use crate::rust_syntax::RustSyntax;
use crate::skeleton;
use crate::target::{Output, Target};
use crate::text::{code, markup, rust_string, sentence};

/// A crate without dependencies, or with `--into` a module.
#[derive(Clone, Copy, Debug)]
pub struct Rust;

/// Returns a function of expressions that Rust without std lacks or defines otherwise.
fn helper_text(name: &str) -> String {
    match name {
        "abs" => "fn abs(x: f64) -> f64 {\n    x.abs()\n}".to_owned(),
        "divide" => "/// Undefined where `b` is 0.\nfn divide(a: f64, b: f64) -> f64 {\n    if b == 0.0 { f64::NAN } else { a / b }\n}".to_owned(),
        "min" => "/// Undefined where an operand is.\nfn min(a: f64, b: f64) -> f64 {\n    if b < a || b.is_nan() { b } else { a }\n}".to_owned(),
        "max" => "/// Undefined where an operand is.\nfn max(a: f64, b: f64) -> f64 {\n    if b > a || b.is_nan() { b } else { a }\n}".to_owned(),
        "modulo" => "/// The remainder, with the sign of `b`; undefined where `b` is 0.\nfn modulo(a: f64, b: f64) -> f64 {\n    if b == 0.0 {\n        return f64::NAN;\n    }\n    let r = a % b;\n    if r != 0.0 && (r < 0.0) != (b < 0.0) {\n        r + b\n    } else {\n        r\n    }\n}".to_owned(),
        "floor" => "/// The greatest whole number up to `x`.\nfn floor(x: f64) -> f64 {\n    // From 2^52 on every f64 is whole.\n    if x.abs() >= 4503599627370496.0 || x.is_nan() {\n        return x;\n    }\n    let whole = x as i64 as f64;\n    if whole > x { whole - 1.0 } else { whole }\n}".to_owned(),
        "ctz" => "/// The trailing zero bits of a whole number, at most 64; undefined for other numbers.\nfn ctz(x: f64) -> f64 {\n    if x == 0.0 {\n        return 64.0;\n    }\n    let (bits, one) = (x.to_bits(), 1 << 52);\n    let exponent = (bits >> 52 & 0x7ff) as i64;\n    let zeros = (bits & (one - 1) | one).trailing_zeros() as i64 + exponent - 1075;\n    if exponent == 0x7ff || zeros < 0 {\n        f64::NAN\n    } else {\n        zeros.min(64) as f64\n    }\n}".to_owned(),
        "ceil" => {
            "/// The least whole number from `x` on.\nfn ceil(x: f64) -> f64 {\n    -floor(-x)\n}".to_owned()
        }
        "log2" => {
            let coefficients: Vec<String> =
                ah_types::expr::LOG2_COEFFICIENTS.iter().rev().map(|c| format!("    {c:?},\n")).collect();
            format!(
                "/// From the last coefficient to the first.\nconst LOG2: [f64; {}] = [\n{}];\n\n/// The logarithm to base 2, with the \
                 same bits on every machine; undefined up to 0.\nfn log2(x: f64) -> f64 {{\n    if x.is_nan() || x <= 0.0 || x == f64::INFINITY \
                 {{\n        return if x > 0.0 {{ x }} else {{ f64::NAN }};\n    }}\n    let is_small = x < f64::MIN_POSITIVE;\n    let x = if \
                 is_small {{ x * 18014398509481984.0 }} else {{ x }};\n    let bits = x.to_bits();\n    let mantissa = f64::from_bits(bits & ((1 \
                 << 52) - 1) | 1023 << 52);\n    let e = (bits >> 52) as f64 - if is_small {{ 1077.0 }} else {{ 1023.0 }};\n    let is_large = mantissa \
                 > {:?};\n    let m = if is_large {{ mantissa * 0.5 }} else {{ mantissa }};\n    let e = if is_large {{ e + 1.0 }} else {{ e }};\n    \
                 let s = (m - 1.0) / (m + 1.0);\n    let z = s * s;\n    e + s * LOG2.iter().fold(0.0, |sum, c| sum * z + c)\n}}",
                coefficients.len(),
                coefficients.concat(),
                ah_types::expr::LOG2_LARGEST
            )
        }
        _ => String::new(),
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

impl Target for Rust {
    fn name(&self) -> &'static str {
        "rust"
    }

    fn files(&self, plan: &Plan<'_>) -> Result<Output, CodegenError> {
        let model = plan.model;
        let syntax = RustSyntax(model);
        let names = Names::new(
            model,
            &plan.used,
            [Case::Snake, Case::Camel],
            &[RUST_WORDS, RUST_NAMES],
            Some(RUST_WORDS),
        )?;
        let planned = plan.built(&syntax, &names);
        let file = source(plan, &syntax, &names, &planned)?;
        if let Some(into) = plan.into {
            return Ok(Output {
                place: into.to_owned(),
                signature: planned.signature(&names),
                files: [(String::new(), file)].into(),
            });
        }
        let mut values = skeleton::values(plan, &names);
        if let Some(runtime) = plan.runtime {
            values.insert("runtime", &relative(&plan.out.join(&names.package), runtime)?);
        }
        values.insert(
            "description",
            &format!("A learned heuristic for {}", code(&model.optimization).replace('`', "")),
        );
        values.insert(
            "about",
            &about(model, planned.tables.is_none() && planned.leaves < 2)
                .iter()
                .map(|line| markup(line))
                .collect::<Vec<_>>()
                .join("\n\n"),
        );
        values.insert("example", &example(model, &names, &planned));
        let mut files = crate::files::Files::new();
        files.insert("src/lib.rs".to_owned(), file);
        for name in ["Cargo.toml", "README.md"] {
            files.insert(name.to_owned(), skeleton::render(&format!("rust/{name}"), &values)?);
        }
        if planned.tables.is_some() {
            files.insert("src/decide.rs".to_owned(), format!("// {}\n{}", mark(), ah_decide::SOURCE));
        }
        Ok(Output { place: plan.out.join(&names.package), signature: planned.signature(&names), files })
    }
}

fn source(
    plan: &Plan<'_>,
    syntax: &RustSyntax<'_>,
    names: &Names,
    planned: &Planned,
) -> Result<String, CodegenError> {
    let model = plan.model;
    let variant = |choice: ah_types::ChoiceId| format!("Choice::{}", names.choices[choice.index()]);
    let returned = |value: String, tail: bool| if tail { value } else { format!("return {value};") };
    let result = |outcome: Outcome, tail: bool| match outcome {
        Outcome::Decline => returned("None".to_owned(), tail),
        Outcome::Choice(choice) if planned.declines => returned(format!("Some({})", variant(choice)), tail),
        Outcome::Choice(choice) => returned(variant(choice), tail),
        Outcome::Leaf(leaf) => returned(format!("Some(&LEAVES[{leaf}])"), tail),
    };
    let body = Lines::new(syntax, model, &result).print(&planned.body, 1);
    let parameter = if planned.read.is_empty() { "" } else { "c: &Context" };
    let mut values = skeleton::values(plan, names);
    let ty = if planned.declines { "Option<Choice>" } else { "Choice" };
    let returns = if planned.declines {
        "; `None` where the heuristic declines: do what you would do without it"
    } else {
        ""
    };
    let constant = if planned.read.is_empty() && planned.body.len() == 1 { "const " } else { "" };
    let choose = item(format!(
        "/// Returns the choice to take{returns}.\npub {constant}fn choose({parameter}) -> {ty} {{\n{body}\n}}"
    ));
    values.insert("choose", if planned.tables.is_some() { "" } else { &choose });
    let mut functions = Vec::new();
    for (slot, steps) in &planned.functions {
        let name = names.feature(*slot);
        let lines = {
            let result = |_: Outcome, _: bool| String::new();
            let mut lines = Lines::new(syntax, model, &result);
            lines.said.push(*slot);
            lines.steps(&steps.0, 1, false);
            lines.lines.push(format!("    {}", steps.1.text));
            lines.lines.join("\n")
        };
        let doc = code(&model.features.all().features()[*slot].name);
        functions.push(item(format!("/// {doc}\nfn {name}(c: &Context) -> f64 {{\n{lines}\n}}")));
    }
    let mut helpers = planned.helpers.clone();
    if helpers.contains("ceil") {
        helpers.insert("floor");
    }
    functions.extend(helpers.iter().map(|name| helper_text(name)));
    values.insert("functions", &functions.join("\n\n"));
    values.insert(
        "about",
        &about(model, planned.tables.is_none() && planned.leaves < 2)
            .iter()
            .map(|line| format!("//! {}", markup(line)))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    values.insert("context", &context(model, names, planned));
    values.insert("choices", &choices(model, names)?);
    values.insert("device", &device(model));
    if plan.runtime.is_some() && plan.into.is_none() {
        values.insert("runtime_door", &runtime(model, names, planned)?);
    }
    values.insert("extras", &crate::boosters::rust(plan, syntax, names, planned));
    values.insert("is_crate", &plan.into.is_none());
    values.insert(
        "inline",
        &if plan.into.is_some() && planned.tables.is_some() { ah_decide::SOURCE } else { Default::default() },
    );
    values.insert("tables", &planned.tables.is_some());
    skeleton::render("rust/lib.rs", &values)
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

/// Returns the documentation of a feature: its name where that is not the identifier, meaning, unit, and categories.
pub fn doc(model: &Model, slot: usize, names: &Names) -> String {
    let feature = &model.features.base().features()[slot];
    let mut text = String::new();
    if feature.name != names.feature(slot) {
        text += &format!("{}: ", code(&feature.name));
    }
    text += &feature.description.as_ref().map(|description| sentence(description)).unwrap_or_default();
    if let Some(unit) = &feature.unit {
        text += &format!(" ({})", sentence(unit));
    }
    if model.missing.contains(&slot) {
        text += " NaN where it is missing.";
    }
    let known = &model.categories[slot];
    if feature.kind == FeatureKind::Categorical && known.len() <= 6 && !known.is_empty() {
        text += &format!(" One of {}.", known.iter().map(|text| code(text)).collect::<Vec<_>>().join(", "));
    }
    let text = text.trim().to_owned();
    if text.is_empty() { code(&feature.name) } else { text }
}

fn choices(model: &Model, names: &Names) -> Result<String, CodegenError> {
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
    let fields = Fields::new(model);
    let config = if fields.columns.is_empty() { String::new() } else { configs(names, &fields) };
    Ok(format!(
        "/// The choices, sorted by name.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum Choice {{\n{}}}\n\nimpl Choice {{\n    /// All \
         choices.\n{all}\n\n{name}\n}}{config}",
        variants.concat()
    ))
}

fn configs(names: &Names, fields: &Fields) -> String {
    let mut namer = crate::names::Namer::new(Case::Snake, &[RUST_WORDS]);
    let structured = fields.of.iter().filter(|all| !all.is_empty());
    let is_complete = structured.clone().count() == fields.of.len();
    let has = |all: &[(String, FieldValue)], key: &str| all.iter().any(|(other, _)| other == key);
    let mut text = String::from(
        "\n\n/// The fields of a choice, by its name.\n#[derive(Clone, Copy, Debug, PartialEq)]\npub struct Config {\n",
    );
    let mut columns = Vec::new();
    for (key, ty) in &fields.columns {
        let ident = namer.give(key, "field", 160);
        let is_optional = structured.clone().any(|all| !has(all, key));
        let name = match ty {
            FieldType::Integer => "i64",
            FieldType::Number => "f64",
            FieldType::Truth => "bool",
            FieldType::Text => "&'static str",
        };
        let name = if is_optional { format!("Option<{name}>") } else { name.to_owned() };
        text += &format!("    /// {}\n    pub {ident}: {name},\n", code(key));
        columns.push((key, ident, *ty, is_optional));
    }
    let (ty, returns) =
        if is_complete { ("Config", "") } else { ("Option<Config>", "; `None` where the name lists none") };
    let mut arms = String::new();
    for (ident, all) in names.choices.iter().zip(&fields.of) {
        let value = |(key, ident, ty, is_optional): &(&String, String, FieldType, bool)| {
            let value = all.iter().find(|(other, _)| other == *key).map(|(_, value)| match (ty, value) {
                (FieldType::Number, FieldValue::Integer(x)) => format!("{:?}", *x as f64),
                (FieldType::Number, FieldValue::Number(x)) => format!("{x:?}"),
                (FieldType::Integer | FieldType::Truth, value) => value.to_string().to_lowercase(),
                (_, value) => rust_string(&value.to_string()),
            });
            let value = match (value, is_optional) {
                (Some(value), true) => format!("Some({value})"),
                (None, _) => "None".to_owned(),
                (Some(value), false) => value,
            };
            if value == *ident { value } else { format!("{ident}: {value}") }
        };
        let config = format!("Config {{ {} }}", columns.iter().map(value).collect::<Vec<_>>().join(", "));
        let config = match (all.is_empty(), is_complete) {
            (true, _) => "None".to_owned(),
            (_, true) => config,
            (_, false) => format!("Some({config})"),
        };
        arms += &format!("            Self::{ident} => {config},\n");
    }
    text + &format!(
        "}}\n\nimpl Choice {{\n    /// Returns the fields that the name lists{returns}.\n    #[rustfmt::skip]\n    pub fn config(self) -> {ty} {{\n        \
         match self {{\n{arms}        }}\n    }}\n}}"
    )
}

fn device(model: &Model) -> String {
    let Some(device) = &model.device else { return String::new() };
    let name = rust_string(device.name());
    let shown = sentence(&device.to_string());
    let units = match device {
        Device::Cpu(cpu) => ("cores", cpu.cores),
        Device::Cuda(cuda) => ("multiprocessors", cuda.multiprocessors),
    };
    item(format!(
        "/// Returns true on another device than {shown}: do not ask the heuristic there.\npub fn device_mismatch(name: &str, {}: u32) -> \
         bool {{\n    name != {name} || {} != {}\n}}",
        units.0, units.0, units.1
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
    let guard = match &model.device {
        Some(Device::Cpu(cpu)) => format!(
            "DeviceGuard::Cpu {{ model: {}, cores: {}, instruction_sets: &[{}] }}",
            rust_string(&cpu.model),
            cpu.cores,
            cpu.instruction_sets.iter().map(|set| rust_string(set)).collect::<Vec<_>>().join(", ")
        ),
        Some(Device::Cuda(cuda)) => {
            format!(
                "DeviceGuard::Cuda {{ name: {}, multiprocessors: {} }}",
                rust_string(&cuda.name),
                cuda.multiprocessors
            )
        }
        None => format!(
            "DeviceGuard::Capability {{ capability: ({}, {}), shared_memory: {:?} }}",
            model.device_capa.0, model.device_capa.1, model.shared_memory
        ),
    };
    values.insert("guard", &guard);
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
    values.insert("declines", &planned.declines);
    values.insert("is_constant", &is_constant);
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
