//! How Python writes expressions, features and blocks.

use std::collections::BTreeSet;

use ah_types::expr::Type;
use ah_types::{FeatureKind, Model};

use crate::body::Reader;
use crate::code::{Binds, Code};
use crate::expression::Syntax;
use crate::names::Names;
use crate::page::Layout;
use crate::text::python_string;

/// How Python writes code.
pub struct PythonSyntax;

impl Syntax for PythonSyntax {
    const IS_TYPED: bool = false;
    const AND: &'static str = "and";
    const OR: &'static str = "or";
    const WIDTHS: [usize; 3] = [100, 100, 100];

    fn float(&self, x: f64) -> String {
        match x {
            x if x.is_nan() => "math.nan".to_owned(),
            f64::INFINITY => "math.inf".to_owned(),
            f64::NEG_INFINITY => "-math.inf".to_owned(),
            x => format!("{x:?}"),
        }
    }

    fn text(&self, text: &str) -> String {
        python_string(text)
    }

    fn truth(&self, value: bool) -> &'static str {
        if value { "True" } else { "False" }
    }

    fn not_of(&self, a: &Code) -> Code {
        Code::new(Binds::Comparison, format!("not {}", a.above(Binds::Comparison))).reading(&[a])
    }

    fn is_nan(&self, a: &Code) -> Code {
        let compared = |operator| Code::binary(Binds::Comparison, a, operator, a);
        compared("!=").or_else(compared("=="))
    }

    fn conditional(&self, c: &Code, a: &Code, b: &Code) -> Code {
        let operand = |code: &Code| code.above(Binds::Choice);
        // In brackets, because nothing binds less.
        Code::new(Binds::Choice, format!("{} if {} else {}", operand(a), operand(c), operand(b)))
            .reading(&[c, a, b])
    }

    fn same(&self, a: &Code, b: &Code) -> Code {
        let compared = |operator| Code::binary(Binds::Comparison, a, operator, b);
        compared("==").or_else(compared("!="))
    }

    fn is_in(&self, a: &Code, texts: &[&str]) -> Code {
        let texts: Vec<String> = texts.iter().map(|text| python_string(text)).collect();
        let set = Code::atom(format!("{{{}}}", texts.join(", ")));
        let compared = |operator| Code::binary(Binds::Comparison, a, operator, &set);
        compared("in").or_else(compared("not in"))
    }

    fn to_float(&self, a: &Code) -> Code {
        Code::call("float", &[a])
    }

    fn own(&self, function: &str, operands: &[&Code]) -> Option<Code> {
        match function {
            "min" | "max" | "abs" => Some(Code::call(function, operands)),
            "floor" | "ceil" => {
                let call = Code::call(&format!("math.{function}"), operands);
                Some(Code { is_integer: true, ..call })
            }
            _ => None,
        }
    }

    fn between(&self, low: &Code, value: &Code, high: &Code) -> Option<Code> {
        Some(
            Code::new(Binds::Comparison, format!("{} <= {} <= {}", low.text, value.text, high.text))
                .reading(&[value]),
        )
    }

    fn remainder(&self, a: &Code, b: &Code, _: bool) -> Option<Code> {
        let is_integer = a.is_integer && b.is_integer;
        Some(Code { is_integer, ..Code::binary(Binds::Product, a, "%", b) })
    }

    fn assign(&self, name: &str, _: Type, value: &Code, level: usize) -> String {
        format!("{}{name} = {}", "    ".repeat(level), value.text)
    }
}

impl Reader for PythonSyntax {
    fn logged(&self, names: &Names, slot: usize) -> Code {
        Code { is_integer: true, ..Code::variable(names.feature(slot)) }
    }

    fn converted(&self, model: &Model, slot: usize, given: &Code) -> Option<Code> {
        let is_category = model.features.base().features()[slot].kind == FeatureKind::Categorical;
        let is_none = Code::new(Binds::Comparison, format!("{} is None", given.text)).reading(&[given]);
        let has_missing = model.missing.contains(&slot) || is_category && model.knows(slot, "");
        match (is_category, has_missing) {
            (true, false) => Some(Code { is_integer: false, ..Code::call("str", &[given]) }),
            (true, true) => {
                let text = Code { is_integer: false, ..Code::call("str", &[given]) };
                Some(self.conditional(&is_none, &Code::atom("\"\""), &text))
            }
            (false, true) => {
                let given = Code { is_integer: false, ..given.clone() };
                Some(Code { is_integer: true, ..self.conditional(&is_none, &Code::atom("math.nan"), &given) })
            }
            (false, false) => None,
        }
    }

    fn computed(&self, names: &Names, slot: usize, inputs: &BTreeSet<usize>) -> Code {
        let inputs: Vec<Code> = inputs.iter().map(|slot| Code::variable(names.feature(*slot))).collect();
        Code::call(&format!("_{}", names.feature(slot)), &inputs.iter().collect::<Vec<_>>())
    }

    fn helper(&self, name: &str, _: &Names) -> String {
        format!("_{name}")
    }
}

impl Layout for PythonSyntax {
    fn block(&self, condition: &str) -> (String, Option<&'static str>) {
        (format!("if {condition}:"), None)
    }

    fn comment(&self, text: &str) -> String {
        format!("# {text}")
    }
}

/// Returns a tuple.
pub fn tuple(all: &[String]) -> String {
    match all {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}
