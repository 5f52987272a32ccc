//! What a decision of `mixed_mm` costs: by the generated crate and by the model file that it was made
//! from, context building and guards included. Both must decide alike.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use ah_runtime::ah_types::device::Cuda;
use ah_runtime::ah_types::{Device, Optimization, Scalar};
use ah_runtime::{AutoHeuristic, LoadedModel, Mode};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: latency MODEL")?;
    let loaded = LoadedModel::read(Path::new(&path))?;
    let model = loaded.model();
    let device = model.device.clone().unwrap_or_else(|| {
        Device::Cuda(Cuda {
            name: "as the log says".to_owned(),
            capability: model.device_capa,
            shared_memory: model.shared_memory.unwrap_or(0),
            multiprocessors: 0,
            l2: 0,
            memory: 0,
            clock_khz: 0,
            memory_clock_khz: 0,
            driver: String::new(),
            runtime: String::new(),
        })
    });
    let (choices, optimization) = (model.choices.clone(), Optimization::built_in("mixed_mm")?);
    let point = || {
        let builder = AutoHeuristic::builder("mixed_mm").choices(choices.clone());
        builder.optimization(&optimization).device(device.clone()).mode(Mode::Consult)
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
    println!("{} contexts, {decided} decided, all alike", contexts.len());
    for (what, point, target) in [("generated crate", &generated, 150.0), ("model file", &by_file, 400.0)] {
        let ns = least_ns(&contexts, |m, k, n| point.choose(&values(m, k, n)).index);
        println!("{what}: {ns:.1} ns a decision (target: {target} ns){}", if ns > target { " MISSED" } else { "" });
    }
    Ok(())
}

/// The context, built as a program builds it: on the stack, from its own numbers.
fn values(m: usize, k: usize, n: usize) -> [Scalar<'static>; 11] {
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

fn contexts() -> Vec<(usize, usize, usize)> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from((state >> 33) % n).unwrap_or(0)
    };
    (0..1000).map(|_| (1 + below(128), 1024 + 64 * below(200), 1024 + 32 * below(400))).collect()
}

/// The least of many passes over all contexts: other programs only ever add to a time.
#[allow(clippy::cast_precision_loss)]
fn least_ns(contexts: &[(usize, usize, usize)], choose: impl Fn(usize, usize, usize) -> usize) -> f64 {
    let pass = |_| {
        let begin = Instant::now();
        for &(m, k, n) in black_box(contexts) {
            black_box(choose(m, k, n));
        }
        begin.elapsed().as_secs_f64() * 1e9 / contexts.len() as f64
    };
    (0..2000).map(pass).fold(f64::INFINITY, f64::min)
}
