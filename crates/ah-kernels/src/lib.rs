//! The shipped kernels, and a [`BenchmarkRunner`] for each optimization on processors and on NVIDIA GPUs.
//!
//! Begin with `cpu/product.rs`: a runner draws shapes, makes the operands, checks results, and times the kernels of
//! [`cpu::kernels`]. [`cuda`] does the same on GPUs. It loads CUDA at run time and links none of it, so one
//! program runs on machines with and without a GPU.

pub mod cpu;
pub mod cuda;
mod features;

use ah_measure::BenchmarkRunner;

/// Serves a collector over standard input and output, see [`ah_measure::serve()`].
pub type ServeFn = Box<dyn FnOnce() -> std::io::Result<()>>;

/// Opens a runner and serves it, or tells the collector why it cannot be opened.
fn open_and_serve<R: BenchmarkRunner, E: ToString>(open: impl FnOnce() -> Result<R, E> + 'static) -> ServeFn {
    Box::new(move || match open() {
        Ok(runner) => ah_measure::serve(runner),
        Err(reason) => ah_measure::refuse(reason),
    })
}

#[cfg(test)]
mod tests {
    use ah_types::Optimization;

    use super::cpu::kernels::MatMul;
    use super::cuda::kernels::Softmax;

    /// A log whose choices are not its optimization's own loses the built-in features.
    #[test]
    fn every_choice_is_its_optimizations_own() {
        let mm = MatMul::CHOICES.iter().map(MatMul::name);
        let pad_mm = ["orig".to_owned(), "pad".to_owned()];
        let softmax = Softmax::ALL.iter().map(Softmax::name);
        for (name, choices) in
            [("mm", mm.collect::<Vec<_>>()), ("pad_mm", pad_mm.to_vec()), ("softmax", softmax.collect())]
        {
            let own = Optimization::built_in(name).unwrap().own_choices;
            for choice in choices {
                let is_own = own.iter().any(|own| match own.strip_suffix('*') {
                    Some(begin) => choice.starts_with(begin),
                    None => choice == *own,
                });
                assert!(is_own, "{name}: {choice} is none of {own:?}");
            }
        }
    }
}
