//! Python: one module that needs nothing else. PyTorch, Triton and Inductor read the same code with their own door beside it.

use std::collections::BTreeSet;

use ah_model::{Device, Error, FeatureKind, FieldValue, Model, ROW_NUMBERS, Target, fields};

use crate::code::{Binds, Code, Form};
use crate::language::{BASE, Language};
use crate::names::{Case, LONGEST, Namer, PYTHON_WORDS, is_identifier, package};
use crate::page::wrapped;
use crate::skeleton;
use crate::target::{Generator, Output, Request, stem};
use crate::text::{python_string, shown};

/// How Python writes code.
static LANGUAGE: Language = Language {
    reserved: [PYTHON_WORDS, ""],
    has_fields: false,
    is_typed: false,
    field: "",
    prefix: "_",
    functions: &[("abs", "abs")],
    and: "and",
    or: "or",
    not: Form("not $0", Binds::Comparison, Binds::Sum),
    truths: ["True", "False"],
    floats: ["math.nan", "math.inf", "-math.inf"],
    // In brackets, because nothing binds less.
    conditional: Form("$1 if $0 else $2", Binds::Choice, Binds::Or),
    to_float: Form("float($0)", Binds::Atom, Binds::Choice),
    is_in: Some((
        [
            Form("$0 in {$1}", Binds::Comparison, Binds::Sum),
            Form("$0 not in {$1}", Binds::Comparison, Binds::Sum),
        ],
        ", ",
    )),
    between: Some(Form("$0 <= $1 <= $2", Binds::Comparison, Binds::Sum)),
    own,
    converted,
    text: python_string,
    choice: |model, _, id| python_string(model.choice_name(id)),
    results: ["None", "$", "_RANKINGS[$]"],
    block: ["if ", ":", ""],
    // Where a value is None or of another kind, the model declines.
    guard: ["    try:\n", "\n    except (TypeError, ValueError, OverflowError):\n        return None"],
    comment: ["# ", ""],
    rows: ["(", "(", "(", "(", ")"],
    lanes: |lanes| {
        // Bytes without a sign.
        let bytes = lanes.iter().map(|x| format!("{:02x}", x - ROW_NUMBERS.start()));
        format!("\"{}\"", bytes.collect::<String>())
    },
    ..BASE
};

/// Whether some choices' names list fields: choices are then entries of `CONFIGS`.
fn has_configs(model: &Model) -> bool {
    model.choices.iter().any(|name| fields(name).is_some())
}

fn own(function: &str, operands: &[&Code]) -> Option<Code> {
    match (function, operands) {
        ("min" | "max", [a, b]) => {
            let inside = a.text.strip_prefix(function).and_then(|text| text.strip_prefix('('));
            Some(match inside.and_then(|text| text.strip_suffix(')')) {
                // `min(min(x, y), z)` is `min(x, y, z)`.
                Some(inside) if a.binds == Binds::Atom => {
                    Code::call(function, &[&Code { text: inside.to_owned(), ..(*a).clone() }, b])
                }
                // Faster than a call of Python's own function.
                _ if a.is_variable() && b.is_variable() => {
                    let operator = if function == "min" { "<" } else { ">" };
                    LANGUAGE.conditional.with(&[&Code::binary(Binds::Comparison, b, operator, a), b, a])
                }
                _ => Code::call(function, operands),
            })
        }
        ("abs", _) => Some(Code::call(function, operands)),
        ("floor" | "ceil", _) => {
            let call = Code::call(&format!("math.{function}"), operands);
            Some(Code { is_integer: true, ..call })
        }
        _ => None,
    }
}

/// A category as a text.
const TEXT: Form = Form("$0 if $0.__class__ is str else _text($0)", Binds::Choice, Binds::Atom);

fn converted(model: &Model, slot: usize, given: &Code) -> Option<Code> {
    let is_category = model.features.base().features()[slot].kind == FeatureKind::Categorical;
    let is_none = Code::new(Binds::Comparison, format!("{} is None", given.text)).reading(&[given]);
    let (value, none) = match is_category {
        true => (TEXT.with(&[given]).calling("text"), Code::atom("\"\"")),
        false => (given.clone(), LANGUAGE.number(f64::NAN)),
    };
    if model.missing.contains(&slot) || is_category && model.knows(slot, "") {
        let value = LANGUAGE.conditional.with(&[&is_none, &none, &value]);
        return Some(Code { is_integer: !is_category, ..value });
    }
    is_category.then_some(value)
}

/// A list of names with commas between them, on several lines of a function's head if it is long.
fn listed(all: impl Iterator<Item = String>) -> String {
    let lines = wrapped(all, "        ");
    lines.trim().trim_end_matches(',').to_owned()
}

/// A tuple of texts.
fn tuple<'n>(all: impl ExactSizeIterator<Item = &'n String>) -> String {
    let comma = if all.len() == 1 { "," } else { "" };
    format!("({}{comma})", listed(all.map(|text| python_string(text))))
}

