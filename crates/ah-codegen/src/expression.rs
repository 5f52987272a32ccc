//! Prints expressions in a body: one walk for all languages, and for each one a [`Language`].
//!
//! Every printed expression has a value wherever it is computed. A number is NaN where it is undefined. A truth value or category
//! has a value that counts only where it is defined; [`BodyBuilder::truth`] returns that condition too. Most are defined everywhere.

use ah_model::Value;
use ah_model::expr::{Binary, Comparison, Expr, Type, Unary};
use ah_model::math::exp2;

use crate::body::BodyBuilder;
use crate::code::{Binds, Code};
use crate::facts::{Facts, Range, WHOLE, membership, opposite};

/// The most characters of an expression, less the statement around it.
const WIDTH: usize = 90;

impl BodyBuilder<'_, '_> {
    /// The value of an expression of any type.
    pub fn value(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        match expr.ty() {
            Type::Number => self.number(expr, facts),
            Type::Bool => self.truth(expr, facts)[0].clone(),
            Type::Category => self.category(expr, facts)[0].clone(),
        }
    }

    /// A number; NaN is undefined.
    pub fn number(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        if let Some(known) = self.known.parts.get(expr) {
            return known.clone();
        }
        // Go would compute a constant exactly, and refuse one that overflows.
        if is_constant(expr) {
            return self.syntax.number(expr.number(NOTHING));
        }
        match expr {
            Expr::Number(x) => self.syntax.number(*x),
            Expr::Feature(slot) => self.feature(slot.index, facts),
            Expr::Unary(op, a) => self.unary(*op, a, facts),
            Expr::Binary(op, a, b) => self.binary(*op, a, b, facts),
            Expr::If(..) => {
                let yes = self.syntax.truth(true);
                let [value, defined] = self.if_else(expr, facts, |this, side, facts| {
                    let value = this.number(side, facts);
                    [this.float(value), yes.clone()]
                });
                self.conditional(&defined, &value, &self.syntax.number(f64::NAN), Type::Number)
            }
            Expr::Bool(_) | Expr::Text(_) => self.syntax.number(f64::NAN),
        }
    }

    /// A number as a variable: that of the derived feature that it is, if it is one.
    pub fn variable(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        if let Some(slot) = self.derived_slot(expr) {
            return self.feature(slot, facts);
        }
        let value = self.number(expr, facts.outside());
        let value = if value.is_variable() { value } else { self.hoist(Type::Number, value) };
        self.known.parts.insert(expr.clone(), value.clone());
        value
    }

    /// A number as a float.
    pub fn float(&self, a: Code) -> Code {
        if a.is_integer { self.syntax.to_float.with(&[&a]) } else { a }
    }

    /// The values that a number may have where it is computed. Parts of it may become variables before the conditions around
    /// it: a language whose division by 0 raises must not rely on these.
    fn range(&self, expr: &Expr, facts: &Facts<'_>) -> Range {
        if self.syntax.is_typed { facts.range(expr) } else { facts.outside().range(expr) }
    }

    fn unary(&mut self, op: Unary, operand: &Expr, facts: &Facts<'_>) -> Code {
        let range = self.range(operand, facts);
        let a = self.number(operand, facts);
        let a = self.float(a);
        match op {
            Unary::Not => a,
            Unary::Neg => {
                let negative = Code::new(Binds::Sign, format!("-{}", a.at_least(Binds::Atom))).reading(&[&a]);
                Code { is_product: a.is_product, ..negative }
            }
            _ => {
                let is_plain = op == Unary::Abs || !range.nan && range.is_finite();
                let own = if is_plain { (self.syntax.own)(op.symbol(), &[&a]) } else { None };
                own.unwrap_or_else(|| self.call(op.symbol(), [a]))
            }
        }
    }

