//! Rust: undefined truth values and categories leave the function through `?`.

use ah_types::ChoiceId;
use ah_types::expr::Type;

use crate::lower::{Argument, LoweredModel, WholeOperation};
use crate::printing::code::{Binds, Code};
use crate::printing::expression::{Calls, Dialect};
use crate::printing::keywords::rust_keywords;
use crate::printing::language::{Language, Names, Naming, ValueKind};
use crate::printing::names::{Case, Namer, single};
use crate::printing::text::{number, rust_string, sentence};

/// Keywords, and the templates' own names.
const RESERVED: &str = concat!(
    rust_keywords!(),
    " row context values memo node at slot leaf leaves tree ensemble reached codes code descend pick offered features known needed \
     number seen defined divide modulo min max abs floor ceil log2 ctz same eq ne lt le gt ge precondition into try_into"
);
const RESERVED_TYPES: &str = "\
    Self Choice Config Context Row Number Leaf Ranked Reached Ranking Unsure Device Promise UnknownChoice Heuristic \
    Option Some None Result Ok Err Fn Other Memo Node Whole";
/// Names that no package may have, beside the keywords.
const RESERVED_CRATES: &str = "\
    core std alloc test proc_macro serde ah_runtime ah_types con nul aux prn";

/// How Rust writes a model.
pub struct RustLanguage<'a> {
    lowered: &'a LoweredModel<'a>,
    names: Names,
    /// By logged slot: the types of categorical features.
    enums: Vec<String>,
}

/// Returns the name of the crate.
pub fn krate(heuristic: &str) -> String {
    single(heuristic, Case::Snake, "heuristic", &[RESERVED, RESERVED_CRATES].join(" "))
}

impl<'a> RustLanguage<'a> {
    /// Returns Rust for this model.
    pub fn new(lowered: &'a LoweredModel<'a>) -> Self {
        let mut types = Namer::new(Case::Camel, RESERVED_TYPES);
        let base = lowered.model.features.base().features();
        Self {
            lowered,
            names: Names::new(
                lowered,
                (Case::Snake, RESERVED),
                (Case::Camel, "Self Other"),
                (Case::Camel, "Self"),
            ),
            enums: base.iter().map(|f| types.give(&f.name, "Feature")).collect(),
        }
    }

    /// Returns the path of the variant for a category of a logged feature.
    fn variant(&self, slot: usize, category: &str) -> String {
        let variant = self.lowered.variants[slot].binary_search(&category);
        let variant = variant.map_or("Other", |i| self.names.variants[slot][i].as_str());
        format!("context::{}::{variant}", self.enums[slot])
    }

    fn negation(&self, truth: Code) -> Code {
        Code::new(Binds::Sign, format!("!{}", truth.at_least(Binds::Sign)))
    }

    fn equality(&self, left: Code, right: Code, equal: bool) -> Code {
        Code::binary(Binds::Comparison, left, if equal { "==" } else { "!=" }, right)
    }
}

impl Dialect for RustLanguage<'_> {
    fn truth(&self, value: bool) -> Code {
        Code::atom(value.to_string())
    }

    fn category(&self, name: &str) -> Code {
        Code::atom(self.lowered.code(name).to_string())
    }

    fn feature(&self, slot: usize) -> Code {
        let name = &self.names.features[slot];
        match ValueKind::of(self.lowered, slot) {
            _ if self.lowered.derived_type(slot).is_some() => Code::atom(format!("{name}?")),
            ValueKind::Integer => Code::atom(format!("row.{name}().float()")),
            ValueKind::Category => Code::new(Binds::Cast, format!("row.{name}()? as u16")),
            ValueKind::Number | ValueKind::Truth => Code::atom(format!("row.{name}()")),
        }
    }

    fn maybe(&self, call: Code) -> Code {
        Code::atom(format!("{}?", call.alone()))
    }

    fn whole(&self, operation: &WholeOperation, called: &mut Calls) -> Option<Code> {
        called.helpers.insert(operation.name);
        let power = operation.power.map(|power| Code::atom(power.to_string()));
        Some(Code::call(&format!("row.{}().{}", self.names.features[operation.slot], operation.name), power))
    }

    fn is_category(&self, slot: usize, name: &str, equal: bool) -> Option<Code> {
        let feature = &self.names.features[slot];
        match (self.lowered.derived_type(slot), name) {
            (None, _) => {
                let value = Code::atom(format!("row.{feature}()?"));
                Some(self.equality(value, Code::atom(self.variant(slot, name)), equal))
            }
            (Some(Type::Bool), "True" | "False") => {
                let value = Code::atom(format!("{feature}?"));
                Some(if (name == "True") == equal { value } else { self.negation(value) })
            }
            _ => None,
        }
    }

    fn equal(&self, left: Code, right: Code, equal: bool, _: &mut Calls) -> Code {
        self.equality(left, right, equal)
    }

    fn not(&self, a: Code, _: &mut Calls) -> Code {
        self.negation(a)
    }

    fn and(&self, a: Code, b: Code, _: &mut Calls) -> Code {
        Code::binary(Binds::And, a, "&&", b)
    }

    fn or(&self, a: Code, b: Code, _: &mut Calls) -> Code {
        Code::binary(Binds::Or, a, "||", b)
    }

    fn choose(&self, c: Code, a: Code, b: Code, _: Type, _: &mut Calls) -> Code {
        Code::new(Binds::Choice, format!("if {} {{ {} }} else {{ {} }}", c.alone(), a.alone(), b.alone()))
    }

    fn category_of(&self, truth: Code, called: &mut Calls) -> Code {
        self.choose(truth, self.category("True"), self.category("False"), Type::Category, called)
    }
}

