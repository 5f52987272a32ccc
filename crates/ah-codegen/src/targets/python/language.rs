//! Python: an undefined truth value or category is `None`. Every function takes the logged features that it
//! reads as floats and strings.

use ah_types::expr::Type;

use crate::lower::{Argument, LoweredModel};
use crate::printing::code::{Binds, Code};
use crate::printing::expression::{Calls, Dialect};
use crate::printing::keywords::python_keywords;
use crate::printing::language::{Language, Names, Naming, ValueKind};
use crate::printing::names::Case;
use crate::printing::text::{number, python_string};

/// Keywords, and the templates' own names.
pub const RESERVED: &str = concat!(
    python_keywords!(),
    " self context metadata choices memo at node value offered leaf leaves isinstance len dict list tuple frozenset"
);

/// How Python writes a model.
pub struct PythonLanguage<'a> {
    lowered: &'a LoweredModel<'a>,
    names: Names,
}

impl<'a> PythonLanguage<'a> {
    /// Returns Python for this model, with features in this naming.
    pub fn new(lowered: &'a LoweredModel<'a>, features: Naming<'_>) -> Self {
        let none = (features.0, "");
        Self { lowered, names: Names::new(lowered, features, none, none) }
    }
}

impl Dialect for PythonLanguage<'_> {
    fn helper_prefix(&self) -> &str {
        "_"
    }

    fn truth(&self, value: bool) -> Code {
        Code::atom(if value { "True" } else { "False" })
    }

    fn category(&self, name: &str) -> Code {
        Code::atom(self.string(name))
    }

    fn feature(&self, slot: usize) -> Code {
        Code::atom(&self.names.features[slot])
    }

    fn is_category(&self, slot: usize, name: &str, equal: bool) -> Option<Code> {
        // A logged category is never undefined here.
        let operator = if equal { "==" } else { "!=" };
        let logged = self.lowered.is_logged_category(slot);
        logged.then(|| Code::binary(Binds::Comparison, self.feature(slot), operator, self.category(name)))
    }

    /// Calls cost more than these operators. A value that is used twice gets a variable, unless it has one.
    fn inline(
        &self,
        helper: &'static str,
        operands: &[Code],
        literal: Option<f64>,
        called: &mut Calls,
    ) -> Option<Code> {
        let operator = match (helper, literal.filter(|x| !x.is_nan())) {
            ("floor" | "ceil", _) => "",
            ("eq", Some(_)) => "==",
            ("ne", Some(_)) => "!=",
            ("lt" | "max", Some(_)) => "<",
            ("gt" | "min", Some(_)) => ">",
            ("le", Some(_)) => "<=",
            ("ge", Some(_)) => ">=",
            _ => return None,
        };
        let a = operands.first()?.clone();
        let (first, a) = if a.is_name() {
            (a.clone().alone(), a.alone())
        } else {
            let t = called.variable();
            (format!("({t} := {})", a.alone()), t)
        };
        let b = literal.map(|x| self.number(x).above(Binds::Comparison)).unwrap_or_default();
        Some(Code::new(
            Binds::Choice,
            match helper {
                "floor" => format!("{a} // 1.0 if {first} - {a} == 0.0 else {a}"),
                "ceil" => format!("-(-{a} // 1.0) if {first} - {a} == 0.0 else {a}"),
                "min" | "max" => format!("{b} if {first} {operator} {b} else {a}"),
                _ => format!("{a} {operator} {b} if {first} == {a} else None"),
            },
        ))
    }

    /// Python's own operator returns `None` if the first operand is `None`, like the model.
    fn and(&self, a: Code, b: Code, _: &mut Calls) -> Code {
        Code::binary(Binds::And, a, "and", b)
    }

    fn or(&self, a: Code, b: Code, called: &mut Calls) -> Code {
        let t = called.variable();
        let (a, b) = (a.alone(), b.above(Binds::Choice));
        Code::new(Binds::Choice, format!("{b} if ({t} := {a}) is False else {t}"))
    }

    fn choose(&self, c: Code, a: Code, b: Code, ty: Type, called: &mut Calls) -> Code {
        let t = called.variable();
        let undefined = if ty == Type::Number { "math.nan" } else { "None" };
        let (c, a, b) = (c.alone(), a.above(Binds::Choice), b.above(Binds::Choice));
        Code::new(
            Binds::Choice,
            format!("{a} if ({t} := {c}) is True else {b} if {t} is False else {undefined}"),
        )
    }
}

impl Language for PythonLanguage<'_> {
    fn names(&self) -> &Names {
        &self.names
    }

    fn string(&self, text: &str) -> String {
        python_string(text)
    }

    fn type_name(&self, slot: usize) -> String {
        let name = match ValueKind::of(self.lowered, slot) {
            ValueKind::Integer | ValueKind::Number => "float",
            ValueKind::Truth => "Optional[bool]",
            ValueKind::Category if self.lowered.is_logged_category(slot) => "str",
            ValueKind::Category => "Optional[str]",
        };
        name.to_owned()
    }

    /// Python has dicts, whose keys are the names.
    fn field_naming(&self) -> Naming<'_> {
        (Case::Kept, "")
    }

    fn read(&self, _: usize) -> Option<String> {
        None
    }

    /// A call may give whole numbers and any objects.
    fn convert(&self, slot: usize) -> Option<String> {
        let is_category = self.lowered.is_logged_category(slot);
        let (class, missing) = if is_category { ("str", "\"\"") } else { ("float", "math.nan") };
        let name = &self.names.features[slot];
        Some(if self.lowered.is_missing(slot) {
            format!("{missing} if {name} is None else {class}({name})")
        } else {
            format!("{class}({name})")
        })
    }

    fn compute(&self, slot: usize, arguments: &[Argument]) -> String {
        let (logged, _) = self.lowered.inputs(slot);
        let arguments = logged.into_iter().chain(arguments.iter().map(|argument| argument.slot));
        let function = format!("_feature_{}", self.names.features[slot]);
        Code::call(&function, arguments.map(|slot| self.feature(slot))).alone()
    }

    fn at_most(&self, slot: usize, threshold: f64) -> String {
        let (name, threshold) = (&self.names.features[slot], number(threshold));
        if self.lowered.is_missing(slot) {
            format!("not {name} > {threshold}")
        } else {
            format!("{name} <= {threshold}")
        }
    }

    /// Python makes a constant of such a set when it reads the file.
    fn is_in(&self, slot: usize, categories: &[&str]) -> String {
        let name = &self.names.features[slot];
        let texts: Vec<String> = categories.iter().map(|category| self.string(category)).collect();
        match &texts[..] {
            [one] => format!("{name} == {one}"),
            several => format!("{name} in {{{}}}", several.join(", ")),
        }
    }

    fn unseen(&self, slot: usize) -> String {
        let seen = self.lowered.model.categories[slot].iter().map(|category| self.string(category));
        format!("{} not in ({},)", self.names.features[slot], seen.collect::<Vec<_>>().join(", "))
    }

    /// Steps of a loop take Python three times as long as branches.
    fn nests_ensembles(&self) -> bool {
        true
    }

    fn negated(&self, truth: &str) -> String {
        format!("not {truth}")
    }
}