    fn binary(&mut self, op: Binary, left: &Expr, right: &Expr, facts: &Facts<'_>) -> Code {
        let a = facts.range(left);
        let b = facts.range(right);
        let plain = [self.number(left, facts), self.number(right, facts)];
        let mut code = plain.clone();
        let is_min_max = matches!(op, Binary::Min | Binary::Max);
        // A float and an integer make a float; two integers would compute another result beyond 2^53.
        let are_integers = code.iter().all(|code| code.is_integer);
        if !(are_integers && is_min_max) && (self.syntax.is_typed || are_integers) {
            for code in code.iter_mut().take(if self.syntax.is_typed { 2 } else { 1 }) {
                *code = self.float(code.clone());
            }
        }
        let operator = op.symbol();
        let binds = match op {
            Binary::Add | Binary::Sub => Binds::Sum,
            Binary::Mul => Binds::Product,
            Binary::Div if !self.range(right, facts).has(0.0) => Binds::Product,
            Binary::Div => return self.guarded(operator, "divide", code),
            Binary::Rem => {
                let exact = |range: Range| range.whole && range.low.abs().max(range.high.abs()) < WHOLE;
                let [x, y] = match right {
                    // Beyond 2^53 an integer is another number than its float.
                    Expr::Number(y) if plain[0].is_integer && exact(a) && exact(b) => {
                        [plain[0].clone(), Code { is_integer: true, ..Code::literal(format!("{y}")) }]
                    }
                    _ => code.clone(),
                };
                if a.nan || self.range(right, facts).low <= 0.0 || self.syntax.is_typed && a.low < 0.0 {
                    return self.guarded(operator, "modulo", code);
                }
                return self.syntax.remainder(&x, &y);
            }
            _ if a.nan || b.nan => return self.call(operator, code),
            _ => {
                let [x, y] = if are_integers { code } else { self.fit(code, 8) };
                let own = (self.syntax.own)(operator, &[&x, &y]);
                // In a language without types it may be the integer.
                let own = own.map(|own| Code { is_integer: x.is_integer || y.is_integer, ..own });
                return own.unwrap_or_else(|| self.call(operator, [x, y]));
            }
        };
        if self.syntax.fuses && binds == Binds::Sum {
            code = code.map(|code| if code.is_product { self.call("rounded", [code]) } else { code });
        }
        let [a, b] = self.fit(code, operator.len() + 2);
        Code { is_product: op == Binary::Mul, ..Code::binary(binds, &a, operator, &b) }
    }

    /// A quotient or remainder that is undefined where the divisor is 0.
    fn guarded(&mut self, operator: &str, helper: &'static str, [a, b]: [Code; 2]) -> Code {
        if self.syntax.is_typed {
            return self.call(helper, [a, b]);
        }
        // The divisor is read twice; 0 is false.
        let b = if b.is_variable() { b } else { self.hoist(Type::Number, b) };
        let value = Code::binary(Binds::Product, &a, operator, &b);
        self.syntax.conditional.with(&[&b, &value, &self.syntax.number(f64::NAN)])
    }

    /// The operands, with variables in the place of the longest ones until all fit.
    fn fit<const N: usize>(&mut self, mut operands: [Code; N], between: usize) -> [Code; N] {
        while operands.iter().map(|a| a.text.len() + between).sum::<usize>() > WIDTH {
            let longest = operands.iter_mut().max_by_key(|a| a.text.len()).expect("operands");
            if longest.text.len() <= 24 {
                break;
            }
            *longest = self.hoist(Type::Number, longest.clone());
        }
        operands
    }

    fn call<const N: usize>(&mut self, name: &'static str, operands: [Code; N]) -> Code {
        let operands = self.fit(operands.map(|a| self.float(a)), 2);
        Code::call(&self.syntax.function(self.names, name), &operands.each_ref()).calling(name)
    }

    fn conditional(&mut self, c: &Code, a: &Code, b: &Code, ty: Type) -> Code {
        if a == b {
            return a.clone();
        }
        if let Some(value) = self.syntax.literal(c) {
            return if value { a } else { b }.clone();
        }
        let value = self.syntax.conditional.with(&[c, a, b]);
        if value.text.len() <= WIDTH { value } else { self.hoist(ty, value) }
    }

