//! Prints expressions in a body: one walk for all languages, and for each one a [`Language`].
//!
//! Every printed expression has a value wherever it is computed. A number is NaN where it is undefined. A truth value or category
//! has a value that counts only where it is defined; [`Builder::defined`] prints that condition. Most are defined everywhere.

use ah_types::expr::{Binary, Comparison, Expr, Type, Unary};

use crate::body::Builder;
use crate::code::{Binds, Code};
use crate::facts::{Facts, Range, WHOLE, is_named, membership, opposite};
use crate::language::Language;

/// The most characters of an expression, less the statement around it.
const WIDTH: usize = 90;

impl<S: Language> Builder<'_, '_, S> {
    /// Returns a value of this type.
    pub fn value(&mut self, expr: &Expr, ty: Type, facts: &Facts<'_>) -> Code {
        match ty {
            Type::Number => self.number(expr, facts),
            Type::Bool => self.condition(expr, facts),
            Type::Category => self.category(expr, facts),
        }
    }

    /// Returns a number; NaN is undefined.
    pub fn number(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        if let Some(known) = self.known.parts.get(expr) {
            return known.clone();
        }
        match expr {
            Expr::Number(x) => Code::literal(self.syntax.float(*x)),
            Expr::Feature(slot) => self.feature(slot.index, facts),
            Expr::Unary(op, a) => self.unary(*op, a, facts),
            Expr::Binary(op, a, b) => self.binary(*op, a, b, facts),
            Expr::If(c, ..) => {
                let value = self.if_else(expr, Type::Number, facts);
                let (defined, nan) = (self.defined(c, facts), Code::atom(self.syntax.float(f64::NAN)));
                self.conditional(&defined, &value, &nan, Type::Number)
            }
            Expr::Bool(_) | Expr::Text(_) => Code::atom(self.syntax.float(f64::NAN)),
        }
    }

    /// Returns a number as a variable.
    pub fn variable(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        let value = self.number(expr, facts.outside());
        let value = if value.is_variable() { value } else { self.hoist(Type::Number, value) };
        self.known.parts.insert(expr.clone(), value.clone());
        value
    }

    /// Returns a number as a float.
    fn float(&mut self, a: Code) -> Code {
        if a.is_integer { self.syntax.to_float(&a) } else { a }
    }

    /// Returns the values that a number may have where it is computed. Parts of it may become variables before the conditions around
    /// it: a language whose division by 0 raises must not rely on these.
    fn range(&self, expr: &Expr, facts: &Facts<'_>) -> Range {
        if S::IS_TYPED { facts.range(expr) } else { facts.outside().range(expr) }
    }

    fn unary(&mut self, op: Unary, operand: &Expr, facts: &Facts<'_>) -> Code {
        let (range, a) = (self.range(operand, facts), self.number(operand, facts));
        let a = self.float(a);
        match op {
            Unary::Not => a,
            Unary::Neg => {
                let negative = Code::new(Binds::Sign, format!("-{}", a.at_least(Binds::Atom))).reading(&[&a]);
                Code { is_product: a.is_product, ..negative }
            }
            _ => {
                let is_plain = op == Unary::Abs || !range.nan && range.is_finite();
                let own = if is_plain { self.syntax.own(op.symbol(), &[&a]) } else { None };
                own.unwrap_or_else(|| self.call(op.symbol(), [a]))
            }
        }
    }

    fn binary(&mut self, op: Binary, left: &Expr, right: &Expr, facts: &Facts<'_>) -> Code {
        let (a, b) = (facts.range(left), facts.range(right));
        let plain = [self.number(left, facts), self.number(right, facts)];
        let mut code = plain.clone();
        let is_min_max = matches!(op, Binary::Min | Binary::Max);
        // A float and an integer make a float; two integers would compute another result beyond 2^53.
        let are_integers = code.iter().all(|code| code.is_integer);
        if !(are_integers && is_min_max) && (S::IS_TYPED || are_integers) {
            for code in code.iter_mut().take(if S::IS_TYPED { 2 } else { 1 }) {
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
                if a.nan || self.range(right, facts).low <= 0.0 || S::IS_TYPED && a.low < 0.0 {
                    return self.guarded(operator, "modulo", code);
                }
                return self.syntax.remainder(&x, &y);
            }
            _ if a.nan || b.nan => return self.call(operator, code),
            _ => {
                let [x, y] = if are_integers { code } else { self.fit(code, 8) };
                let own = self.syntax.own(operator, &[&x, &y]);
                // In a language without types it may be the integer.
                let own = own.map(|own| Code { is_integer: x.is_integer || y.is_integer, ..own });
                return own.unwrap_or_else(|| self.call(operator, [x, y]));
            }
        };
        if S::WORDS.fuses && binds == Binds::Sum {
            code = code.map(|code| if code.is_product { self.call("rounded", [code]) } else { code });
        }
        let [a, b] = self.fit(code, operator.len() + 2);
        Code { is_product: op == Binary::Mul, ..Code::binary(binds, &a, operator, &b) }
    }

