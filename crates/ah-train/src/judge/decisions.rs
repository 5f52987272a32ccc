//! The decisions of a model on a table. Only choices that were measured on an input are offered there.

use ah_types::{ChoiceId, Feature, FeatureKind, Model, Reached, Schema, Sums, Tables, Value};

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

/// Returns the slots of the model's features among the logged ones, by name and kind; `None` for a feature that the log lacks.
pub fn slots(model: &Model, logged: &Schema) -> Vec<Option<usize>> {
    let slot = |f: &Feature| logged.slot(&f.name).filter(|&s| logged.features()[s].kind == f.kind);
    model.features.base().features().iter().map(slot).collect()
}

/// Returns the decisions of `model` on these inputs of `table`, which has these logged features.
pub fn decide(model: &Model, logged: &Schema, table: &Table, inputs: &[u32]) -> Vec<JudgedInput> {
    let slots = slots(model, logged);
    let to_table: Vec<Option<ChoiceId>> = model.choices.iter().map(|c| table.choice_id(c)).collect();
    let tables = Tables::new(model);
    let judge = |&input: &u32| {
        let offered = |choice: ChoiceId| to_table[choice.index()].filter(|&c| table.cell(input, c).is_some());
        let values = values(model, table, input, &slots);
        let mut sums = Sums::new();
        let reached = tables.reach(model, &values, &mut sums);
        let eligible = |choice| model.is_eligible(choice, &values);
        let pick = |reached: &Reached<'_>| reached.pick(|c| eligible(c) && offered(c).is_some()).ok();
        let mut ranking = Vec::new();
        // The fallback counts as offered, also where it has no time.
        if let Ok(reached) = &reached
            && let Some(first) = pick(reached).filter(|first| offered(*first).is_some())
        {
            let all = reached.ranking();
            let rest = all.iter().skip_while(|ranked| ranked.choice != first.0);
            ranking.extend(rest.filter(|ranked| ranked.allowed).filter_map(|ranked| offered(ChoiceId(ranked.choice))));
        }
        let plain = match reached.and_then(|reached| reached.pick_expected(eligible)) {
            Ok(choice) => offered(choice)
                .filter(|&choice| table.usable(input, choice).is_some())
                .map_or(PlainPick::Untimed, PlainPick::Timed),
            Err(_) => PlainPick::Declined,
        };
        let outside =
            model.leaf(&values).is_ok_and(|leaf| leaf.outside(&values[..], &model.missing).next().is_some());
        JudgedInput { input, ranking, plain, outside }
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
