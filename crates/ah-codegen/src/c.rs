//! C: one header for C99, C++ and CUDA. It needs no other file, and allocates nothing.

use std::collections::BTreeSet;

use ah_decide::LEAF;
use ah_types::expr::Type;
use ah_types::{ChoiceId, Device, FeatureKind, Model};

use crate::body::{Outcome, Reader};
use crate::boosters::wrapped;
use crate::code::{Binds, Code};
use crate::error::CodegenError;
use crate::expression::Syntax;
use crate::names::{C_NAMES, C_WORDS, Case, Names};
use crate::page::{Layout, Lines, about};
use crate::plan::{Plan, Planned, distinct_rankings};
use crate::skeleton;
use crate::target::{Output, Target};
use crate::text::{c_string, shown};

/// A header for C, C++ and CUDA.
#[derive(Clone, Copy, Debug)]
pub struct C;

/// How C writes code.
pub struct CSyntax<'m> {
    model: &'m Model,
    package: &'m str,
}

/// Returns the literal of a category. A text in C ends at its first NUL, so no value is a category that holds one: its literal
/// is no UTF-8, which no value is.
fn category(text: &str) -> String {
    if text.contains('\0') { r#""\377""#.to_owned() } else { c_string(text) }
}

impl Syntax for CSyntax<'_> {
    const IS_TYPED: bool = true;
    const AND: &'static str = "&&";
    const OR: &'static str = "||";
    const WIDTHS: [usize; 3] = [100, 90, 90];

    fn float(&self, x: f64) -> String {
        match x {
            x if x.is_nan() => "NAN".to_owned(),
            f64::INFINITY => "INFINITY".to_owned(),
            f64::NEG_INFINITY => "-INFINITY".to_owned(),
            x => format!("{x:?}"),
        }
    }

    fn text(&self, text: &str) -> String {
        category(text)
    }

    fn truth(&self, value: bool) -> &'static str {
        if value { "true" } else { "false" }
    }

    fn not_of(&self, a: &Code) -> Code {
        Code::new(Binds::Sign, format!("!{}", a.at_least(Binds::Sign))).reading(&[a])
    }

    fn is_nan(&self, a: &Code) -> Code {
        let compared = |operator| Code::binary(Binds::Comparison, a, operator, a);
        compared("!=").or_else(compared("=="))
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

    fn own(&self, _: &str, _: &[&Code]) -> Option<Code> {
        None
    }

    fn remainder(&self, a: &Code, b: &Code, is_negative: bool) -> Option<Code> {
        (a.is_integer && !is_negative)
            .then(|| Code { is_integer: true, ..Code::binary(Binds::Product, a, "%", b) })
    }

    /// Keeps a compiler from contracting a product and a sum to a fused multiply-add, which rounds once.
    fn rounded(&self, a: Code, helpers: &mut dyn FnMut(&'static str) -> String) -> Code {
        Code::call(&helpers("rounded"), &[&a])
    }

    fn assign(&self, name: &str, ty: Type, value: &Code, level: usize) -> String {
        let ty = match ty {
            Type::Number => "const double ",
            Type::Bool => "const bool ",
            Type::Category => "const char *",
        };
        format!("{}{ty}{name} = {};", "    ".repeat(level), value.text)
    }
}

impl Reader for CSyntax<'_> {
    fn logged(&self, names: &Names, slot: usize) -> Code {
        let is_integer = self.model.features.base().features()[slot].integer;
        Code { is_integer, ..Code::variable(&format!("c->{}", names.feature(slot))) }
    }

    fn converted(&self, _: &Model, _: usize, _: &Code) -> Option<Code> {
        None
    }

    fn computed(&self, names: &Names, slot: usize, _: &BTreeSet<usize>) -> Code {
        Code::atom(format!("{}_{}(c)", self.package, names.feature(slot)))
    }

    fn helper(&self, name: &str, _: &Names) -> String {
        format!("{}_{name}", self.package)
    }
}

impl Layout for CSyntax<'_> {
    fn block(&self, condition: &str) -> (String, Option<&'static str>) {
        (format!("if ({condition}) {{"), Some("}"))
    }

    fn one_line(&self, condition: &str, statement: &str) -> Option<String> {
        Some(format!("if ({condition}) {statement}"))
    }

    fn comment(&self, text: &str) -> String {
        format!("/* {text} */")
    }
}

