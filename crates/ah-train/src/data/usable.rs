//! The inputs to learn from.

use std::collections::BTreeSet;

use ah_model::shown::{listed, quoted};
use ah_model::{ChoiceId, Error, Features};

use super::table::Table;

/// Fewer inputs than this cannot be split into a test part and folds.
const MIN_INPUTS: usize = 10;

/// The inputs with a usable choice and all features defined.
pub fn inputs(
    table: &Table,
    features: &Features,
    undefined: &[(u32, usize)],
    warnings: &mut Vec<String>,
) -> Vec<u32> {
    if let Some(&(input, slot)) = undefined.first() {
        let name = |slot: usize| features.all().features()[slot].name.as_str();
        let names: BTreeSet<&str> = undefined.iter().map(|u| name(u.1)).collect();
        warnings.push(format!(
            "{} inputs are not learned from: a derived feature is undefined there ({}). The first is {}, where {:?} is undefined",
            undefined.len(),
            listed(&names),
            table.inputs[input as usize].text,
            name(slot),
        ));
    }
    let all = 0..table.inputs.len() as u32;
    let failed = all.clone().filter(|&i| !table.is_usable(i)).count();
    if failed > 0 {
        warnings.push(format!("{failed} inputs are not learned from: every choice failed there"));
    }
    let defined = |input: &u32| undefined.binary_search_by_key(input, |u| u.0).is_err();
    all.filter(|&i| table.is_usable(i)).filter(defined).collect()
}

/// Leaves inputs out on which only one choice has a time or a failure, where these are most of the log: a table of winners, or the log
/// of a program that takes one way a request. They compare nothing, and each would count as one on which nothing is lost. A few of
/// them show where the other choices cannot run, and stay; so do many if all have the same choice, which then runs everywhere.
///
/// # Errors
/// [`Error::TooLittle`] if too few inputs are left.
pub fn compared(table: &Table, usable: &mut Vec<u32>, warnings: &mut Vec<String>) -> Result<(), Error> {
    let all = usable.len();
    let compared: Vec<u32> = usable.iter().copied().filter(|&input| table.cells(input).len() > 1).collect();
    let alone = all - compared.len();
    if alone * 2 <= all || table.choices.len() < 2 {
        return Ok(());
    }
    let lone_choice = |&input: &u32| match table.cells(input) {
        [only] => Some(only.choice),
        _ => None,
    };
    let lone: BTreeSet<ChoiceId> = usable.iter().filter_map(lone_choice).collect();
    if lone.len() == 1 && compared.len() >= MIN_INPUTS {
        return Ok(());
    }
    let what = format!("{alone} of {all} inputs have the time of one choice");
    if compared.len() < MIN_INPUTS {
        return Err(Error::TooLittle(format!(
            "{what}: nothing can be compared. Time all choices on each input, or import all candidates instead of the winners; \
             if a feature numbers the rows, leave it out with --exclude"
        )));
    }
    warnings.insert(
        0,
        format!("{what}, which compares nothing; the other {} alone are learned from", compared.len()),
    );
    *usable = compared;
    Ok(())
}

pub fn enough(table: &Table, usable: &[u32]) -> Result<(), Error> {
    if let [only] = &table.choices[..] {
        return Err(Error::TooLittle(format!(
            "expected at least 2 choices in the log, found 1 ({}); measure another choice: with one there is nothing to \
             decide",
            quoted(only)
        )));
    }
    if let [only] = &table.inputs[..] {
        let why = if only.values.is_empty() { "the log has no features" } else { "no feature varies" };
        return Err(Error::TooLittle(format!(
            "expected at least {MIN_INPUTS} distinct inputs to learn from, found 1: {why}; measure more inputs \
             (ah-collect --num-samples), and log the features in which they differ"
        )));
    }
    match usable.len() {
        MIN_INPUTS.. => Ok(()),
        few if table.inputs.len() >= MIN_INPUTS => Err(Error::TooLittle(format!(
            "{}; on the log's other inputs every choice failed, or the optimization leaves them out (precondition, an \
             undefined feature)",
            found(few)
        ))),
        few => Err(too_few(few)),
    }
}

pub fn too_few(inputs: usize) -> Error {
    Error::TooLittle(found(inputs) + "; measure more inputs (ah-collect --num-samples)")
}

fn found(inputs: usize) -> String {
    match inputs < MIN_INPUTS {
        true => format!("expected at least {MIN_INPUTS} distinct inputs to learn from, found {inputs}"),
        false => format!("{inputs} distinct inputs are too few to learn from some and judge on the others"),
    }
}
