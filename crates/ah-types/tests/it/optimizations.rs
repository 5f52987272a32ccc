//! The built-in optimizations: every expression resolves, and PyTorch's derived features have the values of
//! `torch/_inductor/autoheuristic/autoheuristic_utils.py`.

use ah_model::{Context, Features, Row};
use ah_types::log::Metadata;
use ah_types::{LogOptimization, Optimization};

fn features(name: &str) -> Features {
    let optimization = Optimization::built_in(name).unwrap();
    let schema = optimization.schema().unwrap();
    let (derived, left_out) = optimization.derived_for(&schema);
    assert_eq!(left_out, Vec::<String>::new(), "{name}");
    Features::new(schema, &derived).unwrap()
}

fn value(features: &Features, context: &Context, name: &str) -> String {
    let values = context.row(features.base()).unwrap();
    let slot = features.all().slot(name).unwrap_or_else(|| panic!("no feature {name}"));
    let row = features.row(&values[..]);
    let number = || Some(row.number(slot)).filter(|x| !x.is_nan()).map(|x| x.to_string());
    row.category(slot).map(str::to_owned).or_else(number).unwrap_or("undefined".to_owned())
}

fn pad_mm(m: u32, k: u32, n: u32, dtype: &str) -> Context {
    let pad = |x: u32| (8 - x % 8) % 8;
    Context::new()
        .with("m", m)
        .with("k", k)
        .with("n", n)
        .with("mat1_stride_0", k)
        .with("mat1_stride_1", 1)
        .with("mat2_stride_0", 1)
        .with("mat2_stride_1", k)
        .with("m_padded_length", pad(m))
        .with("k_padded_length", pad(k))
        .with("n_padded_length", pad(n))
        .with("mat1_align_size", 8)
        .with("mat2_align_size", 8)
        .with("mat1_dtype", dtype)
        .with("mat2_dtype", dtype)
        .with("prepadded_mat1", false)
        .with("prepadded_mat2", true)
        .with("using_tf32", "not_float_32")
}

#[test]
fn every_built_in_optimization_resolves() {
    for name in Optimization::built_in_names() {
        let optimization = Optimization::built_in(name).unwrap();
        let features = features(name);
        assert_eq!(optimization.name, name);
        assert_eq!(features.all().len(), features.base().len() + features.derived().len());
        for p in &optimization.preconditions {
            let parsed = ah_model::expr::parse(&p.expression).unwrap();
            parsed.resolve_bool(features.base()).unwrap();
        }
    }
}

#[test]
fn pad_mm_means_what_pytorch_means() {
    let f = features("pad_mm");
    let c = pad_mm(17, 131_072, 48, "torch.bfloat16");
    for (name, expected) in [
        ("m*k", "2228224"),
        ("k/(m*n)", "160.62745098039215"),
        ("bfloat_perf_hit", "True"),
        ("mat1_innermost_needs_padding", "False"),
        ("mat2_innermost_needs_padding", "False"),
        ("num_dims_needs_padding", "1"),
        ("m_multiple_2", "False"),
        ("n_multiple_16", "True"),
        ("n_multiple_32", "False"),
        ("mat1_iscontig", "True"),
        ("mat2_iscontig", "False"),
        ("ctz(k)", "16"),
        ("min(ctz(m),ctz(k),ctz(n))", "0"),
        ("ctz(mat2_leading)", "16"),
    ] {
        assert_eq!(value(&f, &c, name), expected, "{name}");
    }
    assert_eq!(value(&f, &pad_mm(0, 8, 8, "torch.float16"), "arith_intensity"), "0");
    assert_eq!(value(&f, &pad_mm(0, 8, 8, "torch.float16"), "k/(m*n)"), "undefined");
    assert_eq!(value(&f, &pad_mm(8, 9, 8, "torch.float16"), "mat1_innermost_needs_padding"), "True");
}

#[test]
fn a_derived_feature_is_left_out_where_the_log_lacks_its_inputs() {
    let optimization = Optimization::built_in("flex_attention").unwrap();
    let schema =
        ah_model::Schema::new(optimization.features.iter().filter(|f| f.name != "kv_seq_length").cloned())
            .unwrap();
    let (derived, left_out) = optimization.derived_for(&schema);
    assert_eq!(left_out, ["ctz(kv_seq_length)"]);
    assert!(Features::new(schema, &derived).is_ok());
}

#[test]
fn preconditions_go_by_device() {
    let optimization = Optimization::built_in("pad_mm").unwrap();
    let metadata = |capa, shared_memory| Metadata {
        name: "pad_mm".into(),
        shared_memory: Some(shared_memory),
        device_capa: capa,
        numerical_features: vec![],
        categorical_features: vec![],
        choices: None,
        collection: None,
    };
    assert!(optimization.precondition_for(&metadata((8, 0), 166_912)).unwrap().contains("512"));
    assert!(optimization.precondition_for(&metadata((9, 0), 232_448)).unwrap().contains("768"));
    assert_eq!(optimization.precondition_for(&metadata((0, 0), 0)), None);
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    insta::assert_snapshot!(Optimization::built_in("padmm").unwrap_err().to_string());
}

/// The log of one row with these features and this choice.
fn log_of(name: &str, numerical: &[&str], categorical: &[&str], choice: &str) -> ah_types::log::Log {
    let head = serde_json::json!({
        "name": name, "device_capa": [9, 0], "numerical_features": numerical, "categorical_features": categorical,
    });
    let columns: Vec<&str> = numerical.iter().chain(categorical).copied().collect();
    let values = vec!["1"; columns.len()].join(",");
    let text = format!("{head}\n{},choice,feedback\n{values},{choice},1\n", columns.join(","));
    let options = ah_types::log::ReadOptions::default();
    ah_types::log::read_bytes("train.txt".as_ref(), text.as_bytes(), options).unwrap()
}

#[test]
fn a_built_in_optimization_serves_logs_of_its_own_features_and_choices() {
    let found = |numerical: &[&str], categorical: &[&str], choice: &str| {
        LogOptimization::new(&log_of("mm", numerical, categorical, choice))
    };
    let own = found(&["m", "k", "n"], &["mat1_dtype"], "type=triton_BLOCK-M=16");
    assert!(own.built_in.is_some() && own.note.is_none() && !own.optimization.derived.is_empty());
    for (found, part) in [
        // A Triton kernel, a sparse table and a table of a Python program that have only the name in common.
        (found(&["M", "N", "K"], &[], "type=triton_BLOCK-M=16"), "features M, N, K;"),
        (found(&["m", "k", "n"], &[], "BLOCK_M=16_BLOCK_N=32"), "choices BLOCK_M=16_BLOCK_N=32;"),
        (found(&["m"], &["k"], "extern_mm"), "features k;"),
    ] {
        assert!(found.built_in.is_none() && found.optimization.derived.is_empty());
        let note = found.note.unwrap();
        assert!(note.contains(part) && note.contains("\"mm\""), "{note}");
    }
    let unlisted = LogOptimization::new(&log_of("gemm", &["m"], &[], "a"));
    assert!(unlisted.built_in.is_none() && unlisted.note.is_none());
    // Features that ah-train adds to the logs of several devices belong to no optimization.
    assert!(found(&["m", "multiprocessors"], &[], "extern_mm").built_in.is_some());
}