/// Returns the definition of a function of expressions; `AH_` stands for the header's prefix.
fn helper_text(name: &str) -> String {
    match name {
        "abs" => "AH_API double AH_abs(double x) { return x < 0.0 ? -x : x; }".to_owned(),
        "divide" => "AH_API double AH_divide(double a, double b) { return b == 0.0 ? NAN : a / b; }".to_owned(),
        "min" => "AH_API double AH_min(double a, double b) { return b < a || b != b ? b : a; }".to_owned(),
        "max" => "AH_API double AH_max(double a, double b) { return b > a || b != b ? b : a; }".to_owned(),
        "floor" => "AH_API double AH_floor(double x) { return floor(x); }".to_owned(),
        "ceil" => "AH_API double AH_ceil(double x) { return ceil(x); }".to_owned(),
        "modulo" => "/* The remainder, with the sign of b; undefined where b is 0. */\nAH_API double AH_modulo(double a, double b) {\n    const double r = b \
                     == 0.0 ? NAN : fmod(a, b);\n    return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;\n}"
            .to_owned(),
        "ctz" => "/* The trailing zero bits of a whole number, at most 64; undefined for other numbers. */\nAH_API double AH_ctz(double x) {\n    int \
                  zeros = 0;\n    if (x == 0.0) return 64.0;\n    if (x != floor(x) || x - x != 0.0) return NAN;\n    for (; zeros < 64 && x * 0.5 == \
                  floor(x * 0.5); ++zeros) x *= 0.5;\n    return zeros;\n}"
            .to_owned(),
        "log2" => {
            let sum: Vec<String> = ah_types::expr::LOG2_COEFFICIENTS.iter().rev().map(|c| format!("{c:?}")).collect();
            format!(
                "/* The logarithm to base 2, with the same bits on every machine; undefined up to 0. */\nAH_API double AH_log2(double x) {{\n    const double coefficients[] = \
                 {{{}}};\n    double m, s, z, sum = 0.0;\n    int e, i;\n    if (!(x > 0.0)) return NAN;\n    if (x - x != 0.0) return x;\n    m = 2.0 * frexp(x, &e);\n    e -= \
                 1;\n    if (m > {:?}) {{ m *= 0.5; e += 1; }}\n    s = (m - 1.0) / (m + 1.0);\n    z = AH_rounded(s * s);\n    for (i = 0; i < {}; ++i) sum = AH_rounded(sum * z) + \
                 coefficients[i];\n    return e + AH_rounded(s * sum);\n}}",
                sum.join(", "),
                ah_types::expr::LOG2_LARGEST,
                sum.len()
            )
        }
        "rounded" => "/* Keeps the compiler from fusing a product and a sum, which would round once. */\nAH_API double AH_rounded(double x) {\n#if defined(__CUDA_ARCH__)\n    \
                      return __dmul_rn(x, 1.0);\n#elif defined(__GNUC__) && defined(__x86_64__)\n    __asm__(\"\" : \"+x\"(x));\n    return x;\n#elif defined(__GNUC__) && \
                      defined(__aarch64__)\n    __asm__(\"\" : \"+w\"(x));\n    return x;\n#else\n    volatile double stored = x;\n    return stored;\n#endif\n}"
            .to_owned(),
        _ => String::new(),
    }
}

