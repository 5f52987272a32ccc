//! `--weights FILE`: how often each input occurs.
//!
//! Each line is one input: its features as in the log, joined by commas, then a tab and a number above
//! 0. Inputs that are not listed count 1.

use std::path::Path;

use ah_types::artefact::read_text;
use rustc_hash::FxHashMap;

use super::table::Table;
use crate::error::TrainError;

/// Ten million inputs.
const MAX_MIB: u64 = 1024;

/// Multiplies the weights of the table's inputs by those of the file. Returns warnings.
pub fn read(path: &Path, table: &mut Table) -> Result<Vec<String>, TrainError> {
    let text = read_text(path, MAX_MIB).map_err(TrainError::io(path, "read the weights"))?;
    let mut weights: FxHashMap<&str, (f64, bool)> = FxHashMap::default();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let wrong = |expected: &str, found: &str| {
            let (expected, found) = (expected.to_owned(), format!("{found:?}"));
            Err(TrainError::Malformed { path: path.to_owned(), line, expected, found })
        };
        let Some((features, weight)) = text.rsplit_once('\t') else {
            return wrong("the features joined by commas, a tab and a weight", text);
        };
        let weight = match weight.trim().parse::<f64>() {
            Ok(weight) if weight > 0.0 && weight.is_finite() => weight,
            _ => return wrong("a weight above 0", weight),
        };
        if weights.insert(features, (weight, false)).is_some_and(|(other, _)| other != weight) {
            return wrong(
                "one weight for an input",
                &format!("{weight} here and another weight above for {features}"),
            );
        }
    }
    let mut unlisted = 0;
    for input in &mut table.inputs {
        match weights.get_mut(&*input.text) {
            Some((weight, used)) => {
                input.weight *= *weight;
                *used = true;
            }
            None => unlisted += 1,
        }
    }
    let mut warnings = Vec::new();
    if unlisted > 0 {
        warnings
            .push(format!("{}: {unlisted} inputs of the log are not listed; they count 1", path.display()));
    }
    let unused = weights.values().filter(|(_, used)| !used).count();
    if unused > 0 {
        warnings.push(format!("{}: {unused} lines name no input of the log", path.display()));
    }
    Ok(warnings)
}
