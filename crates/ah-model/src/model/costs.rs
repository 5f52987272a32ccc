//! Cost formulas: the time of each choice as a sum of terms of the logged features and of the choice's own numbers.
//!
//! A time grows with the work, in steps of tiles; trees cut space into boxes, so they do not see growth. The formula stands under the
//! trees: with boosters `score(c) = log2(cost(c)) + leaf.score(c) + unit * (sum of c's numbers)`, without them
//! `score(c) = cost(c) * leaf.score(c)`, where the leaf has a factor for each choice.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::precondition::Precondition;
use crate::expr::{self, Expr, Type};
use crate::feature::{Feature, Schema};
use crate::row::Row;
use crate::shown::quoted;

/// A cost formula for each choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The numbers of a choice that terms read, such as the sizes of its tiles, by name.
    pub parameters: Vec<String>,
    /// The terms.
    pub terms: Vec<Term>,
    /// The classes of inputs, each with coefficients of its own. The first whose condition holds counts; the last has none.
    pub classes: Vec<CostClass>,
}

/// A term of a cost formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The expression's text.
    pub expression: String,
    /// The resolved expression: the slots of the logged features, then those of the parameters.
    pub typed: Expr,
}

/// Inputs with the same coefficients.
#[derive(Clone, Debug, PartialEq)]
pub struct CostClass {
    /// The condition; `None` for all other inputs.
    pub condition: Option<Precondition>,
    /// By choice: its parameters, then a coefficient for each term.
    pub rows: Vec<Vec<f64>>,
}

/// The key `costs` of `model.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostsFile {
    parameters: Vec<String>,
    terms: Vec<String>,
    classes: Vec<ClassFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    rows: BTreeMap<String, Vec<f64>>,
}

impl Costs {
    /// Resolves terms over these logged features and parameters.
    ///
    /// # Errors
    /// The first term or parameter that does not fit.
    pub fn new(
        logged: &Schema,
        parameters: Vec<String>,
        terms: Vec<String>,
        classes: Vec<CostClass>,
    ) -> Result<Self, String> {
        let features = logged.features().iter().cloned().chain(parameters.iter().map(Feature::numerical));
        let schema = Schema::new(features).map_err(|problem| problem.to_string())?;
        let term = |expression: String| {
            let wrong = |problem| format!("the term {}: {problem}", quoted(&expression));
            let typed = expr::parse(&expression).and_then(|term| term.resolve(&schema));
            let typed = typed.map_err(|problem| wrong(problem.to_string()))?;
            match typed.ty() {
                Type::Number => Ok(Term { expression, typed }),
                other => Err(wrong(format!("expected a number, found {other}"))),
            }
        };
        Ok(Self { terms: terms.into_iter().map(term).collect::<Result<_, _>>()?, parameters, classes })
    }

    /// The class of an input. `values` are those of the logged features.
    pub fn class(&self, values: &(impl Row + ?Sized)) -> Option<&CostClass> {
        self.classes.iter().find(|class| class.condition.as_ref().is_none_or(|when| when.holds(values)))
    }

    /// The cost of a choice with this row of a class; NaN where it is no finite number above 0.
    pub fn cost(&self, row: &[f64], values: &(impl Row + ?Sized), logged: usize) -> f64 {
        let (parameters, coefficients) = row.split_at(self.parameters.len());
        let values = TermRow { values, parameters, logged };
        let parts = self.terms.iter().zip(coefficients).map(|(term, x)| x * term.typed.number(&values));
        let cost = parts.reduce(|sum, part| sum + part).unwrap_or(f64::NAN);
        if cost > 0.0 && cost < f64::INFINITY { cost } else { f64::NAN }
    }

    /// The terms and the conditions of the classes.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let conditions = self.classes.iter().filter_map(|class| class.condition.as_ref());
        self.terms.iter().map(|term| &term.typed).chain(conditions.map(|when| &when.typed))
    }

    /// The slots of the features that these read, of this many logged ones.
    pub fn reads(&self, logged: usize) -> BTreeSet<usize> {
        let mut reads = BTreeSet::new();
        self.expressions().for_each(|expr| expr.for_each_feature(&mut |slot| _ = reads.insert(slot.index)));
        reads.retain(|slot| *slot < logged);
        reads
    }

    pub(super) fn to_file(&self, choices: &[String]) -> CostsFile {
        let class = |class: &CostClass| ClassFile {
            when: class.condition.as_ref().map(|when| when.expression.clone()),
            rows: choices.iter().cloned().zip(class.rows.iter().cloned()).collect(),
        };
        CostsFile {
            parameters: self.parameters.clone(),
            terms: self.terms.iter().map(|term| term.expression.clone()).collect(),
            classes: self.classes.iter().map(class).collect(),
        }
    }
}

impl CostsFile {
    /// The formula with slots in the place of names.
    pub(super) fn resolve(self, logged: &Schema, choices: &[String]) -> Result<Costs, String> {
        let class = |ClassFile { when, mut rows }: ClassFile| {
            let condition = when.map(|when| Precondition::new(when, logged)).transpose();
            let row = |name: &String| {
                rows.remove(name).ok_or_else(|| format!("expected a row of the choice {}", quoted(name)))
            };
            let of_choices = choices.iter().map(row).collect::<Result<_, _>>()?;
            match rows.keys().next() {
                Some(name) => Err(format!("unknown choice {}", quoted(name))),
                None => Ok(CostClass { condition: condition.map_err(|e| e.to_string())?, rows: of_choices }),
            }
        };
        let classes = self.classes.into_iter().map(class).collect::<Result<_, String>>()?;
        Costs::new(logged, self.parameters, self.terms, classes)
    }
}

/// The values of an input, then the parameters of a choice.
struct TermRow<'a, R: ?Sized> {
    values: &'a R,
    parameters: &'a [f64],
    logged: usize,
}

impl<R: Row + ?Sized> Row for TermRow<'_, R> {
    fn number(&self, slot: usize) -> f64 {
        match slot.checked_sub(self.logged) {
            None => self.values.number(slot),
            Some(at) => self.parameters.get(at).copied().unwrap_or(f64::NAN),
        }
    }

    fn category(&self, slot: usize) -> Option<&str> {
        if slot < self.logged { self.values.category(slot) } else { None }
    }
}
