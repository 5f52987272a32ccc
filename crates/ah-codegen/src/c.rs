//! C: one header for C99, C++ and CUDA. It needs no other file, and allocates nothing.

use std::path::Path;

use ah_types::expr::Type;
use ah_types::{ChoiceId, Model};

use crate::code::{Binds, Code};
use crate::error::CodegenError;
use crate::language::{Language, Outcome};
use crate::names::{C_NAMES, C_WORDS, Names};
use crate::skeleton;
use crate::target::{Output, Request, Target};
use crate::text::{c_string, shown};
use crate::words::{Case, Words};

/// A header for C, C++ and CUDA.
pub const C: Target =
    Target { name: "c", usage, endings: &["h", "hh", "hpp", "hxx", "cuh"], has_rankings: false, files };

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
        cases: [Case::Kept, Case::Snake],
        reserved: [C_WORDS, C_NAMES],
        has_fields: true,
        types: ["int64_t ", "double ", "bool ", "const char *"],
        documented: [str::to_owned, shown, shown],
        and: "&&",
        or: "||",
        truths: ["true", "false"],
        floats: ["NAN", "INFINITY", "-INFINITY"],
        field: "c->",
        block: ["if (", ") {", "}"],
        in_one_line: true,
        guard: [""; 2],
        comment: ["/* ", " */"],
        rows: ["{", "{", "{", "{", "}"],
        leaf: "-1",
        fuses: true,
    };
    const IS_TYPED: bool = true;

    fn text(&self, text: &str) -> String {
        category(text)
    }

    fn choice(&self, _: &Model, names: &Names, id: ChoiceId) -> String {
        format!("{}_{}", self.package, names.choices[id.index()]).to_ascii_uppercase()
    }

    fn result(&self, outcome: Outcome, choice: String, _: bool, _: bool) -> String {
        match outcome {
            Outcome::Decline => "return -1;".to_owned(),
            Outcome::Choice(_) => format!("return {choice};"),
            Outcome::Ranking(number) => format!("return {number};"),
        }
    }

    fn conditional(&self, c: &Code, a: &Code, b: &Code) -> Code {
        let [c_text, a_text, b_text] = [c, a, b].map(|code| code.above(Binds::Choice));
        Code::new(Binds::Choice, format!("{c_text} ? {a_text} : {b_text}")).reading(&[c, a, b])
    }

    fn same(&self, a: &Code, b: &Code) -> Code {
        Code::call(&format!("{}_same", self.package), &[a, b])
    }

    fn is_in(&self, a: &Code, texts: &[String]) -> Code {
        let is = |text: &String| self.same(a, &Code::atom(category(text))).text;
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
        let [_, number, truth, text] = Self::WORDS.types;
        let ty = match ty {
            Type::Number => ["const ", number],
            Type::Bool => ["const ", truth],
            Type::Category => ["", text],
        };
        format!("{}{}{name} = {};", "    ".repeat(level), ty.concat(), value.text)
    }

    fn function(&self, name: &str) -> String {
        match name {
            "abs" => "fabs".to_owned(),
            "ceil" | "floor" => name.to_owned(),
            _ => format!("{}_{name}", self.package),
        }
    }

    fn lanes(&self, lanes: &[i8]) -> String {
        format!("{lanes:?}").replace('[', "{").replace(']', "}")
    }
}

fn usage(place: &Path, package: &str) -> String {
    let file = place.file_name().unwrap_or_default().to_string_lossy();
    format!("include it: #include \"{file}\"; then ask {package}_choose")
}

fn files(request: &Request<'_>) -> Result<Output, CodegenError> {
    let package = crate::names::package(request.model);
    let (mut values, names, planned) = skeleton::values(request, &CSyntax { package: &package })?;
    let pointer = format!("const struct {package}_context *c");
    let is_constant = planned.read.is_empty();
    values.insert("parameter", if is_constant { "void" } else { &pointer });
    values.insert("first", &if is_constant { String::new() } else { format!("{pointer}, ") });
    values.insert("fallback", &request.model.fallback.map_or(-1, |id| i64::from(id.0)));
    values.insert("parts", &request.model.choices.len().div_ceil(ah_decide::LANES));
    let text = skeleton::render("c/header.h", &values)?;
    Ok(Output::file(request, &format!("{package}.h"), text, planned.signature(&names)))
}