impl Target for C {
    fn name(&self) -> &'static str {
        "c"
    }

    fn files(&self, plan: &Plan<'_>) -> Result<Output, CodegenError> {
        let model = plan.model;
        let names =
            Names::new(model, &plan.used, [Case::Kept, Case::Snake], &[C_WORDS, C_NAMES], Some(C_WORDS))?;
        let package = &names.package;
        let upper = package.to_ascii_uppercase();
        let syntax = CSyntax { model, package };
        let planned = plan.built(&syntax, &names);
        let constant = |id: ChoiceId| format!("{upper}_{}", names.choices[id.index()].to_ascii_uppercase());
        let (distinct, numbers) = distinct_rankings(model);
        let result = |outcome: Outcome, _: bool| match outcome {
            Outcome::Decline => "return -1;".to_owned(),
            Outcome::Choice(id) => format!("return {};", constant(id)),
            Outcome::Leaf(leaf) => format!("return {};", numbers[leaf]),
        };
        let mut values = skeleton::values(plan, &names);
        values.insert(
            "about",
            &about(model, planned.tables.is_none() && planned.leaves < 2)
                .iter()
                .map(|line| format!(" * {line}"))
                .collect::<Vec<_>>()
                .join("\n"),
        );
        let list: Vec<String> = (0..names.choices.len())
            .map(|i| format!("    {}{}", constant(ChoiceId(i as u32)), if i == 0 { " = 0" } else { "" }))
            .collect();
        values.insert("choices", &list.join(",\n"));
        let texts: Vec<String> = model.choices.iter().map(|name| c_string(name)).collect();
        values.insert("names", &texts.join(",\n        "));
        values.insert("count", &model.choices.len());
        values.insert("context", &context(model, &names, &planned));
        values.insert(
            "parameter",
            if planned.read.is_empty() { "void" } else { "const CONTEXT *c" }
                .replace("CONTEXT", &format!("struct {package}_context"))
                .as_str(),
        );
        values.insert("given", if planned.read.is_empty() { "" } else { "c" });
        values.insert(
            "first",
            if planned.read.is_empty() { "" } else { "const CONTEXT *c, " }
                .replace("CONTEXT", &format!("struct {package}_context"))
                .as_str(),
        );
        let mut helpers: BTreeSet<&str> = planned.helpers.iter().copied().collect();
        if helpers.contains("log2") {
            helpers.insert("rounded");
        }
        let mut functions: Vec<String> = Vec::new();
        if helpers.remove("rounded") {
            functions.push(helper_text("rounded"));
        }
        functions.extend(helpers.iter().map(|name| helper_text(name)));
        let ordered = planned.functions.iter();
        for (slot, (steps, value)) in ordered {
            let mut lines = Lines::new(&syntax, model, &result);
            lines.said.push(*slot);
            lines.steps(steps, 1, false);
            lines.lines.push(format!("    return {};", value.text));
            let name = shown(&model.features.all().features()[*slot].name);
            functions.push(format!(
                "/* {name} */\nAH_API double AH_{}(const struct AH_context *c) {{\n{}\n}}",
                names.feature(*slot),
                lines.lines.join("\n")
            ));
        }
        if plan.ranked || planned.tables.is_some() {
            functions.push(conditions(&planned, &syntax, model, &constant));
        }
        let nothing = |_: Outcome, _: bool| "return -1;".to_owned();
        match &planned.tables {
            Some(_) => functions.push(tables(
                &planned,
                &syntax,
                model,
                &Lines::new(&syntax, model, &nothing).print(&planned.body, 1),
            )),
            None if plan.ranked => {
                let body = Lines::new(&syntax, model, &result).print(&planned.leaf, 1);
                let parameter = if planned.read.is_empty() { "void" } else { "const struct AH_context *c" };
                functions.push(format!("/* Returns the number of the ranking, or -1. */\nAH_API int AH_leaf({parameter}) {{\n{body}\n}}"));
            }
            None => {}
        }
        values.insert("tables", &planned.tables.is_some());
        values.insert("boosters", &!model.boosters.is_empty());
        let mut at = 0;
        let mut starts = Vec::new();
        let entries = distinct.iter().flat_map(|ranking| {
            starts.push(at);
            at += ranking.len() + 1;
            ranking
                .iter()
                .map(|(id, allowed)| if *allowed { i64::from(id.0) } else { -2 - i64::from(id.0) })
                .chain([-1])
                .collect::<Vec<_>>()
        });
        let entries: Vec<String> = entries.map(|x| x.to_string()).collect();
        values.insert("rankings", &wrapped(entries, "        "));
        values.insert("starts", &wrapped(starts.iter().map(ToString::to_string), "        "));
        values.insert("fallback", &model.fallback.map_or(-1, |id| i64::from(id.0)));
        let prefixed = |text: &str| {
            text.replace("AH_API", &format!("{upper}_API"))
                .replace("AH_HOST", &format!("{upper}_HOST"))
                .replace("AH_", &format!("{package}_"))
        };
        let functions = prefixed(&functions.join("\n\n"));
        let body = if planned.tables.is_some() {
            String::new()
        } else {
            Lines::new(&syntax, model, &result).print(&planned.body, 1)
        };
        let all = format!("{functions}{body}");
        values.insert("needs_same", &all.contains(&format!("{package}_same(")));
        values.insert("functions", &functions);
        values.insert("body", &body);
        values.insert("device", &device(model).map(|text| prefixed(&text)).unwrap_or_default());
        let place =
            plan.into.map_or_else(|| plan.out.join(format!("{package}.h")), std::path::Path::to_owned);
        let signature = planned.signature(&names);
        Ok(Output {
            place,
            signature,
            files: [(String::new(), skeleton::render("c/header.h", &values)?)].into(),
        })
    }
}

