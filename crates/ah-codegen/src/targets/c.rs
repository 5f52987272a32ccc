//! C: one header that is valid C99, C++17 and CUDA. It allocates nothing.
//!
//! An undefined truth value or category is -1. Sums and products call helpers, because a compiler may
//! contract `a * b + c` to a fused multiply-add, which rounds once instead of twice.

use ah_types::expr::{Comparison, Type};
use serde::Serialize;

use crate::error::CodegenError;
use crate::lower::{Argument, LoweredModel, WholeOperation};
use crate::printing::code::{Binds, Code};
use crate::printing::expression::{Calls, Dialect};
use crate::printing::keywords::c_keywords;
use crate::printing::language::{Language, Names, Naming, ValueKind};
use crate::printing::names::{Case, single};
use crate::printing::text::{c_string, number};
use crate::printing::view::ModelView;
use crate::switch::Syntax;
use crate::target::{OutputPlace, Target, TargetOptions, View};

/// Keywords, and the template's own names.
const RESERVED: &str = concat!(
    c_keywords!(),
    " errno row context at node memo value nan inf m_e m_pi null eof near far small interface ranking count leaf index offered vote"
);

/// One C99 header that is also C++17 and CUDA.
#[derive(Clone, Copy, Debug)]
pub struct C;

/// The values that C's template prints.
#[derive(Serialize)]
struct HeaderView {
    /// The beginning of every name of the header.
    prefix: String,
    /// The same in capitals, for constants.
    upper: String,
    #[serde(flatten)]
    model: ModelView,
}

impl Target for C {
    fn name(&self) -> &'static str {
        "c"
    }

    fn syntax(&self) -> Option<Syntax> {
        Some(Syntax::C)
    }

    fn view(&self, lowered: &LoweredModel<'_>, _: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let prefix = single(&lowered.model.heuristic, Case::Snake, "heuristic", RESERVED);
        let model = ModelView::new(lowered, &CLanguage::new(lowered, &prefix));
        let place = OutputPlace::File { name: format!("{prefix}.h"), template: "header.h" };
        View::new(place, &HeaderView { upper: prefix.to_ascii_uppercase(), prefix, model })
    }
}

struct CLanguage<'a> {
    lowered: &'a LoweredModel<'a>,
    names: Names,
    /// The text before every function.
    prefix: String,
}

impl<'a> CLanguage<'a> {
    fn new(lowered: &'a LoweredModel<'a>, prefix: &str) -> Self {
        let mut names =
            Names::new(lowered, (Case::Snake, RESERVED), (Case::Snake, "other"), (Case::Snake, ""));
        for (variants, feature) in names.variants.iter_mut().zip(&names.features) {
            for variant in variants {
                *variant = format!("{prefix}_{feature}_is_{variant}").to_ascii_uppercase();
            }
        }
        for choice in &mut names.choices {
            choice.make_ascii_uppercase();
        }
        Self { lowered, names, prefix: format!("{prefix}_") }
    }

    /// Returns a logged feature.
    fn field(&self, slot: usize) -> String {
        format!("context->{}", self.names.features[slot])
    }

    /// Returns the enumerator of a logged category in this slot, or the code of a derived one.
    fn enumerator(&self, slot: usize, category: &str) -> String {
        let variants = self.lowered.variants.get(slot);
        match variants.and_then(|variants| variants.binary_search(&category).ok()) {
            Some(i) => self.names.variants[slot][i].clone(),
            None => self.lowered.code(category).to_string(),
        }
    }
}

