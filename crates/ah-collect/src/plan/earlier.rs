//! The inputs of earlier runs: a resumed run measures what is missing, and nothing twice.

use std::collections::HashMap;

use ah_types::log::Log;

use crate::eligibility::Eligibility;
use crate::outcomes::OutcomeRecord;

/// The inputs of earlier runs.
///
/// An input is done if each choice has a row in the log, was skipped on this input, or is not eligible on it. An outcome of
/// another input decides nothing. A write that was cut short, a fault of the machine, and a program that logs some of the
/// choices leave inputs that are not done.
#[derive(Debug, Default)]
pub(crate) struct EarlierInputs {
    /// By the text of their features.
    inputs: HashMap<String, EarlierInput>,
}

/// What earlier runs know of an input.
#[derive(Clone, Debug)]
struct EarlierInput {
    /// By choice: whether the log has a row.
    has_row: Vec<bool>,
    /// By choice: whether nothing is left to measure.
    is_done: Vec<bool>,
}

impl EarlierInput {
    fn is_logged(&self) -> bool {
        self.has_row.contains(&true)
    }

    fn is_done(&self) -> bool {
        !self.is_done.contains(&false)
    }
}

impl EarlierInputs {
    /// The inputs of `log` (`None`: no row yet) and of the records beside it.
    pub(crate) fn new(log: Option<&Log>, records: &[OutcomeRecord], eligibility: &Eligibility) -> Self {
        let choices = &eligibility.choices;
        let none = vec![false; choices.len()];
        let unknown = EarlierInput { has_row: none.clone(), is_done: none };
        let mut inputs: HashMap<String, EarlierInput> = HashMap::new();
        let positions: HashMap<&str, usize> = choices.iter().map(String::as_str).zip(0..).collect();
        if let Some(log) = log {
            let mut logged = vec![unknown.clone(); log.inputs.len()];
            for sample in &log.samples {
                if let Some(&position) = positions.get(log.choice_name(sample.choice)) {
                    logged[sample.input as usize].has_row[position] = true;
                }
            }
            for (at, mut input) in logged.into_iter().enumerate() {
                let refusals = eligibility.refusals(&log.context(at)).unwrap_or_default();
                input.is_done.clone_from(&input.has_row);
                for (is_done, refusal) in input.is_done.iter_mut().zip(refusals) {
                    *is_done |= refusal.is_some();
                }
                inputs.insert(log.inputs[at].text.to_string(), input);
            }
        }
        for record in records.iter().filter(|record| record.is_done()) {
            let input = inputs.entry(record.input.clone()).or_insert_with(|| unknown.clone());
            if record.choices.is_empty() {
                input.is_done.fill(true);
            }
            for position in record.choices.iter().filter_map(|choice| positions.get(choice.as_str())) {
                input.is_done[*position] = true;
            }
        }
        Self { inputs }
    }

    /// Counts the inputs in the log that are done.
    pub(crate) fn done(&self) -> u64 {
        self.logged().filter(|input| input.is_done()).count() as u64
    }

    /// Counts the inputs in the log that are not done.
    pub(crate) fn short(&self) -> u64 {
        self.logged().filter(|input| !input.is_done()).count() as u64
    }

    fn logged(&self) -> impl Iterator<Item = &EarlierInput> {
        self.inputs.values().filter(|input| input.is_logged())
    }

    /// Whether nothing of this input is left to measure.
    pub(super) fn is_done(&self, input: &str) -> bool {
        self.inputs.get(input).is_some_and(EarlierInput::is_done)
    }

    /// Whether each choice has a row of this input, if the log has the input.
    pub(super) fn rows(&self, input: &str) -> Option<Vec<bool>> {
        self.inputs.get(input).filter(|input| input.is_logged()).map(|input| input.has_row.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ah_model::Feature;
    use ah_types::Optimization;
    use ah_types::log::{ReadOptions, read_bytes};

    use super::*;

    #[test]
    fn an_outcome_of_another_input_decides_nothing() {
        let head = r#"{"name":"x","device_capa":[0,0],"numerical_features":["n"],"categorical_features":[]}"#;
        let log = format!("{head}\nn,choice,feedback\n1,a,1\n2,a,1\n3,a,1\n3,b,2\n");
        let log = read_bytes(Path::new("train.txt"), log.as_bytes(), ReadOptions::default()).unwrap();
        let record = |line: &str| serde_json::from_str(&format!("{{{line}:\"why\"}}")).unwrap();
        let records = [
            r#""input":"1","choices":["b"],"skipped""#,
            r#""input":"2","choices":["b"],"unmeasured""#,
            r#""input":"4","skipped""#,
            r#""input":"5","unmeasured""#,
            r#""input":"6","failed""#,
            r#""input":"7","choices":["a","b","c"],"skipped""#,
        ]
        .map(record);
        let optimization = Optimization {
            features: vec![Feature::numerical("n")],
            eligible: [("c".to_owned(), "n > 2".to_owned())].into(),
            ..Optimization::new("x")
        };
        let choices = ["a", "b", "c"].map(str::to_owned);
        let eligibility = Eligibility::new(&optimization, &choices).unwrap();
        let earlier = EarlierInputs::new(Some(&log), &records, &eligibility);
        // On 1, `b` is skipped and `c` not eligible; 2 lacks `b`, and 3 lacks `c`.
        let is_done = ["1", "2", "3", "4", "5", "6", "7", "8"].map(|input| earlier.is_done(input));
        assert_eq!(is_done, [true, false, false, true, false, true, true, false]);
        assert_eq!((earlier.done(), earlier.short()), (1, 2));
        assert_eq!(earlier.rows("3"), Some(vec![true, true, false]));
        assert_eq!(earlier.rows("4"), None);
    }
}
