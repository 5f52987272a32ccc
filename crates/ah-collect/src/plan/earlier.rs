//! The inputs of earlier runs: a resumed run measures the missing ones, and nothing twice.

use std::collections::{HashMap, HashSet};

use ah_types::log::Log;

/// The inputs of earlier runs.
///
/// An input is done if each choice has a row in the log, or is skipped on some inputs: a skip leaves no row. A write
/// that was cut short, and a program that logs some of the choices, leave inputs that are not done.
#[derive(Debug)]
pub(crate) struct EarlierInputs {
    /// The inputs in the log. For each, by choice: whether it has a row.
    logged: HashMap<String, Vec<bool>>,
    /// The inputs that were skipped as a whole.
    skipped_inputs: HashSet<String>,
    /// By choice: whether it was skipped on some input.
    skipped_choices: Vec<bool>,
}

impl EarlierInputs {
    /// Returns the inputs of `log` (`None`: no row yet), with the whole inputs and the choices that were
    /// skipped.
    pub(crate) fn new(
        log: Option<&Log>,
        choices: &[String],
        skipped_inputs: HashSet<String>,
        skipped_choices: &HashSet<String>,
    ) -> Self {
        let skipped_choices = choices.iter().map(|choice| skipped_choices.contains(choice)).collect();
        let mut earlier = Self { logged: HashMap::new(), skipped_inputs, skipped_choices };
        let Some(log) = log else { return earlier };
        let positions: Vec<_> =
            log.choices.iter().map(|logged| choices.iter().position(|choice| choice == logged)).collect();
        let mut rows = vec![vec![false; choices.len()]; log.inputs.len()];
        for sample in &log.samples {
            if let Some(position) = positions[sample.choice.index()] {
                rows[sample.input as usize][position] = true;
            }
        }
        earlier.logged = log.inputs.iter().map(|input| input.text.to_string()).zip(rows).collect();
        earlier
    }

    /// Returns the number of inputs in the log that are done.
    pub(crate) fn done(&self) -> u64 {
        self.logged.values().filter(|rows| self.is_whole(rows)).count() as u64
    }

    /// Returns the number of inputs in the log that are not done.
    pub(crate) fn short(&self) -> u64 {
        self.logged.len() as u64 - self.done()
    }

    /// Returns whether nothing of this input is left to measure.
    pub(super) fn is_done(&self, input: &str) -> bool {
        self.skipped_inputs.contains(input) || self.logged.get(input).is_some_and(|rows| self.is_whole(rows))
    }

    /// Takes out an input that is measured again. Returns by choice whether it has a row, if the log holds the input.
    pub(super) fn take(&mut self, input: &str) -> Option<Vec<bool>> {
        self.logged.remove(input)
    }

    /// Notes that a choice was skipped. Returns the number of inputs that are done by this.
    pub(super) fn note_skip(&mut self, choice: usize) -> u64 {
        if self.skipped_choices.get(choice) != Some(&false) {
            return 0;
        }
        let before = self.done();
        self.skipped_choices[choice] = true;
        self.done() - before
    }

    fn is_whole(&self, rows: &[bool]) -> bool {
        rows.iter().zip(&self.skipped_choices).all(|(has_row, skipped)| *has_row || *skipped)
    }
}