impl Dialect for CLanguage<'_> {
    fn helper_prefix(&self) -> &str {
        &self.prefix
    }

    fn has_arithmetic(&self) -> bool {
        false
    }

    fn truth(&self, value: bool) -> Code {
        Code::atom(u8::from(value).to_string())
    }

    fn category(&self, name: &str) -> Code {
        Code::atom(self.lowered.code(name).to_string())
    }

    fn feature(&self, slot: usize) -> Code {
        match ValueKind::of(self.lowered, slot) {
            _ if self.lowered.derived_type(slot).is_some() => Code::atom(&self.names.features[slot]),
            ValueKind::Integer => Code::new(Binds::Sign, format!("(double){}", self.field(slot))),
            ValueKind::Category => Code::new(Binds::Sign, format!("(int){}", self.field(slot))),
            ValueKind::Number | ValueKind::Truth => Code::atom(self.field(slot)),
        }
    }

    fn whole(&self, operation: &WholeOperation, called: &mut Calls) -> Option<Code> {
        let power = operation.power.map(|power| Code::atom(power.to_string()));
        let field = Code::atom(self.field(operation.slot));
        Some(called.helper(self, operation.name, [field].into_iter().chain(power)))
    }

    fn compare_whole(&self, slot: usize, comparison: Comparison, literal: f64) -> Option<Code> {
        let bound = match comparison {
            Comparison::Le | Comparison::Gt => literal.floor(),
            Comparison::Lt | Comparison::Ge => literal.ceil(),
            Comparison::Eq | Comparison::Ne if literal == literal.floor() => literal,
            Comparison::Eq | Comparison::Ne => return None,
        };
        let (left, right) = (Code::atom(self.field(slot)), Code::atom(below_2_53(bound)?));
        Some(Code::binary(Binds::Comparison, left, comparison.symbol(), right))
    }

    fn and(&self, a: Code, b: Code, called: &mut Calls) -> Code {
        let t = called.variable();
        let (a, b) = (a.above(Binds::Comparison), b.above(Binds::Choice));
        Code::new(Binds::Choice, format!("({t} = {a}) == 1 ? {b} : {t}"))
    }

    fn or(&self, a: Code, b: Code, called: &mut Calls) -> Code {
        let t = called.variable();
        let (a, b) = (a.above(Binds::Comparison), b.above(Binds::Choice));
        Code::new(Binds::Choice, format!("({t} = {a}) == 0 ? {b} : {t}"))
    }

    fn choose(&self, c: Code, a: Code, b: Code, ty: Type, called: &mut Calls) -> Code {
        let t = called.variable();
        let undefined = match ty {
            Type::Number => called.helper(self, "undefined", []),
            Type::Bool | Type::Category => Code::literal("-1".to_owned()),
        };
        let (c, a, b) = (c.above(Binds::Comparison), a.above(Binds::Choice), b.above(Binds::Choice));
        Code::new(Binds::Choice, format!("({t} = {c}) == 1 ? {a} : {t} == 0 ? {b} : {}", undefined.alone()))
    }
}

impl Language for CLanguage<'_> {
    fn names(&self) -> &Names {
        &self.names
    }

    fn string(&self, text: &str) -> String {
        c_string(text)
    }

    fn type_name(&self, slot: usize) -> String {
        let name = match ValueKind::of(self.lowered, slot) {
            ValueKind::Integer => "int64_t",
            ValueKind::Number => "double",
            ValueKind::Truth | ValueKind::Category => "int",
        };
        name.to_owned()
    }

    fn field_naming(&self) -> Naming<'_> {
        (Case::Snake, RESERVED)
    }

    fn read(&self, slot: usize) -> Option<String> {
        let cast = if self.lowered.is_logged_category(slot) { "(int)" } else { "" };
        Some(format!("{cast}{}", self.field(slot)))
    }

    fn compute(&self, slot: usize, arguments: &[Argument]) -> String {
        let function = format!("{}feature_{}", self.prefix, self.names.features[slot]);
        let arguments = arguments.iter().map(|argument| self.names.features[argument.slot].as_str());
        Code::call(&function, ["context"].into_iter().chain(arguments).map(Code::atom)).alone()
    }

    fn threshold(&self, x: f64) -> String {
        if x.is_infinite() { "HUGE_VAL".to_owned() } else { number(x) }
    }

    fn at_most(&self, slot: usize, threshold: f64) -> String {
        let whole = self.lowered.is_whole(slot);
        let name = &self.names.features[slot];
        match below_2_53(threshold.floor()).filter(|_| whole) {
            Some(bound) => format!("{name} <= {bound}"),
            None if self.lowered.is_missing(slot) => format!("!({name} > {})", number(threshold)),
            None => format!("{}{name} <= {}", if whole { "(double)" } else { "" }, number(threshold)),
        }
    }

    fn is_in(&self, slot: usize, categories: &[&str]) -> String {
        let name = &self.names.features[slot];
        let equal = |category: &&str| format!("{name} == {}", self.enumerator(slot, category));
        categories.iter().map(equal).collect::<Vec<_>>().join(" || ")
    }

    fn unseen(&self, slot: usize) -> String {
        let differs = |category: &String| {
            format!("{} != {}", self.names.features[slot], self.enumerator(slot, category))
        };
        let seen: Vec<String> = self.lowered.model.categories[slot].iter().map(differs).collect();
        seen.join(" && ")
    }
}

/// Returns a whole number as an integer literal, if all smaller whole numbers are exact in f64: comparing
/// integers then has the same result as comparing their roundings.
fn below_2_53(x: f64) -> Option<String> {
    (x.abs() < 9_007_199_254_740_992.0).then(|| format!("INT64_C({x:.0})"))
}
