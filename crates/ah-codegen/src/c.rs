//! C: one header for C99, C++ and CUDA. It needs no other file, and allocates nothing.

use ah_model::{Error, Target};
use std::path::Path;

use ah_model::expr::Type;

use crate::code::{Binds, Form};
use crate::language::{BASE, Language};
use crate::names::{C_NAMES, C_WORDS};
use crate::skeleton;
use crate::target::{Generator, Output, Request};
use crate::text::c_string;

/// A header for C, C++ and CUDA.
pub const C: Generator =
    Generator { target: Target::C, usage, endings: &["h", "hh", "hpp", "hxx", "cuh"], files };

/// How C writes code.
static LANGUAGE: Language = Language {
    reserved: [C_WORDS, C_NAMES],
    types: ["int64_t ", "double ", "bool ", "const char *"],
    field: "c->",
    prefix: "$_",
    functions: &[("abs", "fabs"), ("ceil", "ceil"), ("floor", "floor")],
    to_float: Form("(double)$0", Binds::Sign, Binds::Sign),
    same: None,
    remainder: Some("fmod"),
    fuses: true,
    // A text in C ends at its first NUL, so no value is a category that holds one: its literal is no UTF-8, which no value is.
    text: |text| if text.contains('\0') { r#""\377""#.to_owned() } else { c_string(text) },
    choice: |_, names, id| format!("{}_{}", names.package, names.choices[id.index()]).to_ascii_uppercase(),
    results: ["-1", "$", "$"],
    returned: ["return ", ";"],
    assign: |name, ty, value| {
        let ty = match ty {
            Type::Number => "const double ",
            Type::Bool => "const bool ",
            Type::Category => "const char *",
        };
        format!("{ty}{name} = {};", value.text)
    },
    block: ["if (", ") {", "}"],
    in_one_line: true,
    comment: ["/* ", " */"],
    ..BASE
};

fn usage(place: &Path, package: &str) -> String {
    let file = place.file_name().unwrap_or_default().to_string_lossy();
    format!("include it: #include \"{file}\"; then ask {package}_choose")
}

fn files(request: &Request<'_>) -> Result<Output, Error> {
    let (mut values, names, planned) = skeleton::values(request, &LANGUAGE, true)?;
    let package = &names.package;
    let pointer = format!("const struct {package}_context *c");
    let is_alone = planned.given.is_empty();
    values.insert("parameter", if is_alone { "void" } else { &pointer });
    values.insert("first", &if is_alone { String::new() } else { format!("{pointer}, ") });
    values.insert("fallback", &request.model.fallback.map_or(-1, |id| i64::from(id.0)));
    // With one choice, compilers see that a second one would be outside.
    values.insert("room", &request.model.choices.len().max(2));
    values.insert("parts", &request.model.choices.len().div_ceil(ah_decide::LANES));
    let text = skeleton::render("c/header.h", &values)?;
    Ok(Output::file(request, &format!("{package}.h"), text, planned.signature(&names)))
}
