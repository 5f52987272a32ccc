//! Prints the rate of every CPU kernel on a few shapes: what a change to a kernel is judged by.
//!
//! `cargo run --release -p ah-kernels --example cpu_kernel_rates`

use ah_kernels::cpu::kernels::{MatMul, MatMut, MatRef, PadMm, Scratch, Side, Softmax};
use std::time::{Duration, Instant};

/// The least time of one call within 100 ms, in seconds: other programs only ever add to it.
fn fastest(mut call: impl FnMut()) -> f64 {
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    let mut calls = 0;
    while begin.elapsed() < Duration::from_millis(100) || calls < 3 {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed().as_secs_f64());
        calls += 1;
    }
    best
}

fn values(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919) % 1000) as f32 / 500.0 - 1.0).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scratch = Scratch::default();

    let shapes = [[512; 3], [1024; 3], [37; 3], [100; 3], [1, 2048, 2048], [4, 1000, 3000], [2000, 16, 2000]];
    println!("mm, GFLOP/s (m, k, n)");
    print!("{:58}", "");
    shapes.iter().for_each(|[m, k, n]| print!("{:>14}", format!("{m},{k},{n}")));
    println!();
    for choice in MatMul::choices().into_iter().filter(|choice| choice.available().is_ok()) {
        print!("{:58}", choice.name());
        for [m, k, n] in shapes {
            let (a, b, mut c) = (values(m * k), values(k * n), vec![0.0; m * n]);
            let (a, b) = (MatRef::row_major(&a, m, k)?, MatRef::row_major(&b, k, n)?);
            let mut c = MatMut::row_major(&mut c, m, n)?;
            choice.run(a, b, &mut c, &mut scratch)?;
            let time = fastest(|| {
                choice.run(a, b, &mut c, &mut scratch).expect("it ran before");
            });
            print!("{:>14.1}", 2e-9 * (m * n * k) as f64 / time);
        }
        println!();
    }

    println!("\npad_mm, ms (m, k, n; t = B transposed; p = B prepadded): orig, pad");
    for [m, k, n] in
        [[33; 3], [127; 3], [255; 3], [511; 3], [1023; 3], [17, 1001, 1001], [1001, 17, 1001], [512; 3]]
    {
        let [mp, kp, np] = [m, k, n].map(|size: usize| size.next_multiple_of(16));
        let (a, b, mut c) = (values(mp * kp), values(kp * np), vec![0.0; m * n]);
        let a = Side::new(MatRef::row_major(&a, m, k)?);
        let sides = [
            ("", Side::new(MatRef::row_major(&b, k, n)?)),
            ("t", Side::new(MatRef::col_major(&b, k, n)?)),
            ("p", Side::prepadded(MatRef::row_major(&b, kp, np)?, k, n)?),
        ];
        for (kind, b) in sides {
            let mut c = MatMut::row_major(&mut c, m, n)?;
            let times = PadMm::choices()
                .into_iter()
                .map(|choice| 1e3 * fastest(|| choice.run(a, b, &mut c, &mut scratch).expect("shapes fit")));
            let times: Vec<String> = times.map(|time| format!("{time:.4}")).collect();
            println!("{:20}{}", format!("{m},{k},{n} {kind}"), times.join("  "));
        }
    }

    let shapes = [(64, 64), (1000, 100), (64, 4096), (16, 100_000), (2, 4_000_000)];
    println!("\nsoftmax, GB/s of one read and one write (rows × columns)");
    print!("{:34}", "");
    shapes.iter().for_each(|(rows, cols)| print!("{:>12}", format!("{rows}×{cols}")));
    println!();
    for choice in Softmax::choices().into_iter().filter(|choice| choice.available().is_ok()) {
        print!("{:34}", choice.name());
        for (rows, cols) in shapes {
            let (input, mut output) = (values(rows * cols), vec![0.0; rows * cols]);
            let time = fastest(|| {
                choice.run(&input, rows, cols, &mut output).expect("sizes fit");
            });
            print!("{:>12.2}", 8e-9 * (rows * cols) as f64 / time);
        }
        println!();
    }
    Ok(())
}
