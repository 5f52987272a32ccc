//! The decisions of a model on a table. Only choices that were measured on an input are offered there.

use ah_types::{ChoiceId, FeatureKind, Model, Value};

use crate::data::Table;

/// The decision for one input.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedInput {
    /// The input.
    pub input: u32,
    /// The choice that the model takes and the offered and allowed ones behind it, best first, as ids of the table;
    /// empty where the model declines.
    pub ranking: Vec<ChoiceId>,
    /// The model's choice for a program that does not list its choices.
    pub plain: PlainPick,
    /// True if a feature is outside the range of its leaf's training inputs.
    pub outside: bool,
}

/// The choice for a program that does not list its choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainPick {
    /// The model declines.
    Declined,
    /// A choice that was measured on the input.
    Timed(ChoiceId),
    /// A choice without a time on the input: it may be slower by any factor.
    Untimed,
}

/// Returns the decisions of `model` on these inputs of `table`. `slots` are the table's slots of the
/// model's features; a feature that the table lacks is undefined.
pub fn decide(model: &Model, table: &Table, inputs: &[u32], slots: &[Option<usize>]) -> Vec<JudgedInput> {
    let to_table: Vec<Option<ChoiceId>> = model.choices.iter().map(|c| table.choice_id(c)).collect();
    let judge = |&input: &u32| {
        let offered = |choice: ChoiceId| to_table[choice.index()].filter(|&c| table.cell(input, c).is_some());
        let values = values(model, table, input, slots);
        let mut ranking = Vec::new();
        if let Ok(first) = model.decide(&values, |c| offered(c).is_some())
            && let Ok(all) = model.ranking(&values)
        {
            // Where the fallback is not offered, the first may be one that is not allowed.
            let rest = all.iter().skip_while(|place| place.choice != first.choice);
            let taken = rest.filter(|place| place.allowed || place.choice == first.choice);
            ranking.extend(taken.filter_map(|place| offered(place.choice)));
        }
        let plain = match model.choose(&values) {
            Ok(ranked) => offered(ranked.choice)
                .filter(|&choice| table.usable(input, choice).is_some())
                .map_or(PlainPick::Untimed, PlainPick::Timed),
            Err(_) => PlainPick::Declined,
        };
        JudgedInput { input, ranking, plain, outside: model.is_outside(&values) }
    };
    inputs.iter().map(judge).collect()
}

/// Returns the values of an input by the slots of the model; those that the table lacks are undefined.
pub fn values(model: &Model, table: &Table, input: u32, slots: &[Option<usize>]) -> Vec<Value> {
    let values = &table.inputs[input as usize].values;
    let value = |(slot, kind): (&Option<usize>, FeatureKind)| match (slot, kind) {
        (Some(slot), _) => values[*slot].clone(),
        (None, FeatureKind::Numerical) => f64::NAN.into(),
        (None, FeatureKind::Categorical) => "".into(),
    };
    let kinds = model.features.base().features().iter().map(|f| f.kind);
    slots.iter().zip(kinds).map(value).collect()
}
