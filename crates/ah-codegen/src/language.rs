//! How a language writes expressions, features and statements: by its [words](Words), and the few forms that differ.

use ah_types::expr::Type;
use ah_types::{ChoiceId, Model};

use crate::code::{Binds, Code};
use crate::names::Names;
use crate::words::Words;

/// The result of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Decline,
    Choice(ChoiceId),
    /// The ranking of this number.
    Ranking(usize),
}

/// How a language writes code.
pub trait Language {
    const WORDS: Words;
    /// Logged truth values are of the language's own type, and integers do not mix with floats.
    const IS_TYPED: bool;

    fn text(&self, text: &str) -> String;
    /// Returns a choice as code has it.
    fn choice(&self, model: &Model, names: &Names, id: ChoiceId) -> String;
    /// Returns the statement for the end of a path; `is_tail` is true for the last statement of the function, and `is_certain` where
    /// no path declines.
    fn result(&self, outcome: Outcome, choice: String, is_tail: bool, is_certain: bool) -> String;
    fn conditional(&self, c: &Code, a: &Code, b: &Code) -> Code;
    /// Returns the condition that a text is one of several literals.
    fn is_in(&self, a: &Code, texts: &[String]) -> Code;
    /// Returns an integer as a float.
    fn to_float(&self, a: &Code) -> Code;
    /// Returns the remainder of a number that is not NaN by a positive one; languages with types ask for none of negative numbers.
    fn remainder(&self, a: &Code, b: &Code) -> Code;
    /// Returns the statement that gives a variable a value.
    fn assign(&self, name: &str, ty: Type, value: &Code, level: usize) -> String;

    /// Returns the name of a function in a file.
    fn function(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Returns a part of a booster's row.
    fn lanes(&self, lanes: &[i8]) -> String;

    fn float(&self, x: f64) -> String {
        let [nan, infinity, negative] = Self::WORDS.floats;
        match x {
            x if x.is_nan() => nan.to_owned(),
            f64::INFINITY => infinity.to_owned(),
            f64::NEG_INFINITY => negative.to_owned(),
            x => format!("{x:?}"),
        }
    }

    fn truth(&self, value: bool) -> Code {
        Code::atom(Self::WORDS.truths[usize::from(!value)])
    }

    /// Returns `not a`, where `a` has no other opposite.
    fn not_of(&self, a: &Code) -> Code {
        Code::new(Binds::Sign, format!("!{}", a.at_least(Binds::Sign))).reading(&[a])
    }

    fn not(&self, a: &Code) -> Code {
        match &a.opposite {
            _ if *a == self.truth(true) => self.truth(false),
            _ if *a == self.truth(false) => self.truth(true),
            Some(opposite) => (**opposite).clone(),
            None => Code { opposite: Some(Box::new(a.clone())), ..self.not_of(a) },
        }
    }

    fn is_nan(&self, a: &Code) -> Code {
        let compared = |operator| Code::binary(Binds::Comparison, a, operator, a);
        compared("!=").or_else(compared("=="))
    }

    /// Returns `a == b` for texts.
    fn same(&self, a: &Code, b: &Code) -> Code {
        let compared = |operator| Code::binary(Binds::Comparison, a, operator, b);
        compared("==").or_else(compared("!="))
    }

    /// Returns `low <= value <= high`, if the language has a form of it that people prefer.
    fn between(&self, _low: &str, _value: &str, _high: &str) -> Option<Code> {
        None
    }

    /// Returns an operation on defined floats in the language's own words, if its results are the model's.
    fn own(&self, _function: &str, _operands: &[&Code]) -> Option<Code> {
        None
    }

    /// Returns a quotient or remainder by a variable that may be 0, in the language's own words.
    fn guarded(&self, _operator: &str, _a: &Code, _b: &Code) -> Option<Code> {
        None
    }

    /// Returns a logged feature as the caller gives it.
    fn logged(&self, model: &Model, names: &Names, slot: usize) -> Code {
        let is_integer = !Self::IS_TYPED || model.features.base().features()[slot].integer;
        Code { is_integer, ..Code::variable(&format!("{}{}", Self::WORDS.field, names.feature(slot))) }
    }

    /// Returns the statement's value that makes a given value one to compute with, if it needs that.
    fn converted(&self, _model: &Model, _slot: usize, _given: &Code) -> Option<Code> {
        None
    }

    /// Returns a comment.
    fn comment(&self, text: &str) -> String {
        let [before, after] = Self::WORDS.comment;
        format!("{before}{text}{after}")
    }
}
