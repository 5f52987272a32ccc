//! How C, Rust and Python write a plain function.

use ah_types::ChoiceId;
use ah_types::expr::Type;

use crate::lower::LoweredModel;
use crate::printing::code::{Binds, Code};
use crate::printing::expression::{Calls, Dialect};
use crate::printing::keywords::{c_keywords, python_keywords, rust_keywords};
use crate::printing::names::{Case, Namer, single};
use crate::printing::text::{c_string, number, python_string, rust_string};

/// A language that has the form `switch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    C,
    Rust,
    Python,
}

impl Syntax {
    /// Returns the ending of a file's name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::C => "h",
            Self::Rust => "rs",
            Self::Python => "py",
        }
    }

    /// Returns the words that no name may be.
    fn reserved(self) -> &'static str {
        match self {
            Self::C => concat!(c_keywords!(), " ceil floor log2 fabs fmod fmin fmax strcmp"),
            Self::Rust => concat!(rust_keywords!(), " f64 i64"),
            Self::Python => concat!(python_keywords!(), " abs min max"),
        }
    }
}

/// A model in one language, without helpers and types of its own.
pub struct Plain<'a> {
    lowered: &'a LoweredModel<'a>,
    syntax: Syntax,
    /// By slot.
    names: Vec<String>,
    /// The values of the derived features so far.
    pub values: Vec<Code>,
}

impl<'a> Plain<'a> {
    pub fn new(lowered: &'a LoweredModel<'a>, syntax: Syntax) -> Self {
        let mut namer = Namer::new(Case::Snake, syntax.reserved());
        let features = lowered.model.features.all().features();
        let names = features.iter().map(|feature| namer.give(&feature.name, "feature")).collect();
        Self { lowered, syntax, names, values: Vec::new() }
    }

    /// Returns the name of a feature.
    pub fn name(&self, slot: usize) -> &str {
        &self.names[slot]
    }

    /// Returns the value of a feature.
    pub fn value(&self, slot: usize) -> Code {
        let derived = slot.checked_sub(self.lowered.model.features.base().len());
        let value = derived.and_then(|derived| self.values.get(derived));
        value.cloned().unwrap_or_else(|| Code::atom(&self.names[slot]))
    }

    /// Returns true for a logged category that is only ever true or false.
    fn is_truth(&self, slot: usize) -> bool {
        let variants = self.lowered.variants.get(slot);
        variants.is_some_and(|v| !v.is_empty() && v.iter().all(|text| matches!(*text, "False" | "True")))
    }

    /// Returns the condition that a categorical feature has one of these categories, of which there is at least one, or that it has
    /// another one.
    pub fn is_in(&self, slot: usize, categories: &[&str], equal: bool) -> Code {
        if let [category] = categories {
            return self.is(slot, category, equal);
        }
        let texts = categories.iter().map(|category| self.string(category));
        match self.syntax {
            Syntax::C => {
                let (operator, binds) = if equal { (" || ", Binds::Or) } else { (" && ", Binds::And) };
                let compared = categories.iter().map(|category| self.is(slot, category, equal).alone());
                Code::new(binds, compared.collect::<Vec<_>>().join(operator))
            }
            Syntax::Rust => {
                let value = self.value(slot).alone();
                let matches = format!("matches!({value}, {})", texts.collect::<Vec<_>>().join(" | "));
                Code::new(Binds::Sign, if equal { matches } else { format!("!{matches}") })
            }
            Syntax::Python => {
                let (value, operator) =
                    (self.value(slot).above(Binds::Comparison), if equal { "in" } else { "not in" });
                let set = texts.collect::<Vec<_>>().join(", ");
                Code::new(Binds::Comparison, format!("{value} {operator} {{{set}}}"))
            }
        }
    }

    /// Returns the condition that a categorical feature has this category, or that it has another one.
    pub fn is(&self, slot: usize, category: &str, equal: bool) -> Code {
        if self.is_truth(slot) && matches!(category, "False" | "True") {
            let value = self.value(slot);
            return if (category == "True") == equal {
                value
            } else {
                Code::new(Binds::Sign, self.negated(value))
            };
        }
        self.same(self.value(slot), Code::atom(self.string(category)), equal)
    }

