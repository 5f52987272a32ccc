//! Python: one module that needs nothing else. PyTorch, Triton and Inductor read the same code with their own door beside it.

use ah_types::{Device, FieldValue, Model};

use crate::body::Outcome;
use crate::error::CodegenError;
use crate::expression::Syntax;
use crate::names::{Case, Names, PYTHON_WORDS, identifier, is_identifier};
use crate::page::{Fields, Lines, about};
use crate::plan::{Plan, Planned, distinct_rankings};
use crate::python_syntax::{PythonSyntax, tuple};
use crate::signature::Signature;
use crate::skeleton;
use crate::target::{Output, Target};
use crate::text::{python_string, shown};

/// A module without dependencies.
#[derive(Clone, Copy, Debug)]
pub struct Python;

/// The functions of expressions that Python lacks, raises in, or defines otherwise.
fn helper_text(name: &str) -> String {
    match name {
        "abs" => "def _abs(x):\n    return abs(x)".to_owned(),
        "min" | "max" => {
            let operator = if name == "min" { "<" } else { ">" };
            format!("def _{name}(a, b):\n    return b if b {operator} a or b != b else a")
        }
        "floor" | "ceil" => format!("def _{name}(x):\n    return float(math.{name}(x)) if x - x == 0.0 else x"),
        "divide" => "def _divide(a, b):\n    return math.nan if b == 0.0 else a / b".to_owned(),
        "modulo" => "def _modulo(a, b):\n    return math.nan if b == 0.0 else a % b".to_owned(),
        "ctz" => "_ZEROS = {1 << bit: bit for bit in range(64)}\n\n\ndef _ctz(x):\n    if not float(x).is_integer():\n        return math.nan\n    whole = int(x)\n    return _ZEROS.get(whole & -whole, 64)"
            .to_owned(),
        "log2" => {
            let coefficients: Vec<String> =
                ah_types::expr::LOG2_COEFFICIENTS.iter().rev().map(|c| format!("    {c:?},\n")).collect();
            format!(
                "# From the last coefficient to the first.\n_LOG2 = (\n{})\n\n\ndef _log2(x):\n    # The same bits on every machine.\n    if not x > 0.0 or x \
                 == math.inf:\n        return x if x == math.inf else math.nan\n    m, e = math.frexp(x)\n    m, e = 2.0 * m, e - 1.0\n    if m \
                 > {:?}:\n        m, e = 0.5 * m, e + 1.0\n    s = (m - 1.0) / (m + 1.0)\n    total = 0.0\n    for coefficient in _LOG2:\n        \
                 total = total * (s * s) + coefficient\n    return e + s * total",
                coefficients.concat(),
                ah_types::expr::LOG2_LARGEST
            )
        }
        _ => String::new(),
    }
}

