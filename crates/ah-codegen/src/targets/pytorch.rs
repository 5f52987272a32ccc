//! PyTorch: one file for `torch/_inductor/autoheuristic/artifacts/`, of a class that PyTorch's
//! own controller finds there.

use ah_types::expr::Type;

use super::calls::Words;
use super::plain::{Language, view as plain};
use crate::CodegenError;
use crate::lower::LoweredModel;
use crate::names::{Case, Namer, single};
use crate::target::{Surroundings, Target, View};
use crate::text::number;

const RESERVED: &str = "\
    and as assert async await break class continue def del elif else except finally for from global if \
    import in is lambda nonlocal not or pass raise return try while with yield match case type self \
    context metadata choices math memo at node value offered leaf float str isinstance int bool len dict \
    list tuple frozenset";
const RESERVED_TYPES: &str = "\
    None True False AHContext AHMetadata Choice LearnedHeuristic LearnedHeuristicDecision Optional";

/// One file for PyTorch's own folder of learned heuristics.
#[derive(Clone, Copy, Debug)]
pub struct Pytorch;

impl Target for Pytorch {
    fn name(&self) -> &'static str {
        "pytorch"
    }

    fn view(&self, lowered: &LoweredModel<'_>, _: &Surroundings<'_>) -> Result<View, CodegenError> {
        view(lowered)
    }
}

fn view(lowered: &LoweredModel<'_>) -> Result<View, CodegenError> {
    let model = lowered.model;
    let mut names = Namer::new(Case::Snake, RESERVED);
    let features: Vec<String> =
        model.features.all().features().iter().map(|f| names.give(&f.name, "feature")).collect();
    let base = model.features.base().features();
    let logged = |slot: usize| {
        let read = match base[slot].kind {
            ah_types::FeatureKind::Numerical => "_number",
            ah_types::FeatureKind::Categorical => "_text",
        };
        format!("{read}(context, {})", string(&base[slot].name))
    };
    let feature = |slot: usize| if slot < base.len() { logged(slot) } else { features[slot].clone() };
    let language = Language {
        words: Words {
            prefix: "_",
            number: &number,
            truth: &|b| if b { "True" } else { "False" }.to_owned(),
            text: &string,
            feature: &feature,
            choose: &|t, c, a, b, ty| {
                let undefined = if ty == Type::Number { "math.nan" } else { "None" };
                format!("({a} if ({t} := {c}) is True else {b} if {t} is False else {undefined})")
            },
            logic: &|t, and, a, b| {
                format!("({b} if ({t} := {a}) is {} else {t})", if and { "True" } else { "False" })
            },
            compare: &|_, _, _| None,
            whole: &|_| None,
        },
        features: &features,
        logged: &logged,
        at_most: &|slot, threshold| format!("{} <= {}", features[slot], number(threshold)),
        category: &|_, category| string(category),
        string: &string,
    };
    let class = single(&model.heuristic, Case::Camel, "Heuristic", RESERVED_TYPES);
    let mut values = plain(lowered, &language);
    values.insert("class".to_owned(), class.clone().into());
    values.insert("texts".to_owned(), lowered.texts.iter().map(|t| string(t)).collect::<Vec<_>>().into());
    let context = tera::Context::from_value(values.into()).map_err(|e| CodegenError::template(&e))?;
    Ok(View { place: format!("_{class}.py"), context, left_out: Vec::new(), file: Some("artifact.py") })
}

/// A string literal of Python, in ASCII.
fn string(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => {
                literal.push('\\');
                literal.push(c);
            }
            ' '..='~' => literal.push(c),
            _ => literal.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    literal.push('\'');
    literal
}
