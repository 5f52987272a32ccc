//! Prints the cost formula of a model: a table of the numbers of each choice, and a loop over it.

use ah_model::expr::{Binary, Expr, Slot, Type, repeated};
use ah_model::{Feature, FeatureKind, Features, Model, Term};

use crate::body::{Body, BodyBuilder};
use crate::code::Code;
use crate::expression::is_constant;
use crate::facts::Facts;
use crate::language::Language;
use crate::names::{Case, LONGEST, Namer, Names};
use crate::page::Lines;
use crate::text::shown;

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
        for (at, class) in costs.classes.iter().enumerate().rev() {
            let Some(when) = &class.condition else { continue };
            let runs = builder.runs(&when.typed, &facts);
            first = match syntax.literal(&runs) {
                Some(true) => place(at),
                Some(false) => first,
                None => syntax.conditional.with(&[&runs, &place(at), &first]),
            };
        }

        let number = |at: usize| Expr::Feature(Slot { index: logged + at, kind: FeatureKind::Numerical });
        let product = |(at, term): (usize, &Term)| {
            let coefficient = number(costs.parameters.len() + at);
            match term.typed {
                // A product with 1 is the coefficient.
                Expr::Number(1.0) => coefficient,
                _ => Expr::binary(Binary::Mul, coefficient, term.typed.clone()),
            }
        };
        let products = costs.terms.iter().enumerate().map(product);
        let sum = products.reduce(|a, b| Expr::binary(Binary::Add, a, b))?;
        // Each part is computed once, and before the loop if it reads the input alone. Those inside of others come first.
        let mut parts = repeated(&[&sum]);
        add_unvarying(&sum, logged, &mut parts);
        parts.retain(|part| !is_constant(part));
        parts.sort_by_key(|part| size(part));
        let (unvarying, varying): (Vec<&Expr>, Vec<&Expr>) =
            parts.into_iter().partition(|part| is_unvarying(part, logged));
        unvarying.into_iter().for_each(|part| _ = builder.variable(part, &facts));
        let before = std::mem::take(&mut builder.steps);
        for (at, variable) in variables.iter().enumerate() {
            let all = costs.classes.iter().flat_map(|class| &class.rows).map(|row| row[at]);
            let [low, high] =
                all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)]);
            facts.learn_range(&number(at), low, high, false);
            let value = Code::atom(format!("row[{at}]"));
            let variable = builder.assign(variable, None, Type::Number, value);
            builder.known.parts.insert(number(at), variable);
        }
        varying.into_iter().for_each(|part| _ = builder.variable(part, &facts));
        let cost = builder.number(&sum, &facts);
        let mut steps = builder.taken(cost.reads.clone());
        builder.steps = before;
        let before = builder.taken(&first.reads | &steps.reads);
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

/// Adds the largest operations that read the input alone, of this many logged features.
fn add_unvarying<'e>(expr: &'e Expr, logged: usize, found: &mut Vec<&'e Expr>) {
    let is_operation = !matches!(expr, Expr::Feature(_) | Expr::Number(_)) && expr.ty() == Type::Number;
    if is_operation && is_unvarying(expr, logged) {
        return found.push(expr);
    }
    expr.operands().into_iter().flatten().for_each(|operand| add_unvarying(operand, logged, found));
}

fn is_unvarying(expr: &Expr, logged: usize) -> bool {
    let mut is_unvarying = true;
    expr.for_each_feature(&mut |slot| is_unvarying &= slot.index < logged);
    is_unvarying
}

/// The number of parts of an expression.
fn size(expr: &Expr) -> usize {
    let mut count = 0;
    expr.for_each(&mut |_| count += 1);
    count
}

/// The model with further features for the numbers of a choice.
fn extended(model: &Model, numbers: &[String]) -> Option<Model> {
    let mut logged = model.features.base().clone();
    for name in numbers {
        let mut feature = Feature::numerical(name);
        while logged.slot(&feature.name).is_some() {
            feature.name.push('_');
        }
        logged.push(feature).ok()?;
    }
    let mut categories = model.categories[..model.features.base().len()].to_vec();
    categories.resize(logged.len(), Vec::new());
    let features = Features::new(logged, &[]).ok()?;
    let costs = model.costs.clone();
    Some(Model { features, categories, missing: model.missing.clone(), costs, ..Model::default() })
}