/// The parts of a module that Python's targets share, by the names that their skeletons give them.
pub fn values(plan: &Plan<'_>, case: Case) -> Result<(tera::Context, Names, Signature), CodegenError> {
    let model = plan.model;
    let syntax = PythonSyntax;
    let names = Names::new(model, &plan.used, [case, Case::Snake], &[PYTHON_WORDS], None)?;
    let planned = plan.built(&syntax, &names);
    let mut values = skeleton::values(plan, &names);
    let fields = Fields::new(model);
    let has_configs = !fields.columns.is_empty();
    let choice = |choice: ah_types::ChoiceId| {
        let name = python_string(model.choice_name(choice));
        if has_configs { format!("CONFIGS[{name}]") } else { name }
    };
    let (distinct, numbers) = distinct_rankings(model);
    let result = |outcome: Outcome, _: bool| match outcome {
        Outcome::Decline => "return None".to_owned(),
        Outcome::Choice(id) => format!("return {}", choice(id)),
        Outcome::Leaf(leaf) => format!("return {}", numbers[leaf]),
    };
    let parameters: Vec<&str> = planned.read.iter().map(|slot| names.feature(*slot)).collect();
    let joined = parameters.join(", ");
    let is_constant = planned.read.is_empty();
    let signature = if is_constant { "**_features".to_owned() } else { joined.clone() };
    let signature = if is_constant && plan.ranked { "*_features".to_owned() } else { signature };
    let body = |steps: &[crate::body::Step]| {
        // Where a value is None or of another kind, the model declines.
        if is_constant {
            return Lines::new(&syntax, model, &result).print(steps, 1);
        }
        let body = Lines::new(&syntax, model, &result).print(steps, 2);
        format!("    try:\n{body}\n    except TypeError:\n        return None")
    };
    let texts = |all: &mut dyn Iterator<Item = &str>| {
        let all: Vec<String> = all.map(python_string).collect();
        tuple(&all)
    };
    let features = model.features.base().features();
    values.insert("features", &texts(&mut planned.read.iter().map(|slot| features[*slot].name.as_str())));
    values.insert("choices", &texts(&mut model.choices.iter().map(String::as_str)));
    values.insert("configs", &if has_configs { configs(model, &fields) } else { String::new() });
    values.insert(
        "fallback",
        &model.fallback.map_or("None".to_owned(), |id| python_string(model.choice_name(id))),
    );
    let is_trivial = planned.tables.is_none() && planned.leaves < 2;
    values.insert("about", &about(model, is_trivial).join("\n"));
    values.insert(
        "comments",
        &about(model, is_trivial).iter().map(|line| format!("# {line}")).collect::<Vec<_>>().join("\n"),
    );
    values.insert("signature", &signature);
    values.insert("arguments", &joined);
    values.insert("documented", &documented(model, &names, &planned));
    let mut functions: Vec<String> = planned.helpers.iter().map(|name| helper_text(name)).collect();
    for (slot, (steps, value)) in &planned.functions {
        let inputs: Vec<&str> =
            crate::body::inputs(model, *slot).into_iter().map(|slot| names.feature(slot)).collect();
        let mut lines = Lines::new(&syntax, model, &result);
        lines.said.push(*slot);
        lines.steps(steps, 1, false);
        lines.lines.push(format!("    return {}", value.text));
        let name = shown(&features_name(model, *slot));
        functions.push(format!(
            "# {name}\ndef _{}({}):\n{}",
            names.feature(*slot),
            inputs.join(", "),
            lines.lines.join("\n")
        ));
    }
    values.insert("tables", &planned.tables.is_some());
    if plan.ranked || planned.tables.is_some() {
        functions.extend(crate::boosters::python(plan, &planned, &signature, &body));
    }
    values.insert("choose", &if planned.tables.is_some() { String::new() } else { body(&planned.body) });
    let distinct: Vec<String> = distinct
        .iter()
        .map(|ranking| {
            let entries: Vec<String> = ranking
                .iter()
                .map(|(id, allowed)| {
                    format!("({}, {})", python_string(model.choice_name(*id)), syntax.truth(*allowed))
                })
                .collect();
            format!("    {},\n", tuple(&entries))
        })
        .collect();
    values.insert("rankings", &distinct.concat());
    values.insert("functions", &functions.iter().map(|text| format!("{text}\n\n\n")).collect::<String>());
    let text = functions.concat() + &body(&planned.body) + &body(&planned.leaf);
    values.insert("needs_math", &text.contains("math."));
    let device = model.device.as_ref();
    values.insert(
        "device",
        &device.map_or("None".to_owned(), |device| python_string(&shown(&device.to_string()))),
    );
    let mismatch = mismatch(model);
    values.insert("mismatch", if mismatch.is_empty() { "False" } else { &mismatch });
    values.insert("boosters", &!model.boosters.is_empty());
    values.insert("optimization", &python_string(&model.optimization));
    values.insert("precondition_device", &metadata(model));
    let signature = planned.signature(&names);
    Ok((values, names, signature))
}

fn features_name(model: &Model, slot: usize) -> String {
    model.features.all().features()[slot].name.clone()
}

fn documented(model: &Model, names: &Names, planned: &Planned) -> String {
    let mut text = String::new();
    for slot in &planned.read {
        let feature = &model.features.base().features()[*slot];
        let is_other = feature.name != names.feature(*slot);
        let name = if is_other { format!("{}: ", shown(&feature.name)) } else { String::new() };
        let description = feature.description.as_deref().map(shown).unwrap_or_default();
        if is_other || !description.is_empty() {
            text += &format!("    {}: {name}{description}\n", names.feature(*slot));
        }
    }
    text
}

fn configs(model: &Model, fields: &Fields) -> String {
    let value = |value: &FieldValue| match value {
        FieldValue::Text(text) => python_string(text),
        other => other.to_string(),
    };
    let entry = |(name, all): (&String, &Vec<(String, FieldValue)>)| {
        let config = match &all[..] {
            [] => python_string(name),
            all => {
                let all: Vec<String> =
                    all.iter().map(|(key, x)| format!("{}: {}", python_string(key), value(x))).collect();
                format!("{{{}}}", all.join(", "))
            }
        };
        format!("    {}: {config},\n", python_string(name))
    };
    model.choices.iter().zip(&fields.of).map(entry).collect()
}

