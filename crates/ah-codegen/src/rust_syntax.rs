//! How Rust writes expressions, features and blocks.

use std::collections::BTreeSet;

use ah_types::Model;
use ah_types::expr::Type;

use crate::body::Reader;
use crate::code::{Binds, Code};
use crate::expression::Syntax;
use crate::names::Names;
use crate::page::Layout;
use crate::text::rust_string;

/// How Rust writes code.
pub struct RustSyntax<'m>(pub &'m Model);

impl Syntax for RustSyntax<'_> {
    const IS_TYPED: bool = true;
    const AND: &'static str = "&&";
    const OR: &'static str = "||";
    // The limits of rustfmt, less the statement around.
    const WIDTHS: [usize; 3] = [70, 56, 36];

    fn float(&self, x: f64) -> String {
        match x {
            x if x.is_nan() => "f64::NAN".to_owned(),
            f64::INFINITY => "f64::INFINITY".to_owned(),
            f64::NEG_INFINITY => "f64::NEG_INFINITY".to_owned(),
            x => format!("{x:?}"),
        }
    }

    fn text(&self, text: &str) -> String {
        rust_string(text)
    }

    fn truth(&self, value: bool) -> &'static str {
        if value { "true" } else { "false" }
    }

    fn not_of(&self, a: &Code) -> Code {
        Code::new(Binds::Sign, format!("!{}", a.at_least(Binds::Sign))).reading(&[a])
    }

    fn at_most_or_nan(&self, value: &Code, literal: &Code) -> Code {
        let at_most = Code::binary(Binds::Comparison, value, "<=", literal);
        Code::binary(Binds::Or, &self.is_nan(value), "||", &at_most)
    }

    fn is_nan(&self, a: &Code) -> Code {
        Code::atom(format!("{}.is_nan()", a.at_least(Binds::Atom))).reading(&[a])
    }

    fn conditional(&self, c: &Code, a: &Code, b: &Code) -> Code {
        Code::new(Binds::Choice, format!("if {} {{ {} }} else {{ {} }}", c.text, a.text, b.text))
            .reading(&[c, a, b])
    }

    fn same(&self, a: &Code, b: &Code) -> Code {
        let compared = |operator| Code::binary(Binds::Comparison, a, operator, b);
        compared("==").or_else(compared("!="))
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

    fn between(&self, low: &Code, value: &Code, high: &Code) -> Option<Code> {
        let range = Code::atom(format!("({}..={}).contains(&{})", low.text, high.text, value.text));
        Some(range.reading(&[value]))
    }

    fn remainder(&self, a: &Code, b: &Code, is_negative: bool) -> Option<Code> {
        if !a.is_integer {
            return None;
        }
        let remainder = match is_negative {
            true => Code::atom(format!("{}.rem_euclid({})", a.at_least(Binds::Atom), b.text)).reading(&[a]),
            false => Code::binary(Binds::Product, a, "%", b),
        };
        Some(Code { is_integer: true, ..remainder })
    }

    fn assign(&self, name: &str, _: Type, value: &Code, level: usize) -> String {
        let indent = "    ".repeat(level);
        let line = format!("{indent}let {name} = {};", value.text);
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
}

impl Reader for RustSyntax<'_> {
    fn logged(&self, names: &Names, slot: usize) -> Code {
        let is_integer = self.0.features.base().features()[slot].integer;
        Code { is_integer, ..Code::variable(&format!("c.{}", names.feature(slot))) }
    }

    fn converted(&self, _: &Model, _: usize, _: &Code) -> Option<Code> {
        None
    }

    fn computed(&self, names: &Names, slot: usize, _: &BTreeSet<usize>) -> Code {
        Code::atom(format!("{}(c)", names.feature(slot)))
    }

    fn helper(&self, name: &str, _: &Names) -> String {
        name.to_owned()
    }
}

impl Layout for RustSyntax<'_> {
    fn block(&self, condition: &str) -> (String, Option<&'static str>) {
        (format!("if {condition} {{"), Some("}"))
    }

    fn comment(&self, text: &str) -> String {
        format!("// {text}")
    }
}
