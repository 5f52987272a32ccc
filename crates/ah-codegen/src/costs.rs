//! Prints the cost formula of a model: a table of the numbers of each choice, and a loop over it.

use std::collections::BTreeSet;

use ah_model::CostClass;
use ah_model::expr::{Binary, Expr, Slot};
use ah_model::{Feature, FeatureKind, Features, Model, Schema};
use serde_json::json;

use crate::body::{Builder, Step};
use crate::code::Code;
use crate::facts::Facts;
use crate::language::Language;
use crate::names::{Case, Namer, Names};
use crate::page::Lines;
use crate::text::shown;

/// The code of a cost formula.
pub struct CostCode {
    /// The variables of a choice's numbers: its parameters, then the coefficients.
    variables: Vec<String>,
    /// The steps before the conditions of the classes, and the conditions.
    before: Vec<Step>,
    conditions: Vec<Code>,
    /// The steps inside the loop, and the cost.
    steps: Vec<Step>,
    cost: Code,
    /// By class and choice.
    tables: Vec<Vec<String>>,
}

impl CostCode {
    /// Builds the code of a model's formula in a language; `reads` gets the features and helpers that it reads.
    pub fn new(
        model: &Model,
        syntax: &Language,
        names: &Names,
        reads: &mut BTreeSet<String>,
    ) -> Option<Self> {
        let costs = model.costs.as_ref()?;
        let logged = model.features.base().len();
        let coefficients = (1..=costs.terms.len()).map(|number| format!("c{number}"));
        let numbers: Vec<String> = costs.parameters.iter().cloned().chain(coefficients).collect();
        let extended = extended(model, &numbers)?;
        let used = model.reads();
        let mut namer = Namer::new(Case::Snake, &syntax.reserved);
        let read = (0..logged).filter(|slot| used.contains(slot));
        read.for_each(|slot| _ = namer.give(names.feature(slot), "feature", LONGEST));
        let variables: Vec<String> = numbers.iter().map(|name| namer.give(name, "number", LONGEST)).collect();

        let mut builder = Builder::new(&extended, syntax, names, reads);
        let facts = Facts::new(&extended, syntax.is_typed);
        // A class whose condition never holds has no table, and neither has one behind a class whose condition always holds.
        let (mut conditions, mut reached) = (Vec::new(), Vec::new());
        for class in &costs.classes {
            let runs = class.condition.as_ref().map(|when| builder.runs(&when.typed, &facts));
            match runs.as_ref().map(|runs| syntax.literal(runs)) {
                Some(Some(false)) => continue,
                Some(None) => conditions.extend(runs),
                None | Some(Some(true)) => {
                    reached.push(class);
                    break;
                }
            }
            reached.push(class);
        }
        let before = builder.taken(conditions.iter());

        let mut builder = Builder::new(&extended, syntax, names, reads);
        let mut facts = Facts::new(&extended, syntax.is_typed);
        let number = |at: usize| Expr::Feature(Slot { index: logged + at, kind: FeatureKind::Numerical });
        for (at, variable) in variables.iter().enumerate() {
            let all = costs.classes.iter().flat_map(|class| &class.rows).map(|row| row[at]);
            let [low, high] =
                all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)]);
            facts.learn_range(&number(at), low, high, false);
            builder.known.parts.insert(number(at), Code::variable(variable));
        }
        let product = |(at, term): (usize, &ah_model::Term)| {
            let coefficient = number(costs.parameters.len() + at);
            match term.typed {
                // A product with 1 is the coefficient.
                Expr::Number(1.0) => coefficient,
                _ => Expr::binary(Binary::Mul, coefficient, term.typed.clone()),
            }
        };
        let sum = costs.terms.iter().enumerate().map(product);
        let sum = sum.reduce(|a, b| Expr::binary(Binary::Add, a, b))?;
        let cost = builder.number(&sum, &facts);
        let steps = builder.taken(std::iter::once(&cost));
        // They are no features.
        variables.iter().for_each(|variable| _ = reads.remove(variable));
        let row = |row: &Vec<f64>| row.iter().map(|x| syntax.float(*x)).collect::<Vec<_>>().join(", ");
        let table = |class: &CostClass| class.rows.iter().map(row).collect();
        let tables = reached.into_iter().map(table).collect();
        Some(Self { variables, before, conditions, steps, cost, tables })
    }

    /// Inserts the code.
    pub fn insert(&self, model: &Model, syntax: &Language, names: &Names, values: &mut tera::Context) {
        let print =
            |steps: &[Step], level| Lines::new(syntax, model, names, false).print(steps, level, false);
        let level = if syntax.guard[0].is_empty() { 1 } else { 2 };
        values.insert("cost_numbers", &self.variables);
        values.insert("cost_tables", &self.tables);
        values.insert("cost_conditions", &self.conditions.iter().map(|code| &code.text).collect::<Vec<_>>());
        values.insert("cost_before", &print(&self.before, level));
        values.insert("cost_steps", &print(&self.steps, level + 1));
        values.insert("cost", &self.cost.text);
        let [_, escaped, _] = syntax.documented;
        values.insert(
            "cost_names",
            &model.choices.iter().map(|name| escaped(&shown(name))).collect::<Vec<_>>(),
        );
        values.insert("factors", &factors(model, syntax, escaped));
    }
}

/// The longest variable.
const LONGEST: usize = 160;

/// Returns the model with further features for the numbers of a choice; `None` where their names are features.
fn extended(model: &Model, numbers: &[String]) -> Option<Model> {
    let mut logged: Vec<Feature> = model.features.base().features().to_vec();
    let mut categories: Vec<Vec<String>> = model.categories[..logged.len()].to_vec();
    for name in numbers {
        let mut feature = Feature::numerical(name);
        while logged.iter().any(|other| other.name == feature.name) {
            feature.name.push('_');
        }
        logged.push(feature);
        categories.push(Vec::new());
    }
    let features = Features::new(Schema::new(logged).ok()?, &[]).ok()?;
    let is_logged = |slot: &&usize| **slot < model.features.base().len();
    let missing = model.missing.iter().filter(is_logged).copied().collect();
    Some(Model { features, categories, missing, ..Model::default() })
}

/// Returns, by leaf, the factor of each choice, infinite where the leaf does not rank it, the choices that programs are not expected to
/// offer, and the evidence.
fn factors(model: &Model, syntax: &Language, escaped: fn(&str) -> String) -> Vec<serde_json::Value> {
    let all = || (0..).map(ah_model::ChoiceId).take(model.choices.len());
    let leaf = |leaf: &ah_model::Leaf| {
        let score = |choice| leaf.ranked(choice).map_or(f64::INFINITY, |ranked| ranked.score);
        let row: Vec<String> = all().map(|choice| syntax.float(score(choice))).collect();
        let is_unexpected = |choice: &ah_model::ChoiceId| {
            Some(*choice) != model.fallback && leaf.ranked(*choice).is_some_and(|ranked| !ranked.expected)
        };
        let unexpected: Vec<usize> = all().filter(is_unexpected).map(ah_model::ChoiceId::index).collect();
        json!({ "row": row.join(", "), "unexpected": unexpected, "evidence": escaped(&format!("{} inputs", leaf.samples)) })
    };
    model.tree.leaves().map(|(_, of)| leaf(of)).collect()
}
