//! Prints the cost formula of a model: a table of the numbers of each choice, and a loop over it.

use ah_model::expr::{Binary, Expr, Slot, Type};
use ah_model::{Feature, FeatureKind, Features, Model, Schema, Term};

use crate::body::{Body, BodyBuilder};
use crate::code::Code;
use crate::facts::Facts;
use crate::language::Language;
use crate::names::{Case, Namer, Names};
use crate::page::Lines;
use crate::text::shown;

/// The longest name of a number.
const LONGEST: usize = 160;
/// Variables of the printed function.
const OWN: &str = "at best choice cost costs factors first i least leaf ok row";

/// The code of a cost formula.
pub struct CostCode {
    /// The variables of a choice's numbers: its parameters, then the coefficients.
    variables: Vec<String>,
    /// The steps before the class, and the place of its first number.
    before: Body,
    first: Code,
    /// The steps inside the loop, and the cost.
    steps: Body,
    cost: Code,
}

impl CostCode {
    /// Builds the code of a model's formula in a language.
    pub fn new(model: &Model, syntax: &Language, names: &Names) -> Option<Self> {
        let costs = model.costs.as_ref()?;
        let logged = model.features.base().len();
        let coefficients = (1..=costs.terms.len()).map(|number| format!("c{number}"));
        let numbers: Vec<String> = costs.parameters.iter().cloned().chain(coefficients).collect();
        let extended = extended(model, &numbers)?;
        let mut namer = Namer::new(Case::Snake, &[syntax.reserved[0], syntax.reserved[1], OWN]);
        (0..logged).for_each(|slot| _ = namer.give(names.feature(slot), "feature", LONGEST));
        let variables: Vec<String> = numbers.iter().map(|name| namer.give(name, "number", LONGEST)).collect();

        let mut builder = BodyBuilder::new(&extended, syntax, names);
        let mut facts = Facts::new(&extended, syntax.is_typed);
        // The first class whose condition holds counts.
        let place = |class: usize| Code::atom((class * model.choices.len() * numbers.len()).to_string());
        let mut first = place(costs.classes.len() - 1);
        for (at, when) in costs.classes.iter().map(|class| &class.condition).enumerate().rev() {
            let Some(when) = when else { continue };
            let runs = builder.runs(&when.typed, &facts);
            first = match syntax.literal(&runs) {
                Some(true) => place(at),
                Some(false) => first,
                None => syntax.conditional.with(&[&runs, &place(at), &first]),
            };
        }
        let before = builder.finished(std::iter::once(&first));

        let mut builder = BodyBuilder::new(&extended, syntax, names);
        let number = |at: usize| Expr::Feature(Slot { index: logged + at, kind: FeatureKind::Numerical });
        for (at, variable) in variables.iter().enumerate() {
            let all = costs.classes.iter().flat_map(|class| &class.rows).map(|row| row[at]);
            let [low, high] =
                all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)]);
            facts.learn_range(&number(at), low, high, false);
            let value = Code::atom(format!("row[{at}]"));
            let variable = builder.assign(variable, None, Type::Number, value);
            builder.known.parts.insert(number(at), variable);
        }
        let product = |(at, term): (usize, &Term)| {
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
        let mut steps = builder.finished(std::iter::once(&cost));
        // The library has the infinity that costs are compared with.
        steps.reads.insert("math()".to_owned());
        if !model.boosters.is_empty() {
            steps.reads.insert("log2()".to_owned());
        }
        Some(Self { variables, before, first, steps, cost })
    }

    /// The steps before the loop, and those inside.
    pub fn bodies(&self) -> [&Body; 2] {
        [&self.before, &self.steps]
    }

    /// Whether they read a feature of the input.
    pub fn reads_input(&self) -> bool {
        self.bodies().into_iter().any(Body::reads_input)
    }

    /// Inserts the code.
    pub fn insert(&self, model: &Model, syntax: &Language, names: &Names, values: &mut tera::Context) {
        let print = |steps: &Body, level| Lines::new(syntax, model, names).print(&steps.steps, level, false);
        let level = if syntax.guard[0].is_empty() { 1 } else { 2 };
        let [_, escaped, _] = syntax.documented;
        let row = |(row, name): (&Vec<f64>, &String)| {
            let row: Vec<String> = row.iter().map(|x| syntax.float(*x)).collect();
            format!("    {}, {}", row.join(", "), syntax.commented(&escaped(&shown(name))))
        };
        let classes = model.costs.iter().flat_map(|costs| &costs.classes);
        let rows: Vec<String> =
            classes.flat_map(|class| class.rows.iter().zip(&model.choices).map(row)).collect();
        values.insert("cost_rows", &rows.join("\n"));
        values.insert("cost_count", &(rows.len() * self.variables.len()));
        values.insert("cost_span", &(model.choices.len() * self.variables.len()));
        values.insert("cost_numbers", &self.variables);
        values.insert("cost_before", &print(&self.before, level));
        values.insert("cost_first", &self.first.text);
        values.insert("cost_steps", &print(&self.steps, level + 1));
        values.insert("cost", &self.cost.text);
        values.insert("costs_read", &self.reads_input());
    }
}

/// The model with further features for the numbers of a choice.
fn extended(model: &Model, numbers: &[String]) -> Option<Model> {
    let mut logged: Vec<Feature> = model.features.base().features().to_vec();
    for name in numbers {
        let mut feature = Feature::numerical(name);
        while logged.iter().any(|other| other.name == feature.name) {
            feature.name.push('_');
        }
        logged.push(feature);
    }
    let mut categories = model.categories[..model.features.base().len()].to_vec();
    categories.resize(logged.len(), Vec::new());
    let features = Features::new(Schema::new(logged).ok()?, &[]).ok()?;
    let missing = model.missing.iter().copied().filter(|slot| *slot < model.features.base().len()).collect();
    let costs = model.costs.clone();
    Some(Model { features, categories, missing, costs, ..Model::default() })
}