/// The file of a module by its skeleton. Only Python's own has all features as parameters (`gives_all`); the doors of other programs look
/// up those that the code reads.
fn file(request: &Request<'_>, skeleton: &str, module: &str, gives_all: bool) -> Result<Output, Error> {
    let model = request.model;
    let mut language = LANGUAGE;
    if has_configs(model) {
        language.results[1] = "CONFIGS[$]";
    }
    let (mut values, names, planned) = skeleton::values(request, &language, gives_all)?;
    let parameters =
        |slots: &BTreeSet<usize>| listed(slots.iter().map(|slot| names.feature(*slot).to_owned()));
    let features = planned.given.iter().map(|slot| &model.features.base().features()[*slot].name);
    values.insert("needs_math", &planned.needs_math(&["ceil", "ctz", "floor", "log2"]));
    let device = model.device.as_ref().map(|device| python_string(&shown(&device.to_string())));
    let inserted = [
        ("module", module.to_owned()),
        ("class", module.trim_start_matches('_').to_owned()),
        ("device_shown", device.unwrap_or_default()),
        ("features", tuple(features)),
        ("choices", tuple(model.choices.iter())),
        ("configs", if has_configs(model) { configs(model) } else { String::new() }),
        ("signature", parameters(&planned.given)),
        ("arguments", parameters(&planned.read)),
        ("mismatch", mismatch(model)),
        ("optimization", python_string(&model.optimization)),
        ("precondition_device", metadata(model)),
    ];
    inserted.iter().for_each(|(key, text)| values.insert(*key, text));
    let text = skeleton::render(skeleton, &values)?;
    Ok(Output::file(request, &format!("{module}.py"), text, planned.signature(&names)))
}

fn configs(model: &Model) -> String {
    let field = |(key, value): &(String, FieldValue)| {
        let value = if let FieldValue::Text(text) = value { python_string(text) } else { value.to_string() };
        format!("{}: {value}", python_string(key))
    };
    let entry = |name: &String| {
        let text = python_string(name);
        let config = fields(name).map(|all| all.iter().map(field).collect::<Vec<_>>().join(", "));
        let config = config.map_or_else(|| text.clone(), |config| format!("{{{config}}}"));
        format!("    {text}: {config},\n")
    };
    model.choices.iter().map(entry).collect()
}

/// The comparisons of the guard, a line each; none for a model of every device.
fn mismatch(model: &Model) -> String {
    let differs = |name: &str, value: String| format!("{name} is not None and {name} != {value}");
    let name = model.device.iter().map(|device| format!("name != {}", python_string(device.name())));
    let mut parts: Vec<String> = name.collect();
    if let Some(Device::Cuda(cuda)) = &model.device {
        parts.push(differs("multiprocessors", cuda.multiprocessors.to_string()));
    }
    if model.device_capa.0 > 0 {
        parts.push(differs("capability", format!("({}, {})", model.device_capa.0, model.device_capa.1)));
    }
    parts.extend(model.shared_memory.map(|bytes| differs("shared_memory", bytes.to_string())));
    parts.join("\n        or ")
}

/// The comparisons of PyTorch's metadata with the model's.
fn metadata(model: &Model) -> String {
    let mut text = String::new();
    if let Some(bytes) = model.shared_memory {
        text += &format!(" and metadata.shared_memory == {bytes}");
    }
    let (major, minor) = model.device_capa;
    if major > 0 {
        text += &format!(" and str(metadata.device_capa) == \"({major}, {minor})\"");
    }
    text
}

/// A sentence on the choices that PyTorch's compiler never offers, by its way of naming them.
fn foreign_choices(model: &Model) -> Option<String> {
    let is_own = |name: &&String| {
        ["orig", "pad"].contains(&name.as_str())
            || ["extern_", "type=triton"].iter().any(|begin| name.starts_with(begin))
    };
    let own: Vec<&str> = model.choices.iter().filter(is_own).map(String::as_str).collect();
    let all = model.choices.len();
    (own.len() < all).then(|| {
        let which = if own.is_empty() || own.len() > 3 { String::new() } else { format!(" ({})", own.join(", ")) };
        format!(
            "PyTorch offers {} of the model's {all} choices{which}, by their names; it never takes another one. Learn from PyTorch's \
             own log for a heuristic among its kernels",
            own.len()
        )
    })
}

/// A module without dependencies.
pub const PYTHON: Generator = Generator {
    target: Target::Python,
    usage: |place, _| format!("ask it: from {} import choose", stem(place)),
    endings: &["py"],
    files: |request| file(request, "python/module.py", &package(request.model), true),
};

/// A module with a function for `triton.autotune(prune_configs_by={"early_config_prune": …})`.
pub const TRITON: Generator = Generator {
    target: Target::Triton,
    usage: |place, _| {
        let file = place.to_string_lossy();
        let module = stem(place);
        format!(
            "give it to @autoheuristic.tune(heuristic={file:?}), or {module}.early_config_prune to triton.autotune"
        )
    },
    endings: &["py"],
    files: |request| file(request, "triton/prune.py", &(package(request.model) + "_prune"), false),
};

/// A module with a preprocessing function for `torch._inductor.select_algorithm`.
pub const INDUCTOR: Generator = Generator {
    target: Target::Inductor,
    usage: |place, _| format!("import {0} and call {0}.register() before torch.compile", stem(place)),
    endings: &["py"],
    files: |request| {
        let output = file(request, "inductor/plugin.py", &(package(request.model) + "_inductor"), false)?;
        Ok(Output { warning: foreign_choices(request.model), ..output })
    },
};

/// One file for PyTorch's own folder of learned heuristics, `torch/_inductor/autoheuristic/artifacts/`.
pub const PYTORCH: Generator = Generator {
    target: Target::Pytorch,
    usage: |_, _| "copy it into torch/_inductor/autoheuristic/artifacts".to_owned(),
    endings: &["py"],
    files: |request| {
        let heuristic = &request.model.heuristic;
        let case = if is_identifier(heuristic) { Case::Kept } else { Case::Camel };
        // PyTorch's own class names are around it.
        let own = "Choice AHContext AHMetadata LearnedHeuristic LearnedHeuristicDecision";
        let class = Namer::new(case, &[PYTHON_WORDS, own]).give(heuristic, "Heuristic", LONGEST);
        let output = file(request, "pytorch/artifact.py", &format!("_{class}"), false)?;
        Ok(Output { warning: foreign_choices(request.model), ..output })
    },
};