    fn same(&self, left: Code, right: Code, equal: bool) -> Code {
        let operator = if equal { "==" } else { "!=" };
        match self.syntax {
            Syntax::C => {
                let compared = Code::call("strcmp", [left, right]);
                Code::binary(Binds::Comparison, compared, operator, Code::atom("0"))
            }
            Syntax::Rust | Syntax::Python => Code::binary(Binds::Comparison, left, operator, right),
        }
    }

    /// Returns the condition that a truth value is false.
    pub fn negated(&self, truth: Code) -> String {
        match self.syntax {
            Syntax::Python => format!("not {}", truth.at_least(Binds::Comparison)),
            Syntax::C | Syntax::Rust => format!("!{}", truth.at_least(Binds::Sign)),
        }
    }

    /// Returns a threshold as people write it.
    pub fn threshold(&self, x: f64) -> String {
        let text = number(x);
        match self.syntax {
            Syntax::Rust => text,
            Syntax::C | Syntax::Python => text.strip_suffix(".0").map_or(text.clone(), str::to_owned),
        }
    }

    /// Returns a string literal in ASCII.
    pub fn string(&self, text: &str) -> String {
        match self.syntax {
            Syntax::C => c_string(text),
            Syntax::Rust => rust_string(text),
            Syntax::Python => python_string(text),
        }
    }

    /// Returns the result that is a choice. Without a fallback, a path may have none.
    pub fn result(&self, choice: Option<ChoiceId>) -> String {
        let model = self.lowered.model;
        let name = choice.map(|choice| self.string(model.choice_name(choice)));
        match (self.syntax, name) {
            (Syntax::Rust, Some(name)) if model.fallback.is_none() => format!("Some({name})"),
            (_, Some(name)) => name,
            (Syntax::C, None) => "0".to_owned(),
            (_, None) => "None".to_owned(),
        }
    }

    /// Returns the statement that ends the function with a result.
    pub fn returned(&self, level: usize, result: &str) -> String {
        let end = if self.syntax == Syntax::Python { "" } else { ";" };
        format!("{}return {result}{end}", indent(level))
    }

    /// Returns the statement that ends the function with a result on a condition.
    pub fn guard(&self, level: usize, condition: &str, result: &str) -> Vec<String> {
        let indent = indent(level);
        match self.syntax {
            Syntax::C => vec![format!("{indent}if ({condition}) return {result};")],
            Syntax::Rust => vec![format!("{indent}if {condition} {{ return {result}; }}")],
            Syntax::Python => vec![format!("{indent}if {condition}:"), self.returned(level + 1, result)],
        }
    }

    /// Returns statements on a condition.
    pub fn block(&self, level: usize, condition: &str, inner: Vec<String>) -> Vec<String> {
        let indent = indent(level);
        let (first, last) = match self.syntax {
            Syntax::C => (format!("{indent}if ({condition}) {{"), Some(format!("{indent}}}"))),
            Syntax::Rust => (format!("{indent}if {condition} {{"), Some(format!("{indent}}}"))),
            Syntax::Python => (format!("{indent}if {condition}:"), None),
        };
        [first].into_iter().chain(inner).chain(last).collect()
    }

    /// Returns the assignment of a derived feature that is used more than once.
    pub fn local(&self, ty: Type, name: &str, value: &str) -> String {
        let indent = indent(0);
        match (self.syntax, ty) {
            (Syntax::C, Type::Number) => format!("{indent}const double {name} = {value};"),
            (Syntax::C, Type::Bool) => format!("{indent}const int {name} = {value};"),
            (Syntax::C, Type::Category) => format!("{indent}const char *{name} = {value};"),
            (Syntax::Rust, _) => format!("{indent}let {name} = {value};"),
            (Syntax::Python, _) => format!("{indent}{name} = {value}"),
        }
    }

    /// Returns the statements that give each of these features its missing value where it is `None`: Python's callers pass that, for
    /// features that training saw missing.
    pub fn missing_values(&self, parameters: &[usize]) -> Vec<String> {
        if self.syntax != Syntax::Python {
            return Vec::new();
        }
        let value = |slot: &usize| {
            let name = &self.names[*slot];
            let missing = if self.lowered.is_logged_category(*slot) { "\"\"" } else { "math.nan" };
            format!("{}{name} = {missing} if {name} is None else {name}", indent(0))
        };
        parameters.iter().filter(|slot| self.lowered.is_missing(**slot)).map(value).collect()
    }

    /// Returns the name of the function.
    pub fn function_name(&self) -> String {
        single(&self.lowered.model.heuristic, Case::Snake, "heuristic", self.syntax.reserved())
    }

