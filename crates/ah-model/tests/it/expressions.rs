//! The expression language: its invariants, and the errors that people read.

use ah_model::expr::{self, Binary, Expr, Type, Unary};
use ah_model::{DerivedFeature, Feature, Features, Row, Schema, Value};
use proptest::prelude::*;

fn schema() -> Schema {
    let features = ["m", "k", "n"].map(Feature::numerical).into_iter();
    Schema::new(features.chain(["dtype", "odd name"].map(Feature::categorical))).unwrap()
}

fn row(m: f64, k: f64, n: f64, dtype: &str) -> Vec<Value> {
    vec![m.into(), k.into(), n.into(), dtype.into(), "x".into()]
}

fn eval(source: &str, values: &[Value]) -> Option<String> {
    let typed = expr::parse(source).unwrap().resolve(&schema()).unwrap();
    let number = Some(typed.number(values)).filter(|x| !x.is_nan());
    typed.category(values).map(str::to_owned).or(number.map(|x| x.to_string()))
}

#[test]
fn computes_as_documented() {
    let values = row(7.0, 2048.0, 1.0, "torch.bfloat16");
    for (source, expected) in [
        ("m * k + 1", Some("14337")),
        ("-m % 4", Some("1")),
        ("m % -4", Some("-1")),
        ("2 - 1 - 1", Some("0")),
        ("m / (n - 1)", None),
        ("m % (n - 1)", None),
        ("n == 1 or m / (n - 1) > 0", Some("True")),
        ("n != 1 and m / (n - 1) > 0", Some("False")),
        ("if n == 1 then 5 else m / (n - 1)", Some("5")),
        ("k > m * 256 and dtype == \"torch.bfloat16\"", Some("True")),
        ("`odd name` != \"x\"", Some("False")),
        ("min(m, k, n) + max(m, k, n)", Some("2049")),
        ("ceil(m / 2) * floor(m / 2)", Some("12")),
        ("ctz(k) + ctz(0) + ctz(m)", Some("75")),
        ("ctz(m / 2)", None),
        ("log2(k)", Some("11")),
        ("log2(n - 1)", None),
        ("not m == 7", Some("False")),
        ("abs(-m)", Some("7")),
        ("not dtype", Some("True")),
        ("m == 7 and dtype", Some("False")),
    ] {
        assert_eq!(eval(source, &values).as_deref(), expected, "{source}");
    }
    assert_eq!(
        eval("m == 7 and dtype", &row(7.0, 1.0, 1.0, "True")).as_deref(),
        Some("True"),
        "a truth value"
    );
    let undefined = row(f64::NAN, 1.0, 1.0, "x");
    assert_eq!(eval("m > 0", &undefined), None, "NaN compares with nothing");
    assert_eq!(eval("min(k, m)", &undefined), None);
}

