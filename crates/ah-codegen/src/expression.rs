//! Prints expressions in a body: one walk for all languages, and for each one a [`Language`].
//!
//! Every printed expression has a value wherever it is computed. A number is NaN where it is undefined. A truth value or category
//! is printed twice: a condition under which it is defined, and a value that counts only there. Most are defined everywhere, and
//! the condition is not printed.

use std::collections::BTreeSet;

use ah_types::expr::{Binary, Comparison, Expr, Type, Unary};

use crate::body::Builder;
use crate::code::{Binds, Code};
use crate::facts::{Facts, WHOLE, opposite};
use crate::language::Language;

impl<S: Language> Builder<'_, '_, S> {
    /// Returns a number; NaN is undefined.
    pub fn number(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        match expr {
            Expr::Number(x) => Code::literal(self.syntax.float(*x)),
            Expr::Feature(slot) => self.feature(slot.index, facts).1,
            Expr::Unary(op, a) => {
                let (range, a) = (facts.range(a), self.number(a, facts));
                self.unary(*op, range.nan || !range.is_finite(), a)
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b, facts),
            Expr::If(c, a, b) => {
                let (defined, value) = self.if_else(c, a, b, Type::Number, facts);
                let Some(defined) = defined else { return value };
                let nan = Code::atom(self.syntax.float(f64::NAN));
                self.conditional(&defined, &value, &nan, Type::Number)
            }
            Expr::Bool(_) | Expr::Text(_) => Code::atom(self.syntax.float(f64::NAN)),
        }
    }

    /// Returns a number as a float.
    fn float(&mut self, a: Code) -> Code {
        if a.is_integer { self.syntax.to_float(&a) } else { a }
    }

    fn unary(&mut self, op: Unary, may_overflow: bool, a: Code) -> Code {
        let a = self.float(a);
        let name = match op {
            Unary::Neg => {
                let negative = Code::new(Binds::Sign, format!("-{}", a.at_least(Binds::Atom))).reading(&[&a]);
                return Code { is_product: a.is_product, ..negative };
            }
            Unary::Abs => "abs",
            Unary::Floor => "floor",
            Unary::Ceil => "ceil",
            Unary::Log2 => "log2",
            Unary::Ctz => "ctz",
            Unary::Not => return a,
        };
        let own = if may_overflow { None } else { self.syntax.own(name, &[&a]) };
        own.unwrap_or_else(|| self.call(name, vec![a]))
    }

    fn binary(&mut self, op: Binary, left: &Expr, right: &Expr, facts: &Facts<'_>) -> Code {
        let (a, b) = (facts.range(left), facts.range(right));
        let mut code = [self.number(left, facts), self.number(right, facts)];
        let plain = code.clone();
        let is_min_max = matches!(op, Binary::Min | Binary::Max);
        // A float and an integer make a float; two integers would compute another result beyond 2^53.
        let are_integers = code.iter().all(|code| code.is_integer);
        if !(are_integers && is_min_max) && (S::IS_TYPED || are_integers) {
            let count = if S::IS_TYPED { 2 } else { 1 };
            for code in code.iter_mut().take(count).filter(|code| code.is_integer) {
                *code = self.syntax.to_float(code);
            }
        }
        let (binds, operator) = match op {
            Binary::Add => (Binds::Sum, "+"),
            Binary::Sub => (Binds::Sum, "-"),
            Binary::Mul => (Binds::Product, "*"),
            Binary::Div if !b.has(0.0) => (Binds::Product, "/"),
            Binary::Div => return self.guarded("/", "divide", code),
            Binary::Rem => {
                let exact =
                    |range: crate::facts::Range| range.whole && range.low.abs().max(range.high.abs()) < WHOLE;
                let integers = match right {
                    // Beyond 2^53 an integer is another number than its float.
                    Expr::Number(x) if plain[0].is_integer && exact(a) && exact(b) => {
                        Some([plain[0].clone(), Code { is_integer: true, ..Code::literal(format!("{x}")) }])
                    }
                    _ => None,
                };
                let [x, y] = integers.as_ref().unwrap_or(&code);
                let own = if a.nan || b.low <= 0.0 { None } else { self.syntax.remainder(x, y, a.low < 0.0) };
                return own.unwrap_or_else(|| self.guarded("%", "modulo", code));
            }
            Binary::Min | Binary::Max => {
                let name = if op == Binary::Min { "min" } else { "max" };
                if a.nan || b.nan {
                    return self.call(name, code.into());
                }
                let [x, y] = if are_integers { code } else { self.fit(code, 8, S::WIDTHS[1]) };
                let own = self
                    .syntax
                    .own(name, &[&x, &y])
                    .map(|own| Code { is_integer: x.is_integer && y.is_integer, ..own });
                return own.unwrap_or_else(|| self.call(name, vec![x, y]));
            }
            _ => return Code::atom(self.syntax.float(f64::NAN)),
        };
        if binds == Binds::Sum {
            code = code.map(|code| match code.is_product {
                true => self.syntax.rounded(code, &mut |name| self.helper(name)),
                false => code,
            });
        }
        let [a, b] = self.fit(code, operator.len() + 2, S::WIDTHS[0]);
        Code { is_product: op == Binary::Mul, ..Code::binary(binds, &a, operator, &b) }
    }