/// Returns the comparisons of the guard.
fn mismatch(model: &Model) -> String {
    let differs = |name: &str, value: String| format!("{name} is not None and {name} != {value}");
    let mut parts = Vec::new();
    match &model.device {
        Some(Device::Cuda(cuda)) => {
            parts.push(format!("name != {}", python_string(&cuda.name)));
            parts.push(differs("multiprocessors", cuda.multiprocessors.to_string()));
        }
        Some(Device::Cpu(cpu)) => parts.push(format!("name != {}", python_string(&cpu.model))),
        None => {}
    }
    if model.device_capa.0 > 0 {
        parts.push(differs("capability", format!("({}, {})", model.device_capa.0, model.device_capa.1)));
    }
    parts.extend(model.shared_memory.map(|bytes| differs("shared_memory", bytes.to_string())));
    parts.join(" or ")
}

/// Returns the comparisons of PyTorch's metadata with the model's.
fn metadata(model: &Model) -> String {
    let mut text = String::new();
    if let Some(bytes) = model.shared_memory {
        text += &format!("\n            and metadata.shared_memory == {bytes}");
    }
    let (major, minor) = model.device_capa;
    if major > 0 {
        text += &format!("\n            and str(metadata.device_capa) == \"({major}, {minor})\"");
    }
    text
}

/// Returns one file of a skeleton.
fn file(plan: &Plan<'_>, skeleton: &str, suffix: &str) -> Result<Output, CodegenError> {
    let (mut values, names, signature) = values(plan, Case::Kept)?;
    let module = format!("{}{suffix}", names.package);
    values.insert("module", &module);
    let place = plan.into.map_or_else(|| plan.out.join(format!("{module}.py")), std::path::Path::to_owned);
    Ok(Output { place, signature, files: [(String::new(), skeleton::render(skeleton, &values)?)].into() })
}

impl Target for Python {
    fn name(&self) -> &'static str {
        "python"
    }

    fn files(&self, plan: &Plan<'_>) -> Result<Output, CodegenError> {
        file(plan, "python/module.py", "")
    }
}

/// A module with a function for `triton.autotune(prune_configs_by={"early_config_prune": …})`.
#[derive(Clone, Copy, Debug)]
pub struct Triton;

impl Target for Triton {
    fn name(&self) -> &'static str {
        "triton"
    }

    fn has_rankings(&self) -> bool {
        true
    }

    fn files(&self, plan: &Plan<'_>) -> Result<Output, CodegenError> {
        file(plan, "triton/prune.py", "_prune")
    }
}

/// A module with a preprocessing function for `torch._inductor.select_algorithm`.
#[derive(Clone, Copy, Debug)]
pub struct Inductor;

impl Target for Inductor {
    fn name(&self) -> &'static str {
        "inductor"
    }

    fn has_rankings(&self) -> bool {
        true
    }

    fn files(&self, plan: &Plan<'_>) -> Result<Output, CodegenError> {
        file(plan, "inductor/plugin.py", "_inductor")
    }
}

/// One file for PyTorch's own folder of learned heuristics, `torch/_inductor/autoheuristic/artifacts/`.
#[derive(Clone, Copy, Debug)]
pub struct Pytorch;

impl Target for Pytorch {
    fn name(&self) -> &'static str {
        "pytorch"
    }

    fn has_rankings(&self) -> bool {
        true
    }

    fn files(&self, plan: &Plan<'_>) -> Result<Output, CodegenError> {
        let (mut values, _, signature) = values(plan, Case::Kept)?;
        let heuristic = &plan.model.heuristic;
        let case = if is_identifier(heuristic) { Case::Kept } else { Case::Camel };
        let class = identifier(heuristic, case, "Heuristic");
        // PyTorch's own class names are around it.
        let class = match class.as_str() {
            "Choice" | "AHContext" | "AHMetadata" | "LearnedHeuristic" | "LearnedHeuristicDecision" => {
                class + "_"
            }
            _ if PYTHON_WORDS.split_ascii_whitespace().any(|word| word == class) => class + "_",
            _ => class,
        };
        values.insert("class", &class);
        let place =
            plan.into.map_or_else(|| plan.out.join(format!("_{class}.py")), std::path::Path::to_owned);
        Ok(Output {
            place,
            signature,
            files: [(String::new(), skeleton::render("pytorch/artifact.py", &values)?)].into(),
        })
    }
}
