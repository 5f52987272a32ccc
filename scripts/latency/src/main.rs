//! Times a decision by the generated crate and by its model file, context building and guards included.
//! Both must decide alike, and neither may allocate.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ah_runtime::ah_types::Cuda;
use ah_runtime::ah_types::{Device, Optimization, Scalar};
use ah_runtime::{AutoHeuristic, LoadedModel, Role};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: latency MODEL")?;
    let loaded = LoadedModel::read(Path::new(&path))?;
    match loaded.model().optimization.as_str() {
        "mixed_mm" => judge(loaded, mixed_mm),
        "pad_mm" => judge(loaded, pad_mm),
        other => Err(format!("expected a model of mixed_mm or pad_mm, found one of {other}").into()),
    }
}

/// A context, built as a program builds it: on the stack, from its own numbers.
fn mixed_mm(m: usize, k: usize, n: usize) -> [Scalar<'static>; 11] {
    let m = 1 + m % 128;
    [
        m.into(),
        k.into(),
        n.into(),
        k.into(),
        1.into(),
        1.into(),
        k.into(),
        "torch.bfloat16".into(),
        "torch.int8".into(),
        true.into(),
        false.into(),
    ]
}

fn pad_mm(m: usize, k: usize, n: usize) -> [Scalar<'static>; 17] {
    let padded = |size: usize| (size.next_multiple_of(8) - size).into();
    [
        m.into(),
        k.into(),
        n.into(),
        k.into(),
        1.into(),
        n.into(),
        1.into(),
        padded(m),
        padded(k),
        padded(n),
        8.into(),
        8.into(),
        "torch.float16".into(),
        "torch.float16".into(),
        false.into(),
        false.into(),
        "not_float_32".into(),
    ]
}

fn judge<const N: usize>(
    loaded: LoadedModel,
    values: fn(usize, usize, usize) -> [Scalar<'static>; N],
) -> Result<ExitCode, Box<dyn Error>> {
    let model = loaded.model();
    let device = model.device.clone().unwrap_or_else(|| {
        Device::Cuda(Cuda {
            name: "as the log says".to_owned(),
            capability: model.device_capa,
            shared_memory: model.shared_memory.unwrap_or(0),
            ..Cuda::default()
        })
    });
    let (name, choices) = (model.optimization.clone(), model.choices.clone());
    let optimization = Optimization::built_in(&name)?;
    let point = || {
        let builder = AutoHeuristic::builder(&name).choices(choices.clone());
        builder.optimization(&optimization).device(device.clone()).role(Role::Consult)
    };
    let generated = point().heuristic(heuristic::Heuristic).build()?;
    let by_file = point().heuristic(loaded).build()?;

    let contexts = contexts();
    let mut decided = 0;
    for &(m, k, n) in &contexts {
        let values = values(m, k, n);
        let (a, b) = (generated.choose(&values), by_file.choose(&values));
        if a != b {
            return Err(format!("m={m} k={k} n={n}: the crate says {a}, the model file {b}").into());
        }
        decided += usize::from(a.is_learned());
    }
    println!("{name}: {} contexts, {decided} decided, all alike", contexts.len());
    let mut missed = decided == 0;
    for (what, point, target) in [("generated crate", &generated, 150.0), ("model file", &by_file, 400.0)] {
        let choose = |&(m, k, n): &(usize, usize, usize)| black_box(point.choose(&values(m, k, n)).index);
        let allocations = allocation_counter::measure(|| contexts.iter().for_each(|context| {
            choose(context);
        }));
        let (median, least) = ns(&contexts, choose);
        let late = median > target || allocations.count_total > 0;
        missed |= late;
        println!(
            "{what}: median {median:.1} ns, least {least:.1} ns a decision (target: {target} ns), {} allocations{}",
            allocations.count_total,
            if late { " MISSED" } else { "" }
        );
    }
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn contexts() -> Vec<(usize, usize, usize)> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from((state >> 33) % n).unwrap_or(0)
    };
    (0..1000).map(|_| (1024 + below(8192), 1024 + 64 * below(200), 1024 + 32 * below(400))).collect()
}

/// The median and the least of many passes over all contexts.
#[allow(clippy::cast_precision_loss)]
fn ns(contexts: &[(usize, usize, usize)], choose: impl Fn(&(usize, usize, usize)) -> usize) -> (f64, f64) {
    let pass = |_| {
        let begin = Instant::now();
        for context in black_box(contexts) {
            choose(context);
        }
        begin.elapsed().as_secs_f64() * 1e9 / contexts.len() as f64
    };
    let mut passes: Vec<f64> = (0..2000).map(pass).collect();
    passes.sort_by(f64::total_cmp);
    (passes[passes.len() / 2], passes[0])
}