    /// Returns a quotient or remainder that is undefined where the divisor is 0.
    fn guarded(&mut self, operator: &str, helper: &'static str, [a, b]: [Code; 2]) -> Code {
        if self.syntax.guarded(operator, &a, &b).is_none() {
            return self.call(helper, [a, b]);
        }
        // The divisor is read twice.
        let b = if b.is_variable() { b } else { self.hoist(Type::Number, b) };
        self.syntax.guarded(operator, &a, &b).expect("asked before")
    }

    /// Returns the operands, with variables in the place of the longest ones until all fit.
    fn fit<const N: usize>(&mut self, mut operands: [Code; N], between: usize) -> [Code; N] {
        while operands.iter().map(|a| a.text.len() + between).sum::<usize>() > WIDTH {
            let longest = operands.iter_mut().max_by_key(|a| a.text.len()).expect("operands");
            if longest.text.len() <= 24 {
                break;
            }
            let is_product = longest.is_product;
            *longest = Code { is_product, ..self.hoist(Type::Number, longest.clone()) };
        }
        operands
    }

    fn call<const N: usize>(&mut self, name: &'static str, operands: [Code; N]) -> Code {
        let operands = operands.map(|a| self.float(a));
        let operands = self.fit(operands, 2);
        let mut code = Code::call(&self.syntax.function(name), &operands.each_ref());
        code.reads.insert(format!("{name}()"));
        code
    }

    fn conditional(&mut self, c: &Code, a: &Code, b: &Code, ty: Type) -> Code {
        if *c == self.syntax.truth(true) {
            return a.clone();
        }
        let value = self.syntax.conditional(c, a, b);
        if value.text.len() <= WIDTH { value } else { self.hoist(ty, value) }
    }