    /// A truth value, and the condition that it is defined: it counts only there.
    pub fn truth(&mut self, expr: &Expr, facts: &Facts<'_>) -> [Code; 2] {
        let range = facts.range(expr);
        let yes = self.syntax.truth(true);
        if is_constant(expr) {
            let value = expr.truth(NOTHING);
            return [value == Some(true), value.is_some()].map(|is| self.syntax.truth(is));
        }
        if let Some(value) = range.decided() {
            return [self.syntax.truth(value), yes];
        }
        let [value, defined] = match (membership(expr), expr) {
            (Some((slot, texts, is_in)), _) => {
                let [value, defined] = self.given(slot.index, facts);
                let [yes, no] = ["True", "False"].map(|text| texts.iter().any(|other| other == text));
                let code = match facts.is_truth(slot.index) {
                    false => self.syntax.is_in(self.names, &value, &texts),
                    true if yes && !no => value,
                    true if no && !yes => self.syntax.not(&value),
                    true => self.syntax.truth(yes),
                };
                [if is_in { code } else { self.syntax.not(&code) }, defined]
            }
            (_, Expr::Unary(Unary::Not, a)) => {
                let [a, defined] = self.truth(a, facts);
                [self.syntax.not(&a), defined]
            }
            (_, Expr::Binary(op @ (Binary::And | Binary::Or), left, right)) => {
                let is_and = *op == Binary::And;
                let [a, first] = self.truth(left, facts);
                let [b, second] = self.truth(right, &facts.with(left, is_and));
                // Where the first operand decides, the second need not be defined.
                let decides = if is_and { self.syntax.not(&a) } else { a.clone() };
                [self.joined(is_and, &a, &b), self.and(&first, &self.or(&decides, &second))]
            }
            (_, Expr::Binary(Binary::Compare(op), a, b)) => {
                let mut defined = yes.clone();
                for number in [a, b].into_iter().filter(|number| facts.range(number).nan) {
                    let is_nan = self.syntax.is_nan(&self.variable(number, facts));
                    defined = self.and(&defined, &self.syntax.not(&is_nan));
                }
                [self.comparison(*op, a, b, facts), defined]
            }
            (_, Expr::Binary(op @ (Binary::Same | Binary::Differ), first, second)) => {
                let [[a, a_defined], [b, b_defined]] = [first, second].map(|x| self.category(x, facts));
                let same = self.syntax.same(self.names, &a, &b);
                let value = if *op == Binary::Same { same } else { self.syntax.not(&same) };
                [value, self.and(&a_defined, &b_defined)]
            }
            (_, Expr::If(..)) => self.if_else(expr, facts, Self::truth),
            (_, Expr::Feature(slot)) => self.given(slot.index, facts),
            _ => [self.syntax.truth(false), yes.clone()],
        };
        let value = if range.low == range.high { self.syntax.truth(range.low == 1.0) } else { value };
        [value, if range.nan { defined } else { yes }]
    }

    /// A truth value or category that is a feature, and the condition that it is defined.
    fn given(&mut self, slot: usize, facts: &Facts<'_>) -> [Code; 2] {
        let value = self.feature(slot, facts);
        let defined = facts.derived(slot).map(|derived| match derived.ty() {
            Type::Bool => self.truth(derived, facts),
            _ => self.category(derived, facts),
        });
        [value, defined.map_or_else(|| self.syntax.truth(true), |[_, defined]| defined)]
    }

    /// A category as a text, and the condition that it is defined: it counts only there.
    fn category(&mut self, expr: &Expr, facts: &Facts<'_>) -> [Code; 2] {
        match expr {
            Expr::Text(text) => [Code::atom((self.syntax.text)(text)), self.syntax.truth(true)],
            Expr::If(..) if expr.ty() == Type::Category => self.if_else(expr, facts, Self::category),
            Expr::Feature(slot) if !facts.is_truth(slot.index) => self.given(slot.index, facts),
            truth => {
                let [value, defined] = self.truth(truth, facts);
                let [yes, no] = ["True", "False"].map(|text| Code::atom((self.syntax.text)(text)));
                [self.conditional(&value, &yes, &no, Type::Category), defined]
            }
        }
    }

    pub fn and(&self, a: &Code, b: &Code) -> Code {
        self.joined(true, a, b)
    }

    pub fn or(&self, a: &Code, b: &Code) -> Code {
        self.joined(false, a, b)
    }

    fn joined(&self, is_and: bool, a: &Code, b: &Code) -> Code {
        let [not_a, not_b] = [a, b].map(|code| self.syntax.not(code));
        self.junction(is_and, a, b).or_else(self.junction(!is_and, &not_a, &not_b))
    }

    /// `a and b`, or `a or b`, with what is known of literals.
    fn junction(&self, is_and: bool, a: &Code, b: &Code) -> Code {
        let [neutral, decisive] = [is_and, !is_and].map(|value| self.syntax.truth(value));
        if *a == neutral || *b == decisive {
            return b.clone();
        }
        if *b == neutral || *a == decisive {
            return a.clone();
        }
        if !is_and {
            // Compilers ask for brackets around `and` inside of `or`.
            let [a, b] =
                [a, b].map(|x| if x.binds == Binds::And { x.clone().bracketed() } else { x.clone() });
            return Code::binary(Binds::Or, &a, self.syntax.or, &b);
        }
        match (self.syntax.between, between(a, b)) {
            (Some(form), Some(parts)) => form.with(&parts.each_ref()).reading(&[a]),
            _ => Code::binary(Binds::And, a, self.syntax.and, b),
        }
    }