impl Language for RustLanguage<'_> {
    fn names(&self) -> &Names {
        &self.names
    }

    fn string(&self, text: &str) -> String {
        rust_string(text)
    }

    fn sentence(&self, text: &str) -> String {
        sentence(text)
    }

    fn type_name(&self, slot: usize) -> String {
        let name = match ValueKind::of(self.lowered, slot) {
            ValueKind::Integer => "i64",
            ValueKind::Number => "f64",
            ValueKind::Truth => "bool",
            ValueKind::Category => self.enums.get(slot).map_or("u16", String::as_str),
        };
        name.to_owned()
    }

    fn field_naming(&self) -> Naming<'_> {
        (Case::Snake, RESERVED)
    }

    fn choice(&self, choice: ChoiceId) -> String {
        format!("Choice::{}", self.names.choices[choice.index()])
    }

    fn read(&self, slot: usize) -> Option<String> {
        let float = if self.lowered.is_whole(slot) { ".float()" } else { "" };
        Some(format!("row.{}(){float}", self.names.features[slot]))
    }

    fn compute(&self, slot: usize, arguments: &[Argument]) -> String {
        let argument = |argument: &Argument| {
            let name = &self.names.features[argument.slot];
            Code::atom(if argument.checked { format!("Some({name})") } else { name.clone() })
        };
        let row = [Code::atom("row")].into_iter();
        let function = format!("features::{}", self.names.features[slot]);
        Code::call(&function, row.chain(arguments.iter().map(argument))).alone()
    }

    fn threshold(&self, x: f64) -> String {
        if x.is_infinite() { "f64::INFINITY".to_owned() } else { number(x) }
    }

    fn at_most(&self, slot: usize, threshold: f64) -> String {
        let (name, threshold) = (&self.names.features[slot], number(threshold));
        if self.lowered.is_missing(slot) {
            format!("!({name} > {threshold})")
        } else {
            format!("{name} <= {threshold}")
        }
    }

    fn is_in(&self, slot: usize, categories: &[&str]) -> String {
        let name = &self.names.features[slot];
        let derived = self.lowered.derived_type(slot).is_some();
        let pattern = |category: &&str| {
            if derived { self.lowered.code(category).to_string() } else { self.variant(slot, category) }
        };
        let patterns: Vec<String> = categories.iter().map(pattern).collect();
        match &patterns[..] {
            [one] => format!("{name} == {one}"),
            several => format!("matches!({name}, {})", several.join(" | ")),
        }
    }

    fn unseen(&self, slot: usize) -> String {
        let (name, model) = (&self.names.features[slot], self.lowered.model);
        if self.lowered.derived_type(slot).is_some() {
            let codes: Vec<String> =
                model.categories[slot].iter().map(|c| self.lowered.code(c).to_string()).collect();
            return format!("!matches!({name}, {})", codes.join(" | "));
        }
        let unknown = self.lowered.variants[slot].iter().filter(|text| !model.knows(slot, text));
        let mut paths: Vec<String> = unknown.map(|text| self.variant(slot, text)).collect();
        paths.push(format!("context::{}::Other", self.enums[slot]));
        format!("matches!({name}, {})", paths.join(" | "))
    }

    fn returned(&self, code: Code, ty: Type, called: &mut Calls) -> String {
        match (ty, code.before_question_mark()) {
            (Type::Number, _) => called.helper(self, "defined", [code]).alone(),
            (_, Some(option)) => option.to_owned(),
            (_, None) => format!("Some({})", code.alone()),
        }
    }
}