    /// Returns a truth value; it counts where it is defined.
    pub fn condition(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        let truth = facts.range(expr);
        if truth.low == truth.high {
            return self.syntax.truth(truth.low == 1.0);
        }
        if let Some((slot, texts, is_in)) = membership(expr) {
            let value = self.feature(slot, facts);
            let [yes, no] = ["True", "False"].map(|text| texts.iter().any(|other| other == text));
            let code = match facts.is_truth(slot) {
                false => self.any_of(&value, &texts),
                true if yes && !no => value,
                true if no && !yes => self.syntax.not(&value),
                true => self.syntax.truth(yes),
            };
            return if is_in { code } else { self.syntax.not(&code) };
        }
        match expr {
            Expr::Unary(Unary::Not, a) => {
                let a = self.condition(a, facts);
                self.syntax.not(&a)
            }
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let is_and = *op == Binary::And;
                let first = self.condition(a, facts);
                let second = self.condition(b, &facts.with(a, is_and));
                self.joined(is_and, &first, &second)
            }
            Expr::Binary(Binary::Compare(op), a, b) => self.comparison(*op, a, b, facts),
            Expr::Binary(op @ (Binary::Same | Binary::Differ), a, b) => {
                let [a, b] = [a, b].map(|category| self.category(category, facts));
                let same = self.syntax.same(&a, &b);
                if *op == Binary::Same { same } else { self.syntax.not(&same) }
            }
            Expr::If(..) => self.if_else(expr, Type::Bool, facts),
            Expr::Feature(slot) => self.feature(slot.index, facts),
            _ => self.syntax.truth(false),
        }
    }

    /// Returns the condition under which a truth value or category is defined.
    pub fn defined(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        if !facts.range(expr).nan {
            return self.syntax.truth(true);
        }
        match expr {
            Expr::Feature(slot) => self.defined(facts.derived(slot.index).expect("logged ones are"), facts),
            Expr::Unary(_, a) => self.defined(a, facts),
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let is_and = *op == Binary::And;
                let first = self.defined(a, facts);
                let second = self.defined(b, &facts.with(a, is_and));
                if second == self.syntax.truth(true) {
                    return first;
                }
                // Where the first operand decides, the second need not be defined.
                let a = self.condition(a, facts);
                let decides = if is_and { self.syntax.not(&a) } else { a };
                self.and(&first, &self.or(&decides, &second))
            }
            Expr::Binary(Binary::Compare(_), a, b) => {
                let mut defined = self.syntax.truth(true);
                for number in [a, b].into_iter().filter(|number| facts.range(number).nan) {
                    let number = self.variable(number, facts);
                    let nan = self.syntax.is_nan(&number);
                    defined = self.and(&defined, &self.syntax.not(&nan));
                }
                defined
            }
            Expr::Binary(_, a, b) => {
                let (first, second) = (self.defined(a, facts), self.defined(b, facts));
                let defined = self.and(&first, &second);
                if is_named(a) || is_named(b) {
                    return defined;
                }
                let names = Vec::from_iter(facts.names());
                let [a, b] = [a, b].map(|category| self.category(category, facts));
                let is_known = self.or(&self.any_of(&a, &names), &self.any_of(&b, &names));
                self.and(&defined, &is_known)
            }
            Expr::If(c, a, b) => {
                let first = self.defined(c, facts);
                let [a, b] =
                    [(a, true), (b, false)].map(|(side, value)| self.defined(side, &facts.with(c, value)));
                let c = self.condition(c, facts);
                let second = if a == b { a } else { self.conditional(&c, &a, &b, Type::Bool) };
                self.and(&first, &second)
            }
            Expr::Number(_) | Expr::Bool(_) | Expr::Text(_) => self.syntax.truth(true),
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

    /// Returns `a and b`, or `a or b`, with what is known of literals.
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
            return Code::binary(Binds::Or, &a, S::WORDS.or, &b);
        }
        let between = between(a, b).and_then(|[low, value, high]| self.syntax.between(low, value, high));
        between.map_or_else(|| Code::binary(Binds::And, a, S::WORDS.and, b), |code| code.reading(&[a]))
    }

    /// Returns the condition that a text is one of these.
    fn any_of(&self, value: &Code, texts: &[String]) -> Code {
        match texts {
            [text] => self.syntax.same(value, &Code::atom(self.syntax.text(text))),
            texts => self.syntax.is_in(value, texts),
        }
    }

    /// Returns an `if` of this type.
    fn if_else(&mut self, expr: &Expr, ty: Type, facts: &Facts<'_>) -> Code {
        let Expr::If(c, a, b) = expr else { unreachable!("only an `if` is asked for") };
        if let Some(value) = facts.range(c).decided() {
            return self.value(if value { a } else { b }, ty, facts);
        }
        let c_code = self.condition(c, facts);
        let [a, b] = [(a, true), (b, false)].map(|(side, value)| {
            let code = self.value(side, ty, &facts.with(c, value));
            if ty == Type::Number { self.float(code) } else { code }
        });
        self.conditional(&c_code, &a, &b, ty)
    }

    fn comparison(&mut self, op: Comparison, a: &Expr, b: &Expr, facts: &Facts<'_>) -> Code {
        let [first, second] = [a, b].map(|number| match facts.range(number).nan {
            true => self.variable(number, facts),
            false => self.number(number, facts),
        });
        // Up to 2^53, an integer compares with a literal as its float does.
        let literal = |expr: &Expr, is_floor: bool| match expr {
            Expr::Number(x) if x.abs() >= WHOLE => None,
            Expr::Number(x) if x.fract() == 0.0 || is_floor => Some(Code::literal(format!("{}", x.floor()))),
            Expr::Number(x) if !S::IS_TYPED => Some(Code::literal(self.syntax.float(*x))),
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

    /// Returns a category as a text; it counts where it is defined.
    pub fn category(&mut self, expr: &Expr, facts: &Facts<'_>) -> Code {
        match expr {
            Expr::Text(text) => Code::atom(self.syntax.text(text)),
            Expr::If(..) if expr.ty() == Type::Category => self.if_else(expr, Type::Category, facts),
            Expr::Feature(slot) if !facts.is_truth(slot.index) => self.feature(slot.index, facts),
            truth => {
                let value = self.condition(truth, facts);
                let [yes, no] = ["True", "False"].map(|text| Code::atom(self.syntax.text(text)));
                self.conditional(&value, &yes, &no, Type::Category)
            }
        }
    }
}

/// Returns the parts of `value >= low` and `value <= high` with literals and one variable.
fn between<'c>(a: &'c Code, b: &'c Code) -> Option<[&'c str; 3]> {
    let ((value, low), (other, high)) = (a.text.split_once(" >= ")?, b.text.split_once(" <= ")?);
    let is_literal = |text: &str| text.parse::<f64>().is_ok();
    let is_between = value == other && a.reads.contains(value) && is_literal(low) && is_literal(high);
    is_between.then_some([low, value, high])
}
