//! Measures the blockings of a QR factorization on random shapes, and writes the log to learn from.
//!
//! ```sh
//! cargo run --release --features measure --bin measure -- --max-seconds 600
//! ```

use std::process::ExitCode;
use std::sync::Arc;

use ah_collect::rand::Rng as _;
use ah_collect::sampling::{self, Rng};
use faer::Mat;
use faer_qr::{Blocking, Factors, factor};

fn main() -> ExitCode {
    let mut decision = ah_collect::decision("qr_blocking")
        .input(draw)
        .feature("m", |input: &Input| input.matrix.nrows())
        .feature("n", |input| input.matrix.ncols())
        .choice("faer", |input| input.factor(Blocking::of_faer))
        .check(Input::is_right);
    for block in [1, 4, 8, 16, 32, 64, 128] {
        for recursive in if block == 1 { &["False"][..] } else { &["False", "True"] } {
            let blocking = Blocking::new(block, *recursive == "True");
            let name = format!("block={block}_recursive={recursive}");
            decision = decision.choice(&name, move |input| input.factor(|_, _| blocking));
        }
    }
    decision.main()
}

#[derive(Clone)]
struct Input {
    original: Arc<Mat<f64>>,
    /// What a choice factors.
    matrix: Mat<f64>,
    factors: Option<Factors>,
}

impl Input {
    fn factor(&mut self, blocking: impl Fn(usize, usize) -> Blocking) {
        let (m, n) = self.matrix.shape();
        let matrix = std::mem::replace(&mut self.matrix, Mat::new());
        self.factors = Some(factor(matrix, blocking(m, n)));
    }

    fn is_right(&self) -> bool {
        self.factors.as_ref().is_some_and(|factors| factors.is_of(&self.original))
    }
}

/// 4 to 2048 rows, 4 to 1024 columns, at most a million elements; three in ten sizes are rounded, as in real programs.
fn draw(rng: &mut Rng) -> Input {
    let mut size = |most| sampling::dimension(rng, 4, most, 0.3) as usize;
    let (mut m, mut n) = (size(2048), size(1024));
    while m * n > 1 << 20 {
        (m, n) = (size(2048), size(1024));
    }
    let matrix = Mat::from_fn(m, n, |_, _| rng.random_range(-1.0..1.0));
    Input { original: Arc::new(matrix.clone()), matrix, factors: None }
}