    /// Returns a quotient or remainder that is undefined where the divisor is 0.
    fn guarded(&mut self, operator: &str, helper: &'static str, [a, b]: [Code; 2]) -> Code {
        if self.syntax.guarded(operator, &a, &b).is_none() {
            return self.call(helper, vec![a, b]);
        }
        // The divisor is read twice.
        let b = if b.reads.contains(&b.text) { b } else { self.bind(Type::Number, b) };
        self.syntax.guarded(operator, &a, &b).expect("asked before")
    }

    /// Returns the operands, with variables in the place of the longest ones until all fit.
    fn fit<const N: usize>(&mut self, mut operands: [Code; N], between: usize, width: usize) -> [Code; N] {
        while operands.iter().map(|a| a.text.len() + between).sum::<usize>() > width {
            let longest = operands.iter_mut().max_by_key(|a| a.text.len()).expect("operands");
            if longest.text.len() <= 24 {
                break;
            }
            let ty = Type::Number;
            *longest = Code { is_product: longest.is_product, ..self.bind(ty, longest.clone()) };
        }
        operands
    }

    fn call(&mut self, name: &'static str, operands: Vec<Code>) -> Code {
        let name = self.helper(name);
        let mut operands: Vec<Code> = operands.into_iter().map(|a| self.float(a)).collect();
        if operands.iter().map(|a| a.text.len() + 2).sum::<usize>() > S::WIDTHS[1] {
            for operand in &mut operands {
                if operand.text.len() > 24 {
                    *operand = self.bind(Type::Number, operand.clone());
                }
            }
        }
        Code::call(&name, &operands.iter().collect::<Vec<_>>())
    }

    fn conditional(&mut self, c: &Code, a: &Code, b: &Code, ty: Type) -> Code {
        let value = self.syntax.conditional(c, a, b);
        if value.text.len() <= S::WIDTHS[2] { value } else { self.bind(ty, value) }
    }