#[test]
fn messages_name_the_place() {
    let message = |source: &str| match expr::parse(source) {
        Err(e) => e.to_string(),
        Ok(e) => e.resolve(&schema()).map_or_else(|e| e.to_string(), |t| format!("{:?}", t.ty())),
    };
    let lines: Vec<String> = [
        "m +",
        "m ** k",
        "(m",
        "min(m)",
        "a < b < c",
        "\"open",
        "m + dtype",
        "q * 2",
        "if m then 1 else 2",
        "m & k",
    ]
    .iter()
    .map(|s| message(s))
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn nesting_cannot_overflow_the_stack() {
    for source in [
        "(".repeat(100_000),
        "-".repeat(100_000),
        "not ".repeat(100_000),
        "m+".repeat(100_000),
        "if m ".repeat(9999),
        // Neither the nesting nor the chain is too long, but both together are too deep.
        (0..100).fold("m".to_owned(), |inner, _| format!("({inner}{})", "+m".repeat(380))),
    ] {
        assert!(expr::parse(&source).is_err());
    }
    let long = vec!["m"; 300].join(" + ");
    assert_eq!(eval(&long, &row(1.0, 0.0, 0.0, "")).as_deref(), Some("300"));
    let operands = |count| format!("max({})", vec!["m"; count].join(", "));
    assert!(expr::parse(&operands(100_000)).is_err());
    assert_eq!(eval(&operands(511), &row(1.0, 0.0, 0.0, "")).as_deref(), Some("1"));
}

#[test]
fn printing_adds_no_bracket() {
    for source in [
        format!("{}4", "-".repeat(127)),
        format!("m - {}4", "-".repeat(125)),
        format!("{}(m == 0)", "not ".repeat(120)),
        format!("m - {}m", "-not ".repeat(60)),
        "(not m) == k".to_owned(),
        "-(not m) + k".to_owned(),
        "not m == k and not k".to_owned(),
        "-(4) % --4".to_owned(),
    ] {
        let parsed = expr::parse(&source).unwrap();
        let printed = parsed.to_string();
        assert_eq!(expr::parse(&printed).as_ref(), Ok(&parsed), "{source}: {printed}");
        assert!(printed.matches('(').count() <= source.matches('(').count(), "{source}: {printed}");
    }
}

#[test]
fn brackets_that_printing_adds_do_not_make_a_text_too_long() {
    let part = "1 + if true then m else n";
    let text = |count: usize| format!("min({})", vec![part; count].join(", "));
    let most = (2..200).take_while(|count| expr::parse(&text(*count)).is_ok()).last().unwrap();
    let longest = expr::parse(&text(most)).unwrap();
    assert!(longest.to_string().len() > text(most).len() && most < 199);
    assert_eq!(expr::parse(&longest.to_string()), Ok(longest));
}

#[test]
fn derived_features_cannot_multiply_for_ever() {
    let mut derived = vec![DerivedFeature { name: "d0".into(), expression: "m + m".into() }];
    for i in 1..40 {
        derived
            .push(DerivedFeature { name: format!("d{i}"), expression: format!("d{} + d{}", i - 1, i - 1) });
    }
    assert!(Features::new(schema(), &derived).is_err_and(|e| e.to_string().contains("steps through")));
}

fn any_expr() -> impl Strategy<Value = Expr<String>> {
    let leaf = prop_oneof![
        any::<f64>().prop_filter("numbers are finite", |x| x.is_finite()).prop_map(Expr::Number),
        any::<bool>().prop_map(Expr::Bool),
        ".{0,6}".prop_map(Expr::Text),
        "[a-z_]{1,4}|.{1,5}".prop_map(Expr::Feature),
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let operators = ["or", "and", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"];
        let operators = operators.map(|text| Binary::operator(text).unwrap());
        let op = prop::sample::select([&operators[..], &Binary::FUNCTIONS].concat());
        prop_oneof![
            (prop::sample::select([&[Unary::Neg, Unary::Not][..], &Unary::FUNCTIONS].concat()), boxed())
                .prop_map(|(o, a)| Expr::Unary(o, a)),
            (op, boxed(), boxed()).prop_map(|(o, a, b)| Expr::Binary(o, a, b)),
            (boxed(), boxed(), boxed()).prop_map(|(c, a, b)| Expr::If(c, a, b)),
        ]
    })
}

proptest! {
    #[test]
    fn printing_then_parsing_gives_the_same_tree(expr in any_expr()) {
        let text = expr.to_string();
        prop_assert_eq!(expr::parse(&text).map_err(|e| e.to_string()), Ok(expr), "{}", text);
    }

    #[test]
    fn parsing_never_panics(text in ".{0,80}") {
        let _ = expr::parse(&text);
    }

    #[test]
    fn what_is_well_typed_evaluates_to_its_type_or_is_undefined(expr in any_expr(), m in any::<f64>(), k in any::<f64>()) {
        if let Ok(typed) = expr.resolve(&schema()) {
            let row = &row(m, k, 3.0, "d")[..];
            prop_assert!(typed.number(row).is_nan() || typed.ty() == Type::Number);
            prop_assert!(typed.truth(row).is_none() || typed.ty() == Type::Bool);
            prop_assert!(typed.category(row).is_none() || typed.ty() != Type::Number);
        }
    }

    #[test]
    fn modulo_is_pythons(a in -1000_i64..1000, b in -50_i64..50) {
        let r = ah_model::math::modulo(a as f64, b as f64);
        let expected = (b != 0).then(|| (a.rem_euclid(b.abs()) + if b < 0 && a.rem_euclid(b.abs()) != 0 { b } else { 0 }) as f64);
        prop_assert_eq!(Some(r).filter(|r| !r.is_nan()), expected);
    }
}

#[test]
fn rows_compute_derived_features_when_asked() {
    let derived = [
        DerivedFeature { name: "k/n".into(), expression: "k / n".into() },
        DerivedFeature { name: "twice".into(), expression: "`k/n` * 2".into() },
    ];
    let features = Features::new(schema(), &derived).unwrap();
    let twice = features.all().slot("twice").unwrap();
    assert_eq!(features.row(&row(1.0, 6.0, 3.0, "d")[..]).number(twice), 4.0);
    assert!(features.row(&row(1.0, 6.0, 0.0, "d")[..]).number(twice).is_nan());
}
