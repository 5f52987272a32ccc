//! Parts that several expressions have in common: a straight list of assignments computes each once.
//!
//! Interpreters do not find them: 23 derived features of a matmul have 11 rounded quotients, which they would compute 26 times.

use std::collections::HashMap;

use ah_types::expr::Expr;

/// The parts of a list of expressions. The expressions are printed twice: first to count their parts, then to assign those
/// that occur more than once to variables.
#[derive(Default)]
pub struct SharedParts {
    /// How often each part occurs, by its text for debugging, which says all of it.
    counts: HashMap<String, usize>,
    is_counted: bool,
    /// The variables that have a value.
    variables: HashMap<String, String>,
    /// The assignments since the last [`take`](Self::take): variables and their values.
    assignments: Vec<(String, String)>,
}

/// One use of a part.
pub enum Use {
    /// The part occurs nowhere else.
    Only,
    /// The part has no variable yet and needs one.
    First,
    /// This variable has the value.
    Again(String),
}

impl SharedParts {
    /// Begins the second printing.
    pub fn counted(self) -> Self {
        Self { is_counted: true, ..self }
    }

    /// Returns how this part is printed here.
    pub fn use_of(&mut self, part: &Expr) -> Use {
        let key = key(part);
        if self.is_counted {
            return match (self.variables.get(&key), self.counts.get(&key)) {
                (Some(variable), _) => Use::Again(variable.clone()),
                (None, Some(2..)) => Use::First,
                (None, _) => Use::Only,
            };
        }
        let count = self.counts.entry(key).or_insert(0);
        *count += 1;
        // The parts of a part that was met before are not counted again: they are computed with it.
        if *count == 1 { Use::Only } else { Use::Again(String::new()) }
    }

    /// Gives a part a variable, which is assigned before the expression in which it occurs.
    pub fn assign(&mut self, part: &Expr, variable: &str, value: String) {
        self.variables.insert(key(part), variable.to_owned());
        self.assignments.push((variable.to_owned(), value));
    }

    /// Notes that a variable has the value of an expression.
    pub fn note(&mut self, expression: &Expr, variable: &str) {
        self.variables.insert(key(expression), variable.to_owned());
    }

    /// Returns the assignments since the last call.
    pub fn take(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.assignments)
    }
}

fn key(part: &Expr) -> String {
    format!("{part:?}")
}
