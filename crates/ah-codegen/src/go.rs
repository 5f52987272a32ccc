//! Go: a package of one file, which needs no other module.

use std::path::Path;

use ah_model::{Error, Target};

use crate::code::{Binds, Form};
use crate::language::{BASE, Language};
use crate::names::{Case, is_identifier};
use crate::skeleton;
use crate::target::{Generator, Output, Request};
use crate::text::escaped_between;

/// A package without dependencies.
pub const GO: Generator = Generator { target: Target::Go, usage, endings: &["go"], files };

/// Keywords of Go, and what it declares before any package.
const WORDS: &str = "\
    break case chan const continue default defer else fallthrough for func go goto if import interface map package range return \
    select struct switch type var any append bool byte cap clear close comparable complex complex64 complex128 copy delete error \
    false float32 float64 imag int int8 int16 int32 int64 iota len make max min new nil panic print println real recover rune \
    string true uint uint8 uint16 uint32 uint64 uintptr init main";

/// Names of the file itself.
const NAMES: &str = "\
    c math sort bits Choice Context Choose ChooseAmong Ranked DeviceMismatch names entry entries ends nodes rankings ranking leaf \
    columns pick isEligible either log2 log2Coefficients ctz divide modulo minimum maximum factors costs costTable boostedColumns thresholds masks firstRows \
    rows choice values ok";

/// Packages of Go's library, which programs import beside this one.
const PACKAGES: &str = "\
    bufio bytes cmp context crypto embed encoding errors expvar flag fmt hash html image io iter log maps math mime net os path \
    plugin reflect regexp runtime slices sort strconv strings structs sync syscall testing time unicode unique unsafe weak main";

/// How Go writes code.
static LANGUAGE: Language = Language {
    cases: [Case::Camel, Case::Mixed, Case::Camel],
    reserved: [WORDS, NAMES],
    types: ["int64", "float64", "bool", "string"],
    functions: &[
        ("abs", "math.Abs"),
        ("ceil", "math.Ceil"),
        ("floor", "math.Floor"),
        ("min", "minimum"),
        ("max", "maximum"),
        ("rounded", "float64"),
    ],
    floats: ["math.NaN()", "math.Inf(1)", "math.Inf(-1)"],
    // Go has no conditional expression. This computes both values, which never fails.
    conditional: Form("either($0, $1, $2)", Binds::Atom, Binds::Choice),
    to_float: Form("float64($0)", Binds::Atom, Binds::Choice),
    remainder: Some("math.Mod"),
    fuses: true,
    text: |text| escaped_between('"', text),
    choice: |_, names, id| names.choices[id.index()].clone(),
    results: ["0, false", "$, true", "$, true"],
    assign: |name, _, value| format!("{name} := {}", value.text),
    ..BASE
};

fn usage(place: &Path, package: &str) -> String {
    let package =
        if place.extension().is_some() { folder_of(place) } else { None }.unwrap_or(package.to_owned());
    format!("import its folder; then ask {package}.Choose")
}

/// The name of the folder of a file.
fn folder_of(file: &Path) -> Option<String> {
    let name = std::path::absolute(file).ok()?.parent()?.file_name()?.to_str()?.to_owned();
    is_identifier(&name).then_some(name)
}

fn files(request: &Request<'_>) -> Result<Output, Error> {
    let (mut values, names, planned) = skeleton::values(request, &LANGUAGE, true)?;
    let is_library = PACKAGES.split_ascii_whitespace().any(|name| name == names.package);
    let own = if is_library { names.package.clone() + "_heuristic" } else { names.package.clone() };
    // All files of a folder are one package.
    let package = request.into.and_then(folder_of).unwrap_or(own);
    let needs = [
        ("math", planned.needs_math(&["ctz", "divide", "log2", "max", "min", "modulo"])),
        ("math/bits", planned.helpers().contains(&"ctz") || planned.is_boosted()),
        ("sort", planned.tables.is_some()),
    ];
    let imports = needs.into_iter().filter_map(|(name, is_needed)| is_needed.then_some(name));
    values.insert("package", &package);
    values.insert("imports", &imports.collect::<Vec<&str>>());
    values.insert("parts", &request.model.choices.len().div_ceil(ah_decide::LANES));
    let with_tabs = |line: &str| {
        let text = line.trim_start_matches(' ');
        "\t".repeat((line.len() - text.len()) / 4) + text + "\n"
    };
    let text: String = skeleton::render("go/package.go", &values)?.lines().map(with_tabs).collect();
    let signature = planned.signature(&names);
    if request.into.is_some() {
        return Ok(Output::file(request, "", text, signature));
    }
    let files = [(format!("{package}.go"), text)].into();
    Ok(Output { place: request.out.join(package), files, signature, warning: None })
}
