//! How a language writes expressions, features and statements: its words, and the few forms that differ. [`BASE`] has those that most
//! languages share.

use ah_model::expr::Type;
use ah_model::{ChoiceId, Model};

use crate::code::{Binds, Code, Form};
use crate::names::{Case, Names};
use crate::text::shown;

/// The result of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Decline,
    Choice(ChoiceId),
    /// The ranking of this number.
    Ranking(usize),
}

/// How a language writes code.
#[derive(Clone, Copy)]
pub struct Language {
    /// The cases of logged features, of derived ones and of choices.
    pub cases: [Case; 3],
    /// The language's words, and the names of the file itself.
    pub reserved: [&'static str; 2],
    /// Logged features are fields, so they never meet the file's own names.
    pub has_fields: bool,
    /// Logged truth values are of the language's own type, and integers do not mix with floats.
    pub is_typed: bool,
    /// The types of integers, numbers, truth values and texts.
    pub types: [&'static str; 4],
    /// Escapes a line without control characters, a sentence, and a name, for documentation.
    pub documented: [fn(&str) -> String; 3],

    /// The text before a logged feature.
    pub field: &'static str,
    /// The text before a function of the file, where `$` is the package; and functions that have other names.
    pub prefix: &'static str,
    pub functions: &'static [(&'static str, &'static str)],
    /// `and`, `or`
    pub and: &'static str,
    pub or: &'static str,
    pub not: Form,
    /// True and false.
    pub truths: [&'static str; 2],
    /// NaN, infinity, and its negative.
    pub floats: [&'static str; 3],
    pub conditional: Form,
    /// An integer as a float.
    pub to_float: Form,
    /// A number is NaN, and its opposite.
    pub is_nan: [Form; 2],
    /// Two texts are equal, and the opposite; without them by a function of the file.
    pub same: Option<[Form; 2]>,
    /// A text is one of several literals, which this text separates, and the opposite; without them by several comparisons.
    pub is_in: Option<([Form; 2], &'static str)>,
    /// The form of `low <= value <= high` that people prefer.
    pub between: Option<Form>,
    /// The function that returns the remainder of floats, if the operator does not.
    pub remainder: Option<&'static str>,
    /// Compilers may fuse a product and a sum, which then rounds once: a helper keeps them apart.
    pub fuses: bool,
    /// An operation on defined floats in the language's own words, if its results are the model's.
    pub own: fn(&str, &[&Code]) -> Option<Code>,
    /// The value that makes a given feature one to compute with, if it needs that.
    pub converted: fn(&Model, usize, &Code) -> Option<Code>,
    pub text: fn(&str) -> String,
    /// A choice as code has it.
    pub choice: fn(&Model, &Names, ChoiceId) -> String,

    /// The values of a path that declines, of a choice and of the number of a ranking, which replace `$`.
    pub results: [&'static str; 3],
    /// The text around a value that is returned.
    pub returned: [&'static str; 2],
    /// The value of a function is its last expression.
    pub has_tail: bool,
    /// The statement that gives a variable a value.
    pub assign: fn(&str, Type, &Code) -> String,
    /// The text around the condition of an `if`, and at its end.
    pub block: [&'static str; 3],
    /// An `if` with one statement takes one line.
    pub in_one_line: bool,
    /// The text around a body that reads features, one level deeper; empty without.
    pub guard: [&'static str; 2],
    /// The text around a comment.
    pub comment: [&'static str; 2],
    /// The text before a node, a ranked choice, a split and a pair in tables, and behind each.
    pub rows: [&'static str; 5],
    /// The column of a leaf in tables.
    pub leaf: &'static str,
    /// A part of a booster's row.
    pub lanes: fn(&[i8]) -> String,
}

/// The words that most languages share.
pub const BASE: Language = Language {
    cases: [Case::Kept, Case::Kept, Case::Snake],
    reserved: [""; 2],
    has_fields: true,
    is_typed: true,
    types: [""; 4],
    documented: [str::to_owned, shown, shown],
    field: "c.",
    prefix: "",
    functions: &[],
    and: "&&",
    or: "||",
    not: Form("!$0", Binds::Sign, Binds::Sign),
    truths: ["true", "false"],
    floats: ["NAN", "INFINITY", "-INFINITY"],
    conditional: Form("$0 ? $1 : $2", Binds::Choice, Binds::Or),
    to_float: Form("$0", Binds::Atom, Binds::Atom),
    is_nan: [
        Form("$0 != $0", Binds::Comparison, Binds::Sum),
        Form("$0 == $0", Binds::Comparison, Binds::Sum),
    ],
    same: Some([
        Form("$0 == $1", Binds::Comparison, Binds::Sum),
        Form("$0 != $1", Binds::Comparison, Binds::Sum),
    ]),
    is_in: None,
    between: None,
    remainder: None,
    fuses: false,
    own: |_, _| None,
    converted: |_, _, _| None,
    text: str::to_owned,
    choice: |model, _, id| model.choice_name(id).to_owned(),
    results: ["", "$", "$"],
    returned: ["return ", ""],
    has_tail: false,
    assign: |name, _, value| format!("{name} = {}", value.text),
    block: ["if ", " {", "}"],
    in_one_line: false,
    guard: [""; 2],
    comment: ["// ", ""],
    rows: ["{", "{", "{", "{", "}"],
    leaf: "-1",
    lanes: |lanes| format!("{lanes:?}").replace('[', "{").replace(']', "}"),
};

impl Language {
    /// The name of a function in a file.
    pub fn function(&self, names: &Names, name: &str) -> String {
        let other = self.functions.iter().find(|(known, _)| *known == name);
        other.map_or_else(|| self.prefix.replace('$', &names.package) + name, |(_, own)| (*own).to_owned())
    }

    pub fn float(&self, x: f64) -> String {
        let [nan, infinity, negative] = self.floats;
        match x {
            x if x.is_nan() => nan.to_owned(),
            f64::INFINITY => infinity.to_owned(),
            f64::NEG_INFINITY => negative.to_owned(),
            x => format!("{x:?}"),
        }
    }

    /// A number as code; `math()` is among the helpers of the file if the number is one of a library.
    pub fn number(&self, x: f64) -> Code {
        let code = Code::literal(self.float(x));
        if code.text.contains("math.") { code.calling("math") } else { code }
    }

    pub fn truth(&self, value: bool) -> Code {
        Code::atom(self.truths[usize::from(!value)])
    }

    /// The truth value that a condition always has, if its code says so.
    pub fn literal(&self, code: &Code) -> Option<bool> {
        [true, false].into_iter().find(|value| *code == self.truth(*value))
    }

    pub fn not(&self, a: &Code) -> Code {
        match (&a.opposite, self.literal(a)) {
            (_, Some(value)) => self.truth(!value),
            (Some(opposite), _) => (**opposite).clone(),
            _ => Code { opposite: Some(Box::new(a.clone())), ..self.not.with(&[a]) },
        }
    }

    pub fn is_nan(&self, a: &Code) -> Code {
        let [yes, no] = self.is_nan.map(|form| form.with(&[a]));
        yes.or_else(no)
    }

    /// `a == b` for texts.
    pub fn same(&self, names: &Names, a: &Code, b: &Code) -> Code {
        match self.same.map(|forms| forms.map(|form| form.with(&[a, b]))) {
            Some([yes, no]) => yes.or_else(no),
            None => Code::call(&self.function(names, "same"), &[a, b]).calling("same"),
        }
    }

    /// The condition that a text is one of these.
    pub fn is_in(&self, names: &Names, a: &Code, texts: &[String]) -> Code {
        let literals: Vec<String> = texts.iter().map(|text| (self.text)(text)).collect();
        match (&literals[..], self.is_in) {
            ([literal], _) => self.same(names, a, &Code::atom(literal)),
            (_, Some((forms, separator))) => {
                let literals = Code::atom(literals.join(separator));
                let [yes, no] = forms.map(|form| form.with(&[a, &literals]));
                yes.or_else(no)
            }
            (_, None) => {
                let same = literals.into_iter().map(|literal| self.same(names, a, &Code::atom(literal)));
                let any = same.reduce(|a, b| Code::binary(Binds::Or, &a, self.or, &b));
                any.unwrap_or_else(|| self.truth(false)).bracketed()
            }
        }
    }

    /// The remainder of a number that is not NaN by a positive one; languages with types ask for none of negative numbers.
    pub fn remainder(&self, a: &Code, b: &Code) -> Code {
        match self.remainder {
            Some(function) if !a.is_integer => Code::call(function, &[a, b]),
            _ => Code { is_integer: a.is_integer && b.is_integer, ..Code::binary(Binds::Product, a, "%", b) },
        }
    }

    /// A logged feature as the caller gives it.
    pub fn logged(&self, model: &Model, names: &Names, slot: usize) -> Code {
        let is_integer = !self.is_typed || model.features.base().features()[slot].integer;
        Code { is_integer, ..Code::variable(&format!("{}{}", self.field, names.feature(slot))) }
    }

    /// A comment.
    pub fn commented(&self, text: &str) -> String {
        let [before, after] = self.comment;
        format!("{before}{text}{after}")
    }
}
