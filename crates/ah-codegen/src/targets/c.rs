//! C: one C99 header that is also C++17 and CUDA, without allocation.

use ah_types::FeatureKind;
use ah_types::expr::{Comparison, Type};
use serde_json::{Value as Json, json};

use super::calls::Words;
use super::plain::{Language, view as plain};
use crate::CodegenError;
use crate::lower::LoweredModel;
use crate::names::{Case, Namer, single};
use crate::target::{Surroundings, Target, View};
use crate::text::{code, number};

/// Keywords of C, C++ and CUDA, and what the template names itself.
const RESERVED: &str = "\
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept \
    const constexpr continue decltype default delete do double else enum explicit export extern false \
    float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator \
    or or_eq private protected public register requires restrict return short signed sizeof static \
    struct switch template this throw true try typedef typeid typename union unsigned using virtual void \
    volatile wchar_t while xor xor_eq linux unix main errno row context at node memo value nan inf j0 j1 \
    jn y0 y1 yn m_e m_pi null eof near far small interface ranking count leaf index offered vote";

/// One C99 header that is also C++17 and CUDA.
#[derive(Clone, Copy, Debug)]
pub struct C;

impl Target for C {
    fn name(&self) -> &'static str {
        "c"
    }

    fn view(&self, lowered: &LoweredModel<'_>, _: &Surroundings<'_>) -> Result<View, CodegenError> {
        view(lowered)
    }
}

fn view(lowered: &LoweredModel<'_>) -> Result<View, CodegenError> {
    let model = lowered.model;
    let prefix = single(&model.heuristic, Case::Snake, "heuristic", RESERVED);
    let mut names = Namer::new(Case::Snake, RESERVED);
    let features: Vec<String> =
        model.features.all().features().iter().map(|f| names.give(&f.name, "feature")).collect();
    let base = model.features.base().features();
    let logged = |slot: usize| match base[slot].kind {
        FeatureKind::Numerical => format!("context->{}", features[slot]),
        FeatureKind::Categorical => format!("(int)context->{}", features[slot]),
    };
    let feature = |slot: usize| match base.get(slot) {
        None => features[slot].clone(),
        Some(f) if f.integer => format!("(double){}", logged(slot)),
        Some(_) => logged(slot),
    };
    let code_of = |text: &str| lowered.code(text).to_string();
    let function_prefix = format!("{prefix}_");
    let literal = |x: f64| if x.is_sign_negative() { format!("({})", number(x)) } else { number(x) };
    let at_most = |slot: usize, threshold: f64| {
        let bound = if lowered.is_whole(slot) { below_2_53(threshold.floor()) } else { None };
        let cast = if lowered.is_whole(slot) && bound.is_none() { "(double)" } else { "" };
        format!("{cast}{} <= {}", features[slot], bound.unwrap_or_else(|| literal(threshold)))
    };
    let enumerators: Vec<Vec<String>> = lowered
        .variants
        .iter()
        .zip(&features)
        .map(|(variants, feature)| {
            let mut names = Namer::new(Case::Snake, "other");
            let mut name = |text: &&str| {
                format!("{prefix}_{feature}_is_{}", names.give(text, "category")).to_ascii_uppercase()
            };
            variants.iter().map(&mut name).collect()
        })
        .collect();
    let language = Language {
        words: Words {
            prefix: &function_prefix,
            number: &literal,
            truth: &|b| u8::from(b).to_string(),
            text: &code_of,
            feature: &feature,
            choose: &|t, c, a, b, ty| {
                let undefined =
                    if ty == Type::Number { format!("{prefix}_undefined()") } else { "-1".to_owned() };
                format!("(({t} = {c}) == 1 ? {a} : {t} == 0 ? {b} : {undefined})")
            },
            logic: &|t, and, a, b| format!("(({t} = {a}) == {} ? {b} : {t})", u8::from(and)),
            compare: &|slot, op, x| compare(&logged(slot), op, x),
            whole: &|operation| {
                let power = operation.power.map_or(String::new(), |power| format!(", {power}"));
                Some(format!("{prefix}_{}({}{power})", operation.name, logged(operation.slot)))
            },
        },
        features: &features,
        logged: &logged,
        at_most: &at_most,
        category: &|slot, category| match lowered.variants.get(slot).map(|v| v.binary_search(&category)) {
            Some(Ok(i)) => enumerators[slot][i].clone(),
            _ => code_of(category),
        },
        string: &string,
    };
    let mut values = plain(lowered, &language);
    let categories: Vec<Json> = (0..base.len())
        .filter(|&slot| base[slot].kind == FeatureKind::Categorical)
        .map(|slot| {
            let variants = lowered.variants[slot].iter().zip(&enumerators[slot]);
            let variants: Vec<Json> = variants
                .map(|(text, name)| {
                    json!({ "name": name, "string": string(text), "bytes": text.len(),
                            "text": code(text), "code": lowered.code(text) })
                })
                .collect();
            json!({ "identifier": features[slot], "upper": features[slot].to_ascii_uppercase(),
                    "text": code(&base[slot].name), "variants": variants })
        })
        .collect();
    let mut choices = Namer::new(Case::Snake, "");
    let choices: Vec<String> =
        model.choices.iter().map(|c| choices.give(c, "choice").to_ascii_uppercase()).collect();
    values.insert("prefix".to_owned(), prefix.clone().into());
    values.insert("upper".to_owned(), prefix.to_ascii_uppercase().into());
    values.insert("categories".to_owned(), categories.into());
    values.insert("choice_names".to_owned(), choices.into());
    values.insert("yes".to_owned(), lowered.code("True").into());
    values.insert("no".to_owned(), lowered.code("False").into());
    let context = tera::Context::from_value(values.into()).map_err(|e| CodegenError::template(&e))?;
    Ok(View { place: format!("{prefix}.h"), context, left_out: Vec::new(), file: Some("header.h") })
}

/// A whole number as an integer literal, where every smaller one is an f64 too: comparing integers is
/// then the same as comparing what they round to.
fn below_2_53(x: f64) -> Option<String> {
    (x.abs() < 9_007_199_254_740_992.0).then(|| format!("INT64_C({x:.0})"))
}

/// A logged whole number against a literal.
fn compare(whole: &str, op: Comparison, x: f64) -> Option<String> {
    let bound = match op {
        Comparison::Le | Comparison::Gt => x.floor(),
        Comparison::Lt | Comparison::Ge => x.ceil(),
        Comparison::Eq | Comparison::Ne if x == x.floor() => x,
        _ => return None,
    };
    Some(format!("({whole} {} {})", op.symbol(), below_2_53(bound)?))
}

/// A string literal of C and C++: bytes outside ASCII in octal, which never runs on.
fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            // A question mark could begin a trigraph.
            b'"' | b'\\' | b'?' => {
                literal.push('\\');
                literal.push(char::from(byte));
            }
            b' '..=b'~' => literal.push(char::from(byte)),
            _ => literal.push_str(&format!("\\{byte:03o}")),
        }
    }
    literal.push('"');
    literal
}
