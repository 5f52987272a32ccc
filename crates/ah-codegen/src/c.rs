//! C: one header for C99, C++ and CUDA. It needs no other file, and allocates nothing.

use std::path::Path;

use ah_types::expr::Type;
use ah_types::{ChoiceId, FeatureKind, Model};

use crate::body::Outcome;
use crate::code::{Binds, Code};
use crate::error::CodegenError;
use crate::facts::is_truth;
use crate::language::{Language, Words};
use crate::names::{C_NAMES, C_WORDS, Case, Names};
use crate::page::{Lines, described, units};
use crate::plan::Planned;
use crate::skeleton;
use crate::target::{Output, Request, Target};
use crate::text::{c_string, shown};

/// A header for C, C++ and CUDA.
pub const C: Target = Target { name: "c", usage, has_rankings: false, files };

/// How C writes code.
struct CSyntax<'m> {
    package: &'m str,
}

/// Returns the literal of a category. A text in C ends at its first NUL, so no value is a category that holds one: its literal
/// is no UTF-8, which no value is.
fn category(text: &str) -> String {
    if text.contains('\0') { r#""\377""#.to_owned() } else { c_string(text) }
}

impl Language for CSyntax<'_> {
    const WORDS: Words = Words {
        and: "&&",
        or: "||",
        truths: ["true", "false"],
        floats: ["NAN", "INFINITY", "-INFINITY"],
        field: "c->",
        block: ["if (", ") {", "}"],
        in_one_line: true,
        comment: ["/* ", " */"],
        leaf: "-1",
        fuses: true,
    };
    const IS_TYPED: bool = true;
    const WIDTHS: [usize; 3] = [100, 90, 90];

    fn text(&self, text: &str) -> String {
        category(text)
    }

    fn conditional(&self, c: &Code, a: &Code, b: &Code) -> Code {
        let [c_text, a_text, b_text] = [c, a, b].map(|code| code.above(Binds::Choice));
        Code::new(Binds::Choice, format!("{c_text} ? {a_text} : {b_text}")).reading(&[c, a, b])
    }

    fn same(&self, a: &Code, b: &Code) -> Code {
        Code::call(&format!("{}_same", self.package), &[a, b])
    }

    fn is_in(&self, a: &Code, texts: &[&str]) -> Code {
        let is = |text: &&str| self.same(a, &Code::atom(category(text))).text;
        let all: Vec<String> = texts.iter().map(is).collect();
        Code::atom(format!("({})", all.join(" || "))).reading(&[a])
    }

    fn to_float(&self, a: &Code) -> Code {
        Code::new(Binds::Sign, format!("(double){}", a.at_least(Binds::Sign))).reading(&[a])
    }

    fn remainder(&self, a: &Code, b: &Code) -> Code {
        match a.is_integer {
            true => Code { is_integer: true, ..Code::binary(Binds::Product, a, "%", b) },
            false => Code::call("fmod", &[a, b]),
        }
    }

    fn assign(&self, name: &str, ty: Type, value: &Code, level: usize) -> String {
        let ty = match ty {
            Type::Number => "const double ",
            Type::Bool => "const bool ",
            Type::Category => "const char *",
        };
        format!("{}{ty}{name} = {};", "    ".repeat(level), value.text)
    }

    fn function(&self, name: &str) -> String {
        match name {
            "abs" => "fabs".to_owned(),
            "ceil" | "floor" => name.to_owned(),
            _ => format!("{}_{name}", self.package),
        }
    }

    fn row(&self, _: &str, fields: &[String]) -> String {
        format!("{{{}}}", fields.join(", "))
    }
}

fn usage(place: &Path, package: &str) -> String {
    let file = place.file_name().unwrap_or_default().to_string_lossy();
    format!("include it: #include \"{file}\"; then ask {package}_choose")
}

fn files(request: &Request<'_>) -> Result<Output, CodegenError> {
    let model = request.model;
    let words = [C_WORDS, C_NAMES];
    let names = Names::new(model, [Case::Kept, Case::Snake], &words, Some(C_WORDS))?;
    let package = &names.package;
    let syntax = CSyntax { package };
    let planned = request.built(&syntax, &names);
    let constant = |id: ChoiceId| format!("{package}_{}", names.choices[id.index()]).to_ascii_uppercase();
    let result = |outcome: Outcome, _: bool| match outcome {
        Outcome::Decline => "return -1;".to_owned(),
        Outcome::Choice(id) => format!("return {};", constant(id)),
        Outcome::Ranking(number) => format!("return {number};"),
    };
    let lines = || Lines::new(&syntax, model, &result);
    let is_constant = planned.read.is_empty();
    let pointer = format!("const struct {package}_context *c");
    let parameter = if is_constant { "void" } else { &pointer };
    let all = (0..model.choices.len()).map(|i| constant(ChoiceId(i as u32)));
    let choices: Vec<String> = all.map(|name| format!("    {name}")).collect();
    let texts: Vec<String> = model.choices.iter().map(|name| c_string(name)).collect();
    let mut values = skeleton::values(request, &names, &planned);
    let inserted = [
        ("about", planned.about(model, " * ", "\n")),
        ("choices", choices.join(",\n")),
        ("names", texts.join(",\n        ")),
        ("context", context(model, &names, &planned)),
        ("parameter", parameter.to_owned()),
        ("given", if is_constant { "" } else { "c" }.to_owned()),
        ("first", if is_constant { String::new() } else { format!("{pointer}, ") }),
        ("body", lines().print(&planned.body, 1, true)),
    ];
    inserted.iter().for_each(|(key, text)| values.insert(*key, text));
    planned.insert(&mut values, &lines, &constant);
    values.insert("fallback", &model.fallback.map_or(-1, |id| i64::from(id.0)));
    values.insert("count", &model.choices.len());
    if let Some(device) = &model.device {
        let (units, count) = units(device);
        values.insert("device", &shown(&device.to_string()));
        values.insert("device_name", &c_string(device.name()));
        values.insert("units", units);
        values.insert("units_count", &count);
    }
    if let Some(code) = &planned.tables {
        code.insert(&syntax, &mut values);
        values.insert("parts", &model.choices.len().div_ceil(ah_decide::LANES));
    }
    let text = skeleton::render("c/header.h", &values)?;
    Ok(Output::file(request, &format!("{package}.h"), text, planned.signature(&names)))
}

fn context(model: &Model, names: &Names, planned: &Planned) -> String {
    let mut text = String::new();
    for slot in &planned.read {
        let feature = &model.features.base().features()[*slot];
        let ty = match feature.kind {
            FeatureKind::Numerical if feature.integer => "int64_t ",
            FeatureKind::Numerical => "double ",
            FeatureKind::Categorical if is_truth(model, *slot) => "bool ",
            FeatureKind::Categorical => "const char *",
        };
        let name = names.feature(*slot);
        let mut comment = described(model, *slot, names, shown, shown);
        if !comment.is_empty() {
            comment = format!(" /* {comment} */");
        }
        text += &format!("    {ty}{name};{comment}\n");
    }
    text
}