fn context(model: &Model, names: &Names, planned: &Planned) -> String {
    let mut text = String::new();
    for slot in &planned.read {
        let feature = &model.features.base().features()[*slot];
        let ty = match feature.kind {
            FeatureKind::Numerical if feature.integer => "int64_t ",
            FeatureKind::Numerical => "double ",
            FeatureKind::Categorical if planned.truths.contains(slot) => "bool ",
            FeatureKind::Categorical => "const char *",
        };
        let name = names.feature(*slot);
        let mut comment =
            if feature.name == name { String::new() } else { format!("{}: ", shown(&feature.name)) };
        comment += &feature.description.as_deref().map(shown).unwrap_or_default();
        if model.missing.contains(slot) {
            comment += " NAN where it is missing.";
        }
        let comment = if comment.is_empty() { comment } else { format!(" /* {} */", comment.trim()) };
        text += &format!("    {ty}{name};{comment}\n");
    }
    text
}

fn conditions(
    planned: &Planned,
    syntax: &CSyntax<'_>,
    model: &Model,
    constant: &dyn Fn(ChoiceId) -> String,
) -> String {
    let (steps, all) = &planned.conditions;
    let nothing = |_: Outcome, _: bool| String::new();
    let lets = Lines::new(syntax, model, &nothing).print(steps, 1);
    let cases: Vec<String> = all
        .iter()
        .map(|(code, choices)| {
            let cases: Vec<String> = choices.iter().map(|id| format!("case {}:", constant(*id))).collect();
            format!("    {} return {};\n", cases.join(" "), code.text)
        })
        .collect();
    let first = if planned.read.is_empty() { "" } else { "const struct AH_context *c, " };
    let unused = if planned.read.is_empty() { "" } else { "    (void)c;\n" };
    match all.is_empty() {
        true => format!(
            "AH_API bool AH_is_eligible({first}int choice) {{\n{unused}    (void)choice;\n    return true;\n}}"
        ),
        false => format!(
            "/* Returns whether a choice can run on an input. */\nAH_API bool AH_is_eligible({first}int choice) {{\n{unused}{lets}\n    switch (choice) {{\n{}    default: return \
             true;\n    }}\n}}",
            cases.concat()
        ),
    }
}

