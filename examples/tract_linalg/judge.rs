//! Answers each shape (m,k,n) of standard input by the kernel that the file for tract picks, the one without `restream`, and
//! the choice of ah-codegen's code for the same model. `cost_model.py judge` compiles it beside these three files.

mod formula;
mod formula_cost_model;
mod mmm;

use formula_cost_model::FormulaCostModel;

/// Where the file for tract expects the cost model.
pub mod frame {
    pub mod mmm {
        pub use crate::formula_cost_model::FormulaCostModel;
    }
}

/// What the cost model asks of tract's kernels.
pub trait MatMatMul {
    fn name(&self) -> &str;
    fn mr(&self) -> usize;
    fn nr(&self) -> usize;
    fn boxed(&self) -> Box<dyn MatMatMul>;
}

impl Clone for Box<dyn MatMatMul> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

/// A kernel by its name and tile.
#[derive(Clone)]
struct Kernel(String, usize, usize);

impl MatMatMul for Kernel {
    fn name(&self) -> &str {
        &self.0
    }
    fn mr(&self) -> usize {
        self.1
    }
    fn nr(&self) -> usize {
        self.2
    }
    fn boxed(&self) -> Box<dyn MatMatMul> {
        Box::new(self.clone())
    }
}

fn main() {
    let model = formula::formula_model();
    let warm = FormulaCostModel { restream: 0.0, ..formula::formula_model() };
    let tile =
        |part: &str| part.split_once('x').and_then(|(mr, nr)| Some((mr.parse().ok()?, nr.parse().ok()?)));
    let kernel = |name: &&str| {
        let (mr, nr) = name.split('_').find_map(tile).unwrap();
        Box::new(Kernel(name.to_string(), mr, nr)) as Box<dyn MatMatMul>
    };
    let kernels: Vec<_> = model.kernels.iter().map(kernel).collect();
    for line in std::io::stdin().lines().map(Result::unwrap) {
        let shape: Vec<usize> = line.split(',').map(|x| x.parse().unwrap()).collect();
        let [m, k, n] = shape[..] else { panic!() };
        let pick =
            |model: &FormulaCostModel| model.pick(&kernels, Some(m), Some(k), Some(n)).name().to_string();
        let context = mmm::Context { m: m as i64, k: k as i64, n: n as i64 };
        let expected = mmm::choose(&context).map_or("none", |choice| choice.name());
        println!("{} {} {expected}", pick(&model), pick(&warm));
    }
}
