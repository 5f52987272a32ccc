//! A compiled expression computes what `ah_types::expr` defines, for any expression and values.

use ah_types::expr::{BinaryOp, Comparison, Expr, Function, UnaryOp};
use ah_types::{
    DerivedFeature, Feature, FeatureKind, Features, Leaf, Model, Node as ModelNode, Precondition, Row,
    Scalar, Schema, Test, Tree, Unsure, Value,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::CompiledModel;
use super::decision::Decision;
use super::program::{SIZES, rounded};

/// Random expressions over these features. A feature with truth values is categorical.
struct Grammar {
    numbers: Vec<&'static str>,
    categories: Vec<&'static str>,
}

impl Grammar {
    fn feature(names: &[&'static str]) -> BoxedStrategy<Expr> {
        select(names.to_vec()).prop_map(|name| Expr::Feature(name.to_owned())).boxed()
    }

    fn number(&self, depth: u32) -> BoxedStrategy<Expr> {
        let constant = select(vec![0.0, 1.0, 2.0, 3.0, 8.0, 0.5, 1e9]).prop_map(Expr::Number);
        let leaf = prop_oneof![Self::feature(&self.numbers), constant].boxed();
        if depth == 0 {
            return leaf;
        }
        let number = || self.number(depth - 1).prop_map(Box::new);
        let op = select(vec![BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem]);
        let arguments = (self.number(depth - 1), self.number(depth - 1), self.number(depth - 1));
        prop_oneof![
            leaf,
            number().prop_map(|a| Expr::Unary(UnaryOp::Neg, a)),
            (op, number(), number()).prop_map(|(op, a, b)| Expr::Binary(op, a, b)),
            (self.truth(depth - 1), number(), number()).prop_map(|(c, a, b)| Expr::If(Box::new(c), a, b)),
            (select(Function::ALL.to_vec()), arguments).prop_map(|(function, (a, b, c))| {
                Expr::Call(function, if function.is_variadic() { vec![a, b, c] } else { vec![a] })
            }),
        ]
        .boxed()
    }

    fn truth(&self, depth: u32) -> BoxedStrategy<Expr> {
        if depth == 0 {
            return any::<bool>().prop_map(Expr::Bool).boxed();
        }
        let truth = || self.truth(depth - 1).prop_map(Box::new);
        let number = || self.number(depth - 1).prop_map(Box::new);
        // Truth values compare with categories too.
        let category =
            || prop_oneof![3 => self.category(depth - 1), 1 => self.truth(depth - 1)].prop_map(Box::new);
        let order = Comparison::ALL.map(BinaryOp::Compare).to_vec();
        let equality = [Comparison::Eq, Comparison::Ne].map(BinaryOp::Compare).to_vec();
        let binary = |(op, a, b)| Expr::Binary(op, a, b);
        prop_oneof![
            truth().prop_map(|a| Expr::Unary(UnaryOp::Not, a)),
            (select(vec![BinaryOp::And, BinaryOp::Or]), truth(), truth()).prop_map(binary),
            (select(order), number(), number()).prop_map(binary),
            (select(equality), category(), category()).prop_map(binary),
            (truth(), truth(), truth()).prop_map(|(c, a, b)| Expr::If(c, a, b)),
        ]
        .boxed()
    }

    fn category(&self, depth: u32) -> BoxedStrategy<Expr> {
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

/// Returns a model with the derived features `d0`, `d1` and so on, and a tree whose leftmost path tests every feature.
fn model_of(logged: Schema, derived: impl IntoIterator<Item = String>, precondition: &Expr) -> Model {
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
    let leaf = || ModelNode::Leaf(Leaf { samples: 1, ..Leaf::default() });
    let nodes = |(slot, feature): (usize, &Feature)| {
        let test = match feature.kind {
            FeatureKind::Numerical => Test::Numerical { slot, threshold: 2.0 },
            FeatureKind::Categorical => Test::Categorical { slot, categories: vec!["True".to_owned()] },
        };
        let right = 2 * slot as u32 + 1;
        [ModelNode::Split { test, left: right + 1, right }, leaf()]
    };
    let nodes = slots.iter().enumerate().flat_map(nodes).chain([leaf()]).collect();
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

/// Compiles a model both ways: with all columns computed beforehand, and with those of a path.
fn compiled(model: &Model) -> [CompiledModel; 2] {
    [CompiledModel::compile_eagerly(model), CompiledModel::compile(model, usize::MAX).expect("no limit")]
}

/// Compiled and interpreted, decisions and columns agree.
fn check(model: &Model, compiled: &[CompiledModel; 2], values: &[Scalar<'_>]) -> Result<(), TestCaseError> {
    let owned: Vec<Value> = (0..model.features.base().len())
        .map(|slot| values.get(slot).map_or(Value::Number(f64::NAN), |value| value.to_value()))
        .collect();
    let leaf = |leaf: &Leaf| model.tree.leaves().position(|(_, other)| std::ptr::eq(leaf, other));
    for compiled in compiled {
        let reached = compiled.decide(values, |decision| decision.reach(|_, reached| Some(reached.leaf)));
        prop_assert_eq!(reached, model.leaf(&owned).map(leaf));
    }
    let eager = &compiled[0];
    // Columns are computed where the precondition holds.
    let result = eager.decide(values, |decision| {
        let reached = decision.reach(|_, _| ());
        Ok((reached != Err(Unsure::Precondition)).then(|| check_columns(model, eager, decision, values)))
    });
    result.into_iter().flatten().collect()
}

/// Compiled and interpreted, columns and their features agree.
fn check_columns(
    model: &Model,
    eager: &CompiledModel,
    decision: &Decision<'_>,
    values: &[Scalar<'_>],
) -> Result<(), TestCaseError> {
    let logged = model.row(values);
    let row = model.features.row(&logged);
    for (at, column) in eager.ensemble.columns.iter().enumerate() {
        let expected = model.column_value(column, &row);
        prop_assert_eq!(decision.column(at), expected, "{:?} of {:?}", column, values);
        let expected = match row.scalar(column.slot) {
            Some(Scalar::Category(name)) => eager.categories.id(name),
            Some(Scalar::Bool(holds)) => f64::from(holds),
            Some(Scalar::Number(x)) => x,
            None => f64::NAN,
        };
        let found = decision.feature(at);
        let same = found == expected || found.is_nan() && expected.is_nan();
        prop_assert!(same, "slot {} of {:?}: {} instead of {}", column.slot, values, found, expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes, and no line of it is unsafe")]
    fn computes_what_the_expressions_say(model in model(), rows in prop::collection::vec(values(), 16)) {
        prop_assert_eq!(model.validate(), Ok(()));
        let compiled = compiled(&model);
        for values in &rows {
            check(&model, &compiled, values)?;
        }
    }
}

/// Each feature uses the one before it, and every one of them is tested.
#[test]
fn features_for_each_number_of_registers() {
    let expression = |i: usize| if i == 0 { "m + 1".to_owned() } else { format!("d{} + 1", i - 1) };
    for features in SIZES.into_iter().flat_map(|size| [size / 2, size + 5]) {
        let logged = Schema::new([Feature::numerical("m")]).unwrap();
        let model = model_of(logged, (0..features).map(expression), &Expr::Bool(true));
        let compiled = compiled(&model);
        let registers = rounded(features)..=rounded(features + 4);
        assert!(compiled.iter().all(|compiled| registers.contains(&compiled.initial.len())));
        for m in [-290.0, -90.0, 1.0, f64::NAN] {
            check(&model, &compiled, &[m.into()]).unwrap();
        }
    }
}

/// The longest chain that is allowed does not overflow the stack, and its value is right.
#[test]
fn a_chain_of_derived_features() {
    let links = if cfg!(miri) { 99 } else { 1999 };
    let expression = |i: usize| if i == 0 { "m".to_owned() } else { format!("-d{}", i - 1) };
    let logged = Schema::new([Feature::numerical("m")]).unwrap();
    let model = model_of(logged, (0..links).map(expression), &Expr::Bool(true));
    let [compiled, _] = compiled(&model);
    let values = [3.into()];
    let found = compiled.decide(&values, |decision| {
        decision.reach(|_, _| ())?;
        let column = |slot| compiled.ensemble.columns.iter().position(|column| column.slot == slot);
        let value = |slot: usize| decision.column(column(slot).expect("each is tested"));
        Ok((value(links)?, value(links - 1)?))
    });
    assert_eq!(found, Ok((3.0, -3.0)));
}

/// Each path of a tree whose nodes all test another long expression would have steps of its own.
#[test]
fn too_many_steps_are_shared_by_all_paths() {
    let model = |depth: u32| {
        let leaves = 1_u32 << depth;
        let sum = |i: u32| (0..50).fold(format!("m + {i}"), |sum, j| format!("{sum} * {}", i * 50 + j + 2));
        let logged = Schema::new([Feature::numerical("m")]).unwrap();
        let mut model = model_of(logged, (0..leaves - 1).map(sum), &Expr::Bool(true));
        let split = |i: u32| ModelNode::Split {
            test: Test::Numerical { slot: 1 + i as usize, threshold: f64::from(i) },
            left: 2 * i + 1,
            right: 2 * i + 2,
        };
        let leaf = |_| ModelNode::Leaf(Leaf { samples: 1, ..Leaf::default() });
        model.tree.nodes = (0..leaves - 1).map(split).chain((0..leaves).map(leaf)).collect();
        model
    };
    let is_shared = |model: &Model| !CompiledModel::new(model).places.is_empty();
    assert_eq!([4, 11].map(|depth| is_shared(&model(depth))), [false, true]);
    let model = model(11);
    let values: [Scalar<'_>; 1] = [3.into()];
    let compiled = CompiledModel::new(&model);
    let reached = compiled.decide(&values, |decision| decision.reach(|_, reached| Some(reached.leaf)));
    let leaf = |leaf: &Leaf| model.tree.leaves().position(|(_, other)| std::ptr::eq(leaf, other));
    assert_eq!(reached, model.leaf(&[Value::Number(3.0)]).map(leaf));
}