    /// An `if`, and the condition that it is defined, by those of its sides.
    fn if_else(
        &mut self,
        expr: &Expr,
        facts: &Facts<'_>,
        side: impl Fn(&mut Self, &Expr, &Facts<'_>) -> [Code; 2],
    ) -> [Code; 2] {
        let Expr::If(condition, a, b) = expr else { unreachable!("only an `if` is asked for") };
        if let Some(value) = facts.range(condition).decided() {
            return side(self, if value { a } else { b }, facts);
        }
        let [c, defined] = self.truth(condition, facts);
        let [[a, a_defined], [b, b_defined]] =
            [(a, true), (b, false)].map(|(x, value)| side(self, x, &facts.with(condition, value)));
        let value = self.conditional(&c, &a, &b, expr.ty());
        let of_sides = self.conditional(&c, &a_defined, &b_defined, Type::Bool);
        [value, self.and(&defined, &of_sides)]
    }

    /// The condition that a number of trailing zeros is above the threshold, as tests of multiples of a power of two.
    fn zeros_above(&mut self, expr: &Expr, threshold: f64, facts: &Facts<'_>) -> Option<Expr> {
        match expr {
            Expr::Feature(slot) => self.zeros_above(facts.derived(slot.index)?, threshold, facts),
            Expr::Number(x) => (*x > threshold).then_some(Expr::Bool(true)),
            Expr::Binary(Binary::Min, a, b) => {
                let [a, b] = [a, b].map(|operand| self.zeros_above(operand, threshold, facts));
                Some(Expr::binary(Binary::And, a?, b?))
            }
            Expr::Unary(Unary::Ctz, number) if threshold < 63.0 => {
                self.variable(number, facts);
                let power = Expr::Number(exp2(threshold.floor() + 1.0));
                let rest = Expr::binary(Binary::Rem, (**number).clone(), power);
                Some(Expr::binary(Binary::Compare(Comparison::Eq), rest, Expr::Number(0.0)))
            }
            _ => None,
        }
    }

    fn comparison(&mut self, op: Comparison, a: &Expr, b: &Expr, facts: &Facts<'_>) -> Code {
        // Without types a function call takes long.
        if let (false, Comparison::Gt, Expr::Number(threshold)) = (self.syntax.is_typed, op, b)
            && !facts.range(a).nan
            && !self.known.parts.contains_key(a)
            && let Some(multiples) = self.zeros_above(a, *threshold, facts)
        {
            return self.truth(&multiples, facts)[0].clone();
        }
        let [first, second] =
            [a, b].map(|x| if facts.range(x).nan { self.variable(x, facts) } else { self.number(x, facts) });
        // Up to 2^53, an integer compares with a literal as its float does.
        let literal = |expr: &Expr, is_floor: bool| match expr {
            Expr::Number(x) if x.abs() >= WHOLE => None,
            Expr::Number(x) if x.fract() == 0.0 || is_floor => Some(Code::literal(format!("{}", x.floor()))),
            Expr::Number(x) if !self.syntax.is_typed => Some(self.syntax.number(*x)),
            _ => None,
        };
        let is_floor = facts.range(a).whole && matches!(op, Comparison::Gt | Comparison::Le);
        let codes = match (literal(a, false), literal(b, is_floor)) {
            (_, Some(literal)) if first.is_integer => [first, literal],
            (Some(literal), _) if second.is_integer => [literal, second],
            _ => [self.float(first), self.float(second)],
        };
        let [a, b] = self.fit(codes, 4);
        let compared = |op: Comparison| {
            // Rust reads the `<` behind a type as the beginning of its parameters.
            let is_type = op == Comparison::Lt && a.text.ends_with(" as f64");
            let a = if is_type { a.clone().bracketed() } else { a.clone() };
            Code::binary(Binds::Comparison, &a, Binary::Compare(op).symbol(), &b)
        };
        compared(op).or_else(compared(opposite(op)))
    }
}

/// A row without features.
const NOTHING: &[Value] = &[];

/// True for an operation on constants alone.
pub fn is_constant(expr: &Expr) -> bool {
    let mut reads = false;
    expr.for_each_feature(&mut |_| reads = true);
    !reads && matches!(expr, Expr::Unary(..) | Expr::Binary(..) | Expr::If(..))
}

/// The parts of `value >= low` and `value <= high` with literals and one variable.
fn between(a: &Code, b: &Code) -> Option<[Code; 3]> {
    let ((value, low), (other, high)) = (a.text.split_once(" >= ")?, b.text.split_once(" <= ")?);
    let is_literal = |text: &str| text.parse::<f64>().is_ok();
    let is_between = value == other && a.reads.contains(value) && is_literal(low) && is_literal(high);
    is_between.then(|| [low, value, high].map(Code::atom))
}
