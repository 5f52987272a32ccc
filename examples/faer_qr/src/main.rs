//! Factors matrices of fresh shapes, in turn with faer's own block size and with the one that the heuristic chooses.
//!
//! ```sh
//! cargo run --release              # 300 shapes, about two minutes
//! cargo run --release -- 50        # fewer
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use faer::Mat;
use faer_qr::{Blocking, factor};

/// Time to spend on each shape.
const BUDGET: Duration = Duration::from_millis(300);

fn main() {
    let shapes: u32 = std::env::args().nth(1).map_or(300, |n| n.parse().expect("a number of shapes"));
    let mut random = Random(20_260_102);
    let mut gains = Vec::new();
    for _ in 0..shapes {
        let matrix = loop {
            let (m, n) = (random.log_uniform(4.0, 2048.0), random.log_uniform(4.0, 1024.0));
            if m * n <= 1 << 20 {
                break Mat::from_fn(m, n, |_, _| random.uniform() - 0.5);
            }
        };
        let gain = gain(&matrix);
        println!(
            "{:4} x {:4}  {:?}  {gain:.3}",
            matrix.nrows(),
            matrix.ncols(),
            Blocking::learned(matrix.nrows(), matrix.ncols())
        );
        gains.push(gain);
    }
    let mean = (gains.iter().map(|gain| gain.ln()).sum::<f64>() / f64::from(shapes)).exp();
    let slower = gains.iter().filter(|gain| **gain < 1.0 / 1.05).count();
    println!(
        "\nthe heuristic is {mean:.3} times as fast as faer's own block size (geometric mean of {shapes} shapes)"
    );
    println!("and more than 5 % slower on {slower} of them");
}

/// The time with faer's own block size over the time with the learned one, the decision included.
fn gain(matrix: &Mat<f64>) -> f64 {
    let (m, n) = matrix.shape();
    let mut times = [Vec::new(), Vec::new()];
    let begin = Instant::now();
    // In turns, so that a disturbance hits both.
    while times[0].len() < 5 || (begin.elapsed() < BUDGET && times[0].len() < 1000) {
        for (blocking, times) in [Blocking::of_faer, Blocking::learned].into_iter().zip(&mut times) {
            let copy = matrix.clone();
            let begin = Instant::now();
            black_box(factor(copy, blocking(m, n)));
            times.push(begin.elapsed());
        }
    }
    let [own, learned] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64()
    });
    own / learned
}

/// A xorshift generator: the program needs no dependency for it.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn log_uniform(&mut self, low: f64, high: f64) -> usize {
        (low * (high / low).powf(self.uniform())) as usize
    }
}