    /// Returns the whole source: the comment, and the function of these features.
    pub fn function(&self, comment: &[String], parameters: &[usize], body: &[String]) -> String {
        let model = self.lowered.model;
        let name = self.function_name();
        let optional = |slot: usize, class: &str| {
            if self.lowered.is_missing(slot) { format!("Optional[{class}]") } else { class.to_owned() }
        };
        let parameter = |slot: &usize| {
            let name = &self.names[*slot];
            let is_text = self.lowered.is_logged_category(*slot);
            match (self.syntax, is_text, self.is_truth(*slot)) {
                (Syntax::C, true, true) => format!("int {name}"),
                (Syntax::C, true, false) => format!("const char *{name}"),
                (Syntax::C, false, _) => format!("double {name}"),
                (Syntax::Rust, true, true) => format!("{name}: bool"),
                (Syntax::Rust, true, false) => format!("{name}: &str"),
                (Syntax::Rust, false, _) => format!("{name}: f64"),
                (Syntax::Python, true, true) => format!("{name}: bool"),
                (Syntax::Python, true, false) => format!("{name}: {}", optional(*slot, "str")),
                (Syntax::Python, false, _) => format!("{name}: {}", optional(*slot, "float")),
            }
        };
        let parameters: Vec<String> = parameters.iter().map(parameter).collect();
        let parameters = parameters.join(", ");
        let mark = concat!("@generated by ah-codegen ", env!("CARGO_PKG_VERSION"), " --form switch");
        let body = body.join("\n");
        match self.syntax {
            Syntax::C => {
                let comment = comment.join("\n * ");
                let parameters = if parameters.is_empty() { "void" } else { &parameters };
                let mut includes = String::new();
                for (header, function) in [
                    ("math.h", ["floor(", "ceil(", "log2(", "fabs(", "fmod(", "fmin(", "fmax("].as_slice()),
                    ("string.h", &["strcmp("]),
                ] {
                    if function.iter().any(|function| body.contains(function)) {
                        includes += &format!("#include <{header}>\n");
                    }
                }
                format!(
                    "/* {mark}\n * {comment} */\n{includes}static const char *{name}({parameters}) {{\n{body}\n}}\n"
                )
            }
            Syntax::Rust => {
                let comment = comment.join("\n/// ");
                let text = if model.fallback.is_some() { "&'static str" } else { "Option<&'static str>" };
                format!(
                    "// {mark}\n/// {comment}\n#[rustfmt::skip]\npub fn {name}({parameters}) -> {text} {{\n{body}\n}}\n"
                )
            }
            Syntax::Python => {
                let comment = comment.join("\n# ");
                let mut import = String::new();
                for (line, word, place) in [
                    ("import math\n", "math.", &body),
                    ("from typing import Optional\n", "Optional[", &parameters),
                ] {
                    import += if place.contains(word) { line } else { "" };
                }
                let import = if import.is_empty() { import } else { import + "\n\n" };
                format!("# {mark}\n# {comment}\n{import}def {name}({parameters}):\n{body}\n")
            }
        }
    }
}

fn indent(level: usize) -> String {
    " ".repeat(4 * (level + 1))
}