    /// Returns the condition under which a truth value is defined, and its value there.
    pub fn condition(&mut self, expr: &Expr, facts: &Facts<'_>) -> (Option<Code>, Code) {
        if let Some(value) = facts.truth(expr).decided() {
            return (None, Code::atom(self.syntax.truth(value)));
        }
        match expr {
            Expr::Unary(Unary::Not, a) => {
                let (defined, a) = self.condition(a, facts);
                (defined, self.syntax.not(&a))
            }
            Expr::Binary(Binary::And, a, b) if self.is_between(a, b, facts) => {
                let (Expr::Binary(_, value, low), Expr::Binary(_, _, high)) = (&**a, &**b) else {
                    unreachable!()
                };
                let value = self.number(value, facts);
                let literal = |x: &Expr| match x {
                    Expr::Number(x) if value.is_integer => Code::literal(format!("{x}")),
                    Expr::Number(x) => Code::literal(self.syntax.float(*x)),
                    _ => unreachable!(),
                };
                let between = self.syntax.between(&literal(low), &value, &literal(high));
                (None, between.expect("asked before"))
            }
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let is_and = *op == Binary::And;
                let (first, a_code) = self.condition(a, facts);
                let mut inner = facts.clone();
                inner.learn(a, is_and);
                let (second, b_code) = self.condition(b, &inner);
                let needed = second.map(|second| {
                    // Where the first operand decides, the second need not be defined.
                    let decides = if is_and { self.syntax.not(&a_code) } else { a_code.clone() };
                    self.or(&decides, &second)
                });
                let defined = match (first, needed) {
                    (Some(first), Some(needed)) => Some(self.and(&first, &needed)),
                    (first, needed) => first.or(needed),
                };
                let value = if is_and { self.and(&a_code, &b_code) } else { self.or(&a_code, &b_code) };
                (defined, value)
            }
            Expr::Binary(Binary::Compare(op), a, b) => self.comparison(*op, a, b, facts),
            Expr::Binary(op @ (Binary::Same | Binary::Differ), a, b) => {
                let (first, second) = (self.category(a, facts), self.category(b, facts));
                let value = match (self.truth_of(a, b, facts), self.truth_of(b, a, facts)) {
                    (Some(value), _) | (None, Some(value)) => value,
                    (None, None) => self.syntax.same(&first.1, &second.1),
                };
                let value = if *op == Binary::Same { value } else { self.syntax.not(&value) };
                let mut defined = self.both(first.0, second.0);
                let is_named = |e: &Expr| matches!(e, Expr::Text(_)) || e.ty() == Type::Bool;
                if !is_named(a) && !is_named(b) {
                    // The model tells two categories apart only if it names one of them.
                    let mut names = BTreeSet::new();
                    facts.model.for_each_name(&mut |name| {
                        names.insert(name);
                    });
                    let names: Vec<&str> = names.into_iter().collect();
                    let [x, y] = [&first.1, &second.1].map(|code| self.syntax.is_in(code, &names));
                    let known = self.or(&x, &y);
                    defined = self.both(defined, Some(known));
                }
                (defined, value)
            }
            Expr::If(c, a, b) => self.if_else(c, a, b, Type::Bool, facts),
            Expr::Feature(slot) => {
                let (defined, value) = self.feature(slot.index, facts);
                (defined, value)
            }
            other => (None, Code::atom(self.syntax.truth(matches!(other, Expr::Bool(true))))),
        }
    }

    /// Returns true for `x >= low and x <= high` with literals, where the language has a form of it.
    fn is_between(&self, a: &Expr, b: &Expr, facts: &Facts<'_>) -> bool {
        let (
            Expr::Binary(Binary::Compare(Comparison::Ge), x, low),
            Expr::Binary(Binary::Compare(Comparison::Le), y, high),
        ) = (a, b)
        else {
            return false;
        };
        let is_literal = |e: &Expr| matches!(e, Expr::Number(x) if x.fract() == 0.0 && x.abs() < WHOLE);
        let is_open = |e: &Expr| facts.truth(e).decided().is_none();
        let zero = Code::atom("0");
        matches!(**x, Expr::Feature(_))
            && x == y
            && is_literal(low)
            && is_literal(high)
            && !facts.range(x).nan
            && is_open(a)
            && is_open(b)
            && self.syntax.between(&zero, &zero, &zero).is_some()
    }

    /// Returns the comparison of a truth value with a text, if it is one.
    fn truth_of(&mut self, a: &Expr, b: &Expr, facts: &Facts<'_>) -> Option<Code> {
        let is_truth = match a {
            Expr::Feature(slot) => facts.is_truth(slot.index),
            _ => a.ty() == Type::Bool,
        };
        let Expr::Text(text) = b else { return None };
        if !is_truth {
            return None;
        }
        let value = self.condition(a, facts).1;
        Some(match text.as_str() {
            "True" => value,
            "False" => self.syntax.not(&value),
            _ => Code::atom(self.syntax.truth(false)),
        })
    }

    fn both(&mut self, a: Option<Code>, b: Option<Code>) -> Option<Code> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.and(&a, &b)),
            (a, b) => a.or(b),
        }
    }

    pub fn and(&mut self, a: &Code, b: &Code) -> Code {
        let [yes, no] = [true, false].map(|value| self.syntax.truth(value));
        match (a.text.as_str(), b.text.as_str()) {
            (text, _) if text == yes => b.clone(),
            (_, text) if text == yes => a.clone(),
            (first, second) if first == no || second == no => Code::atom(no),
            _ => Code::binary(Binds::And, a, S::WORDS.and, b),
        }
    }

    pub fn or(&mut self, a: &Code, b: &Code) -> Code {
        let [yes, no] = [true, false].map(|value| self.syntax.truth(value));
        match (a.text.as_str(), b.text.as_str()) {
            (text, _) if text == no => b.clone(),
            (_, text) if text == no => a.clone(),
            (first, second) if first == yes || second == yes => Code::atom(yes),
            _ => {
                // Compilers ask for brackets around `and` inside of `or`.
                let [a, b] = [a, b].map(|x| match x.binds {
                    Binds::And => Code { text: format!("({})", x.text), binds: Binds::Atom, ..x.clone() },
                    _ => x.clone(),
                });
                Code::binary(Binds::Or, &a, S::WORDS.or, &b)
            }
        }
    }

    /// Returns the condition under which a value of this type is defined, which a number does not need, and the value.
    pub fn value(&mut self, expr: &Expr, ty: Type, facts: &Facts<'_>) -> (Option<Code>, Code) {
        match ty {
            Type::Number => (None, self.number(expr, facts)),
            Type::Bool => self.condition(expr, facts),
            Type::Category => self.category(expr, facts),
        }
    }

    fn if_else(&mut self, c: &Expr, a: &Expr, b: &Expr, ty: Type, facts: &Facts<'_>) -> (Option<Code>, Code) {
        if let Some(value) = facts.truth(c).decided() {
            return self.value(if value { a } else { b }, ty, facts);
        }
        let is_number = ty == Type::Number;
        let (defined, c_code) = self.condition(c, facts);
        let c_code =
            if !is_number && c_code.text.len() > 24 { self.bind(Type::Bool, c_code) } else { c_code };
        let [(a_defined, a), (b_defined, b)] = [(a, true), (b, false)].map(|(side, value)| {
            let mut facts = facts.clone();
            facts.learn(c, value);
            let (defined, code) = self.value(side, ty, &facts);
            (defined, if is_number { self.float(code) } else { code })
        });
        let sides = match (a_defined, b_defined) {
            (None, None) => None,
            (a, b) => {
                let yes = || Code::atom(self.syntax.truth(true));
                let (a, b) = (a.unwrap_or_else(yes), b.unwrap_or_else(yes));
                let [a, b] =
                    [a, b].map(|side| if side.text.len() > 24 { self.bind(Type::Bool, side) } else { side });
                Some(self.conditional(&c_code, &a, &b, Type::Bool))
            }
        };
        let value = self.conditional(&c_code, &a, &b, ty);
        (self.both(defined, sides), value)
    }

    /// Returns a comparison of numbers; undefined where an operand is NaN.
    fn comparison(&mut self, op: Comparison, a: &Expr, b: &Expr, facts: &Facts<'_>) -> (Option<Code>, Code) {
        let (first, second) = (facts.range(a), facts.range(b));
        let integer = |expr: &Expr| match expr {
            Expr::Number(x) if x.fract() == 0.0 && x.abs() < WHOLE => Some(Code::literal(format!("{x}"))),
            _ => None,
        };
        let codes = [self.number(a, facts), self.number(b, facts)];
        let mut codes = match (
            codes[0].is_integer.then(|| integer(b)).flatten(),
            codes[1].is_integer.then(|| integer(a)).flatten(),
        ) {
            (Some(literal), _) => [codes[0].clone(), literal],
            (None, Some(literal)) => [literal, codes[1].clone()],
            (None, None) => codes.map(|code| self.float(code)),
        };
        let mut defined = None;
        for (code, range) in codes.iter_mut().zip([first, second]) {
            if range.nan {
                if code.binds != Binds::Atom || code.text.contains('(') {
                    *code = self.bind(Type::Number, code.clone());
                }
                let nan = self.syntax.is_nan(code);
                let is_number = self.syntax.not(&nan);
                defined = self.both(defined, Some(is_number));
            }
        }
        let [a, b] = self.fit(codes, 4, S::WIDTHS[0]);
        // Rust reads the `<` behind a type as the beginning of its parameters.
        let a = if op == Comparison::Lt && a.binds == Binds::Cast {
            Code { text: format!("({})", a.text), binds: Binds::Atom, ..a }
        } else {
            a
        };
        let compared = |op: Comparison| Code::binary(Binds::Comparison, &a, Binary::Compare(op).symbol(), &b);
        let opposite =
            (!first.nan && !second.nan && opposite(op) != Comparison::Lt).then(|| compared(opposite(op)));
        let code = compared(op);
        (defined, if let Some(opposite) = opposite { code.or_else(opposite) } else { code })
    }

    /// Returns the condition under which a category is defined, and its value there, as a text.
    pub fn category(&mut self, expr: &Expr, facts: &Facts<'_>) -> (Option<Code>, Code) {
        match expr {
            Expr::Text(text) => (None, Code::atom(self.syntax.text(text))),
            Expr::If(c, a, b) if expr.ty() == Type::Category => self.if_else(c, a, b, Type::Category, facts),
            Expr::Feature(slot) if !facts.is_truth(slot.index) => self.feature(slot.index, facts),
            truth => {
                let (defined, value) = self.condition(truth, facts);
                let [yes, no] = ["True", "False"].map(|text| Code::atom(self.syntax.text(text)));
                (defined, self.conditional(&value, &yes, &no, Type::Category))
            }
        }
    }
}