/// Returns the tables, and the function that computes the columns.
fn tables(planned: &Planned, syntax: &CSyntax<'_>, model: &Model, guards: &str) -> String {
    let code = planned.tables.as_ref().expect("tables");
    let tables = &code.tables;
    let float = |x: f64| syntax.float(x);
    let array = |ty: &str, name: &str, values: Vec<String>| {
        format!("static {}const {ty} AH_{name}[] = {{\n{}}};", "AH_DATA ", wrapped(values, "    "))
    };
    let mut parts = Vec::new();
    let columns: Vec<String> =
        code.columns.iter().enumerate().map(|(i, code)| format!("    v[{i}] = {};\n", code.text)).collect();
    let c = if planned.read.is_empty() { "void *c" } else { "const struct AH_context *c" };
    parts.push(format!(
        "/* Computes the values that trees compare; NAN is undefined. Returns 0, or -1 outside the precondition. */\nAH_API int AH_columns({c}, double *v) {{\n    (void)c;\n    (void)v;\n{guards}\n{}    return 0;\n}}",
        columns.concat()
    ));
    let nodes = &tables.nodes;
    parts.push(array(
        "int32_t",
        "node_column",
        nodes.iter().map(|n| if n.0 == LEAF { "-1".to_owned() } else { n.0.to_string() }).collect(),
    ));
    parts.push(array("double", "node_threshold", nodes.iter().map(|n| float(n.1)).collect()));
    parts.push(array("int32_t", "node_left", nodes.iter().map(|n| n.2.to_string()).collect()));
    parts.push(array("int32_t", "end", tables.ends.iter().map(ToString::to_string).collect()));
    let or_zero = |mut values: Vec<String>| {
        if values.is_empty() {
            values.push("0".to_owned());
        }
        values
    };
    parts.push(array(
        "int32_t",
        "choice",
        or_zero(tables.ranking.iter().map(|r| r.choice.to_string()).collect()),
    ));
    parts.push(array("double", "score", or_zero(tables.ranking.iter().map(|r| float(r.score)).collect())));
    let flags = tables
        .ranking
        .iter()
        .zip(&tables.expected)
        .map(|(r, e)| (u8::from(r.allowed) + 2 * u8::from(*e)).to_string());
    parts.push("/* 1: the promise allows the choice; 2: a program is expected to offer it. */".to_owned());
    parts.push(array("uint8_t", "flags", or_zero(flags.collect())));
    let boosters = &tables.boosters;
    if !model.boosters.is_empty() {
        parts.push(array(
            "uint16_t",
            "column",
            or_zero(boosters.columns.iter().map(|c| c.0.to_string()).collect()),
        ));
        parts.push(array(
            "uint16_t",
            "column_end",
            or_zero(boosters.columns.iter().map(|c| c.1.to_string()).collect()),
        ));
        parts.push(array(
            "double",
            "threshold",
            or_zero(boosters.thresholds.iter().map(|x| float(*x)).collect()),
        ));
        parts.push("/* By block of boosters and row: the leaves that a column keeps. */".to_owned());
        parts.push(array(
            "uint64_t",
            "mask",
            or_zero(boosters.masks.iter().flat_map(|m| m.0).map(|x| format!("0x{x:x}u")).collect()),
        ));
        parts.push(array(
            "uint16_t",
            "first_row",
            boosters.first_rows.iter().map(ToString::to_string).collect(),
        ));
        parts.push(array("int8_t", "row", boosters.rows.iter().flatten().map(ToString::to_string).collect()));
    }
    let rule = tables.rule;
    let row = model.choices.len().div_ceil(ah_decide::LANES) * ah_decide::LANES;
    parts.push(format!(
        "enum {{ AH_COLUMNS = {}, AH_BOOSTED_COLUMNS = {}, AH_BOOSTERS = {}, AH_BLOCK = {}, AH_MASK_ROWS = {}, AH_ROW = {row}, AH_CHOICES = {} }};",
        code.columns.len().max(1),
        boosters.columns.len(),
        boosters.first_rows.len(),
        ah_decide::BLOCK,
        boosters.thresholds.len() + boosters.columns.len(),
        model.choices.len()
    ));
    parts.push(format!(
        "static AH_DATA const double AH_unit = {}, AH_margin = {};\nstatic AH_DATA const int AH_has_margin = {};",
        float(rule.unit),
        float(rule.margin.unwrap_or(0.0)),
        i32::from(rule.margin.is_some())
    ));
    parts.join("\n").replace("AH_DATA", "AH_API_DATA")
}

fn device(model: &Model) -> Option<String> {
    let device = model.device.as_ref()?;
    let (units, count) = match device {
        Device::Cpu(cpu) => ("cores", cpu.cores),
        Device::Cuda(cuda) => ("multiprocessors", cuda.multiprocessors),
    };
    Some(format!(
        "/* Returns true on another device than {}: do not ask the heuristic there. */\nAH_HOST bool AH_device_mismatch(const char *name, int {units}) {{\n    return strcmp(name, {}) \
         != 0 || {units} != {count};\n}}",
        shown(&device.to_string()),
        c_string(device.name())
    ))
}