impl Dialect for Plain<'_> {
    fn number(&self, x: f64) -> Code {
        let text = match (self.syntax, x.is_infinite()) {
            (Syntax::C, true) => "HUGE_VAL".to_owned(),
            (Syntax::Rust, true) => "f64::INFINITY".to_owned(),
            (Syntax::Python, true) => "math.inf".to_owned(),
            (Syntax::Python, false) => self.threshold(x),
            (_, false) => number(x),
        };
        Code::literal(if x == f64::NEG_INFINITY { format!("-{text}") } else { text })
    }

    fn truth(&self, value: bool) -> Code {
        Code::atom(match (self.syntax, value) {
            (Syntax::C, true) => "1",
            (Syntax::C, false) => "0",
            (Syntax::Rust, true) => "true",
            (Syntax::Rust, false) => "false",
            (Syntax::Python, true) => "True",
            (Syntax::Python, false) => "False",
        })
    }

    fn category(&self, name: &str) -> Code {
        Code::atom(self.string(name))
    }

    fn feature(&self, slot: usize) -> Code {
        if self.is_truth(slot) {
            self.category_of(self.value(slot), &mut Calls::default())
        } else {
            self.value(slot)
        }
    }

    fn is_category(&self, slot: usize, name: &str, equal: bool) -> Option<Code> {
        self.lowered.is_logged_category(slot).then(|| self.is(slot, name, equal))
    }

    fn equal(&self, left: Code, right: Code, equal: bool, _: &mut Calls) -> Code {
        self.same(left, right, equal)
    }

    fn not(&self, a: Code, _: &mut Calls) -> Code {
        Code::new(Binds::Sign, self.negated(a))
    }

    fn and(&self, a: Code, b: Code, _: &mut Calls) -> Code {
        Code::binary(Binds::And, a, if self.syntax == Syntax::Python { "and" } else { "&&" }, b)
    }

    fn or(&self, a: Code, b: Code, _: &mut Calls) -> Code {
        // gcc asks for brackets around `&&`.
        let operand = |code: Code| match self.syntax {
            Syntax::C => Code::atom(code.above(Binds::And)),
            Syntax::Rust | Syntax::Python => code,
        };
        let operator = if self.syntax == Syntax::Python { "or" } else { "||" };
        Code::binary(Binds::Or, operand(a), operator, operand(b))
    }

    fn choose(&self, c: Code, a: Code, b: Code, _: Type, _: &mut Calls) -> Code {
        let operand = |code: Code| match self.syntax {
            Syntax::C | Syntax::Python => code.above(Binds::Choice),
            Syntax::Rust => code.alone(),
        };
        let [c, a, b] = [c, a, b].map(operand);
        let text = match self.syntax {
            Syntax::C => format!("{c} ? {a} : {b}"),
            Syntax::Rust => format!("if {c} {{ {a} }} else {{ {b} }}"),
            Syntax::Python => format!("{a} if {c} else {b}"),
        };
        // In brackets, so that it may stand anywhere.
        Code::atom(format!("({text})"))
    }

    fn category_of(&self, truth: Code, called: &mut Calls) -> Code {
        let [yes, no] = ["True", "False"].map(|text| Code::atom(self.string(text)));
        self.choose(truth, yes, no, Type::Category, called)
    }

    /// The language's own functions: they differ from the model's definition only where a value is undefined or negative.
    fn inline(&self, helper: &'static str, operands: &[Code], _: Option<f64>, _: &mut Calls) -> Option<Code> {
        let [a, rest @ ..] = operands else { return None };
        let a = a.clone();
        let b = rest.first().cloned();
        let binary = |binds, operator: &str| Some(Code::binary(binds, a.clone(), operator, b.clone()?));
        match helper {
            "divide" => return binary(Binds::Product, "/"),
            "eq" => return binary(Binds::Comparison, "=="),
            "ne" => return binary(Binds::Comparison, "!="),
            "lt" => return binary(Binds::Comparison, "<"),
            "le" => return binary(Binds::Comparison, "<="),
            "gt" => return binary(Binds::Comparison, ">"),
            "ge" => return binary(Binds::Comparison, ">="),
            _ => {}
        }
        let both = [a.clone()].into_iter().chain(b.clone());
        Some(match (self.syntax, helper) {
            (Syntax::Rust, "ctz") => {
                Code::atom(format!("f64::from(({} as i64).trailing_zeros())", a.at_least(Binds::Cast)))
            }
            (Syntax::Rust, name) => {
                let name = if name == "modulo" { "rem_euclid" } else { name };
                let b = b.map_or(String::new(), Code::alone);
                Code::atom(format!("{}.{name}({b})", a.at_least(Binds::Atom)))
            }
            (Syntax::Python, "modulo") => return binary(Binds::Product, "%"),
            (Syntax::Python, "ctz") => {
                let whole = Code::call("int", [a]).alone();
                Code::atom(format!("(({whole} & -{whole}).bit_length() - 1 if {whole} else 64)"))
            }
            (Syntax::Python, "floor" | "ceil" | "log2") => Code::call(&format!("math.{helper}"), both),
            (Syntax::Python, name) => Code::call(name, both),
            (Syntax::C, "ctz") => {
                let a = a.at_least(Binds::Atom);
                Code::atom(format!("({a} == 0 ? 64 : __builtin_ctzll((unsigned long long){a}))"))
            }
            (Syntax::C, name) => {
                let name = match name {
                    "abs" => "fabs",
                    "min" => "fmin",
                    "max" => "fmax",
                    "modulo" => "fmod",
                    name => name,
                };
                Code::call(name, both)
            }
        })
    }
}
