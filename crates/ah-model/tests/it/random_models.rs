//! The tables, and rows that share parts of expressions, decide and compute as the model and its expressions do, on random
//! models and on values of any kind.

use ah_model::expr::{Binary, Comparison, Expr, Unary};
use ah_model::{
    DerivedFeature, Feature, FeatureKind, Features, Leaf, Model, Node as ModelNode, Precondition, Row,
    Scalar, Schema, Sums, Tables, Test, Tree, Value,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::reference;

/// Random expressions over these features. A feature with truth values is categorical.
struct Grammar {
    numbers: Vec<&'static str>,
    categories: Vec<&'static str>,
}

impl Grammar {
    fn feature(names: &[&'static str]) -> BoxedStrategy<Expr<String>> {
        select(names.to_vec()).prop_map(|name| Expr::Feature(name.to_owned())).boxed()
    }

    fn number(&self, depth: u32) -> BoxedStrategy<Expr<String>> {
        let constant = select(vec![0.0, 1.0, 2.0, 3.0, 8.0, 0.5, 1e9]).prop_map(Expr::Number);
        let leaf = prop_oneof![Self::feature(&self.numbers), constant].boxed();
        if depth == 0 {
            return leaf;
        }
        let number = || self.number(depth - 1).prop_map(Box::new);
        let op = select(vec![Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Rem]);
        prop_oneof![
            leaf,
            number().prop_map(|a| Expr::Unary(Unary::Neg, a)),
            (op, number(), number()).prop_map(|(op, a, b)| Expr::Binary(op, a, b)),
            (self.truth(depth - 1), number(), number()).prop_map(|(c, a, b)| Expr::If(Box::new(c), a, b)),
            (select(Unary::FUNCTIONS.to_vec()), number()).prop_map(|(op, a)| Expr::Unary(op, a)),
            (select(Binary::FUNCTIONS.to_vec()), number(), number())
                .prop_map(|(op, a, b)| Expr::Binary(op, a, b)),
        ]
        .boxed()
    }

    fn truth(&self, depth: u32) -> BoxedStrategy<Expr<String>> {
        if depth == 0 {
            return any::<bool>().prop_map(Expr::Bool).boxed();
        }
        let truth = || self.truth(depth - 1).prop_map(Box::new);
        let number = || self.number(depth - 1).prop_map(Box::new);
        // Truth values compare with categories too.
        let category =
            || prop_oneof![3 => self.category(depth - 1), 1 => self.truth(depth - 1)].prop_map(Box::new);
        let order = ["==", "!=", "<", "<=", ">", ">="].map(|text| Binary::operator(text).unwrap()).to_vec();
        let equality = [Comparison::Eq, Comparison::Ne].map(Binary::Compare).to_vec();
        let binary = |(op, a, b)| Expr::Binary(op, a, b);
        prop_oneof![
            truth().prop_map(|a| Expr::Unary(Unary::Not, a)),
            (select(vec![Binary::And, Binary::Or]), truth(), truth()).prop_map(binary),
            (select(order), number(), number()).prop_map(binary),
            (select(equality), category(), category()).prop_map(binary),
            (truth(), truth(), truth()).prop_map(|(c, a, b)| Expr::If(c, a, b)),
        ]
        .boxed()
    }

    fn category(&self, depth: u32) -> BoxedStrategy<Expr<String>> {
        let text = select(vec!["x", "y", "True"]).prop_map(|text| Expr::Text(text.to_owned()));
        let leaf = prop_oneof![3 => Self::feature(&self.categories), 1 => text].boxed();
        if depth == 0 {
            return leaf;
        }
        let category = || self.category(depth - 1).prop_map(Box::new);
        let either = (self.truth(depth - 1), category(), category());
        prop_oneof![leaf, either.prop_map(|(c, a, b)| Expr::If(Box::new(c), a, b))].boxed()
    }
}

const LOGGED: usize = 4;

/// Two numbers and two categories, and six derived features; the last three use all before them.
fn model() -> impl Strategy<Value = Model> {
    let logged = || Grammar { numbers: vec!["m", "k"], categories: vec!["a", "b"] };
    let all = Grammar { numbers: vec!["m", "k", "d0"], categories: vec!["a", "b", "d1", "d2"] };
    let derived = |g: &Grammar| (g.number(3), g.truth(3), g.category(2));
    let parts = (derived(&logged()), derived(&all), logged().truth(3), any::<u16>());
    parts.prop_map(|(first, second, precondition, missing)| {
        let derived = [first.0, first.1, first.2, second.0, second.1, second.2].map(|e| e.to_string());
        let logged =
            ["m", "k"].map(Feature::numerical).into_iter().chain(["a", "b"].map(Feature::categorical));
        let mut model = model_of(Schema::new(logged).unwrap(), derived, &precondition);
        // One bit a number, and one for the category `""`.
        let is_number = |slot: &usize| model.features.all().features()[*slot].kind == FeatureKind::Numerical;
        let numbers = (0..model.features.all().len()).filter(is_number);
        model.missing = numbers.filter(|slot| missing >> slot & 1 == 1).collect();
        if missing >> 15 == 1 {
            model.categories[2].insert(0, String::new());
        }
        model
    })
}

/// A model with the derived features `d0`, `d1` and so on, and a tree whose leftmost path tests every feature.
fn model_of(logged: Schema, derived: impl IntoIterator<Item = String>, precondition: &Expr<String>) -> Model {
    let derived = derived.into_iter().enumerate();
    let derived: Vec<_> =
        derived.map(|(i, expression)| DerivedFeature { name: format!("d{i}"), expression }).collect();
    let typed = precondition.resolve_bool(&logged).unwrap();
    let features = Features::new(logged, &derived).unwrap();
    let slots = features.all().features();
    let categories = |feature: &Feature| match feature.kind {
        FeatureKind::Numerical => Vec::new(),
        FeatureKind::Categorical => ["False", "True", "z"].map(str::to_owned).to_vec(),
    };
    let leaf = ModelNode::Leaf(Leaf { samples: 1, ..Leaf::default() });
    let split = |(slot, feature): (usize, &Feature)| {
        let test = match feature.kind {
            FeatureKind::Numerical => Test::number(slot, 2.0),
            FeatureKind::Categorical => Test::is_in(slot, ["True".to_owned()]),
        };
        ModelNode::Split { test, right: (2 * slots.len() - slot) as u32 }
    };
    let leaves = std::iter::repeat_n(leaf, slots.len() + 1);
    let nodes = slots.iter().enumerate().map(split).chain(leaves).collect();
    Model {
        heuristic: "Random".to_owned(),
        optimization: "random".to_owned(),
        categories: slots.iter().map(categories).collect(),
        precondition: Some(Precondition { expression: precondition.to_string(), typed }),
        choices: vec!["only".to_owned()],
        tree: Tree { nodes },
        features,
        ..Model::default()
    }
}

/// Values of either kind in any slot, sometimes too few: a program may pass anything.
fn values() -> impl Strategy<Value = Vec<Scalar<'static>>> {
    let edges = vec![0.0, -0.0, 1.0, 2.0, 3.0, -8.0, 0.5, 4096.0, f64::NAN, f64::INFINITY];
    let number = || prop_oneof![select(edges.clone()), any::<f64>()].prop_map(Scalar::Number);
    let names = ["x", "y", "z", "True", "False", "no", "nor", ""].map(Scalar::Category).into_iter();
    let names: Vec<_> = names.chain([Scalar::Bool(true), Scalar::Bool(false)]).collect();
    let category = || select(names.clone());
    let row = (
        prop_oneof![9 => number(), 1 => category()],
        number(),
        prop_oneof![9 => category(), 1 => number()],
        prop_oneof![9 => category(), 1 => number()],
        prop_oneof![9 => Just(LOGGED), 1 => 0..LOGGED],
    );
    row.prop_map(|(m, k, a, b, len)| [m, k, a, b][..len].to_vec())
}

/// A row whose values are all known beforehand.
struct Known(Vec<Option<Value>>);

impl Row for Known {
    fn number(&self, slot: usize) -> f64 {
        self.0[slot].as_ref().and_then(|value| value.as_scalar().number()).unwrap_or(f64::NAN)
    }

    fn category(&self, slot: usize) -> Option<&str> {
        self.0[slot].as_ref()?.as_scalar().category()
    }
}

/// The value in a slot of a row; `None` if it is undefined.
fn value_of(row: &impl Row, slot: usize) -> Option<Value> {
    let number = || Some(row.number(slot)).filter(|x| !x.is_nan()).map(Value::Number);
    row.category(slot).map(Value::from).or_else(number)
}

/// Checks the leaf, and the value of every feature.
fn check(model: &Model, tables: &Tables, values: &[Scalar<'_>]) -> Result<(), TestCaseError> {
    let owned: Vec<Value> = (0..model.features.base().len())
        .map(|slot| values.get(slot).map_or(Value::Number(f64::NAN), |value| value.to_value()))
        .collect();
    let position =
        |leaf: &Leaf| model.tree.leaves().position(|(_, other)| std::ptr::eq(leaf, other)).unwrap();
    let mut sums = Sums::default();
    let reached = tables.reach(model, values, &mut sums).map(|reached| reached.leaf);
    prop_assert_eq!(reached, reference::leaf(model, &owned).map(position));
    let logged = model.row(values);
    let row = model.features.row(&logged);
    let base = model.features.base().len();
    let mut known = Known((0..base).map(|slot| value_of(&logged, slot)).collect());
    for (at, (_, expression)) in model.features.derived().iter().enumerate() {
        let number = Some(expression.number(&known)).filter(|x| !x.is_nan());
        let value = expression.category(&known).map(Value::from).or(number.map(Value::Number));
        let found = value_of(&row, base + at);
        let same = match (&value, &found) {
            (Some(Value::Number(a)), Some(Value::Number(b))) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        };
        prop_assert!(same, "d{} of {:?}: {:?} instead of {:?}", at, values, found, value);
        known.0.push(value);
    }
    Ok(())
}

proptest! {
    #[test]
    fn computes_what_the_expressions_say(model in model(), rows in prop::collection::vec(values(), 16)) {
        prop_assert_eq!(model.validate(), Ok(()));
        let tables = Tables::new(&model);
        for values in &rows {
            check(&model, &tables, values)?;
        }
    }
}

/// The longest chain that is allowed does not overflow the stack, and its value is right.
#[test]
fn a_chain_of_derived_features() {
    let expression = |i: usize| if i == 0 { "m".to_owned() } else { format!("-d{}", i - 1) };
    let logged = Schema::new([Feature::numerical("m")]).unwrap();
    let model = model_of(logged, (0..1999).map(expression), &Expr::Bool(true));
    check(&model, &Tables::new(&model), &[3.into()]).unwrap();
}
