//! The launches on an input, without a GPU.

use std::path::Path;

use ah_kernels::cuda::source::{Argument, Element, Fill, Grid, LaunchPlan, NamedFill};
use ah_measure::Failure;
use ah_model::Context;

use super::CudaKernel;
use crate::custom::file::{CustomChoices, OptimizationFile};

fn example() -> CudaKernel {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cuda/rms_norm.toml");
    match OptimizationFile::read(&path).unwrap().choices {
        Some(CustomChoices::Cuda(kernel)) => *kernel,
        other => panic!("{other:?}"),
    }
}

fn plan_of(source: &CudaKernel, choice: &str, rows: u64, columns: u64) -> Result<LaunchPlan, Failure> {
    let context = Context::new().with("rows", rows).with("columns", columns);
    let index = source.names().iter().position(|name| name == choice).unwrap();
    source.plan(&context).unwrap().launches[index].clone()
}

#[test]
fn sizes_follow_features_and_parameters() {
    let source = example();
    let plan = plan_of(&source, "CACHE=1_ROWS=4_THREADS=128_VECTOR=4", 1001, 512).unwrap();
    assert_eq!(plan.kernel, "rms_norm");
    assert_eq!(plan.defines, ["CACHE=1", "ROWS=4", "THREADS=128", "VECTOR=4"]);
    let Grid { blocks, threads, shared_memory } = plan.grid;
    assert_eq!((blocks, threads, shared_memory), ([251, 1, 1], [128, 4, 1], 4 * 512 * 4));
}

#[test]
fn a_constraint_that_names_features_is_asked_on_each_input() {
    let source = example();
    let refused = |choice, columns| plan_of(&source, choice, 8, columns).unwrap_err();
    let odd = refused("CACHE=0_ROWS=1_THREADS=128_VECTOR=4", 511);
    assert_eq!(odd, Failure::skipped("not eligible: columns % VECTOR == 0"));
    let long = refused("CACHE=1_ROWS=4_THREADS=128_VECTOR=4", 16384);
    assert_eq!(long, Failure::skipped("not eligible: CACHE * ROWS * columns * 4 <= 200 * 1024"));
    assert!(plan_of(&source, "CACHE=1_ROWS=1_THREADS=128_VECTOR=4", 8, 16384).is_ok());
}

#[test]
fn buffers_scalars_and_the_reference() {
    let context = Context::new().with("rows", 3_u64).with("columns", 50_u64);
    let plan = example().plan(&context).unwrap();
    let shown: Vec<_> =
        plan.buffers.iter().map(|b| (b.name.as_str(), b.length, b.fill, b.is_output)).collect();
    assert_eq!(
        shown,
        [
            ("x", 150, Fill::Named(NamedFill::Normal), false),
            ("weight", 50, Fill::Uniform { from: 0.5, to: 1.5 }, false),
            ("y", 150, Fill::Named(NamedFill::Nothing), true)
        ]
    );
    assert_eq!(plan.arguments[2..4], [Argument::Buffer(2), Argument::Scalar(Element::I32, 3.0)]);
    assert_eq!(plan.reference.kernel, "rms_norm_in_float64");
    assert_eq!((plan.reference.grid.blocks, plan.reference.grid.threads), ([3, 1, 1], [256, 1, 1]));
}

#[test]
fn an_input_that_makes_no_sense_is_refused_in_words() {
    let source = example();
    let refused = |context: Context| source.plan(&context).unwrap_err();
    let half = refused(Context::new().with("rows", 1.5).with("columns", 3_u64));
    assert!(half.contains("cuda.argument \"x\": length is 4.5, expected a whole number"), "{half}");
    assert!(refused(Context::new().with("rows", 1_u64)).contains("columns"));
}
