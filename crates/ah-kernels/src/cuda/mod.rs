//! NVIDIA GPUs: kernels that are compiled for the device at hand, cuBLAS and cuBLASLt, and a runner for each
//! optimization.
//!
//! | modules | concern |
//! | --- | --- |
//! | `pad_mm`, `mm`, `mixed_mm`, `softmax` | the runner of one optimization |
//! | `source` | a kernel from a user's file |
//! | `product`, `product_runner` | matrices and products of them, and the runner of the three optimizations that compute one |
//! | `policy`, `operands` | shared by the runners: timing policy, random operands and checks |
//! | `cublas`, `cublaslt` | products through NVIDIA's libraries |
//! | `device`, `clock`, `arena`, `nvml` | one GPU, its clock, its memory, its health |
//! | `nvrtc`, `kernels` | the compiler, and our kernels as text with their configurations |
//! | `library`, `owned`, `element`, `error` | CUDA's libraries and what they make, element types and kernels' arguments, errors |
//!
//! Nothing of CUDA is linked, so the same program runs on machines without it.

mod arena;
mod clock;
mod cublas;
mod cublaslt;
mod device;
mod element;
mod error;
pub(crate) mod kernels;
mod library;
mod mixed_mm;
mod mm;
mod nvml;
mod nvrtc;
mod operands;
mod owned;
mod pad_mm;
mod product;
mod product_runner;
mod softmax;
pub mod source;

use ah_measure::BenchmarkRunner;
use ah_types::Optimization;
use device::Gpu;

use crate::{ServeFn, open_and_serve};

pub use device::count;
pub use error::CudaError;

/// A worker that measures this optimization on the GPU of this index; `None` if there is no such worker. If the GPU
/// or a library is missing, or a kernel does not compile, the worker says so.
pub fn serve_fn(optimization: Optimization, index: u32) -> Option<ServeFn> {
    fn over<R: BenchmarkRunner + 'static>(
        new: fn(Optimization, Gpu) -> Result<R, CudaError>,
        optimization: Optimization,
        index: u32,
    ) -> ServeFn {
        open_and_serve(move || Gpu::open(index).and_then(|gpu| new(optimization, gpu)))
    }
    Some(match optimization.name.as_str() {
        "pad_mm" => over(pad_mm::runner, optimization, index),
        "mm" => over(mm::runner, optimization, index),
        "mixed_mm" => over(mixed_mm::runner, optimization, index),
        "softmax" => over(softmax::SoftmaxRunner::new, optimization, index),
        _ => return None,
    })
}

/// The products of `mm`, `mixed_mm` and `pad_mm` on a GPU, element by element: the tests copy operands and
/// result to the host and compute the product there in f64. The runners compare only some elements, on the
/// device. If the machine with the GPU has no Rust, copy the binary of this crate's unit tests there and run
/// it with `cuda::tests --nocapture`.
#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use ah_measure::sampling::{self, Rng};
    use ah_measure::{BenchmarkRunner, Failure};
    use ah_model::{ChoiceId, Context};
    use ah_types::Optimization;
    use half::{bf16, f16};
    use ndarray::Array2;

    use super::arena::Buffer;
    use super::device::{self, Gpu};
    use super::element::Element;
    use super::error::CudaError;
    use super::operands::GUARD;
    use super::product::{Matrix, Product};
    use super::product_runner::{Operation, ProductRunner};
    use super::{mixed_mm, mm, pad_mm};
    use crate::features;

    /// The operands and the result of one choice.
    struct HostProduct {
        a: Array2<f64>,
        b: Array2<f64>,
        c: Array2<f64>,
        /// Whether the choice left the memory behind its result unchanged.
        guard_is_intact: bool,
    }

    /// Opens a runner; `None` on a machine without a GPU, after a line that says so.
    fn open<R>(name: &str, new: fn(Optimization, Gpu) -> Result<R, CudaError>) -> Option<R> {
        let reason = match device::count() {
            Ok(_) => return Some(new(Optimization::built_in(name).unwrap(), Gpu::open(0).unwrap()).unwrap()),
            Err(error) => error.to_string(),
        };
        report(&format!("skipped: {reason}; so the products of {name} are not compared"));
        None
    }

    /// The test harness hides the output of a passing test, but not direct writes to standard error.
    fn report(line: &str) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }

    /// Computes the product of random operands with one choice. The same state of `rng` gives the same operands.
    fn compute<O: Operation>(
        runner: &mut ProductRunner<O>,
        context: &Context,
        choice: ChoiceId,
        rng: &mut Rng,
    ) -> Result<HostProduct, Failure> {
        let mut input = runner.load(context, rng)?;
        let method = runner.operation.method(&runner.gpu, &input, choice.index())?;
        let c = runner.operation.result(&input, &method);
        runner.gpu.fill(c.buffer, 0xff)?;
        runner.check(&mut input, choice)?;
        let gpu = &runner.gpu;
        let values = |matrix: Matrix| {
            let memory = read_bytes(gpu, matrix.buffer)?;
            let at = |(i, j)| value(matrix.element, &memory, i * matrix.strides.0 + j * matrix.strides.1);
            Ok::<_, Failure>(Array2::from_shape_fn((matrix.rows, matrix.columns), at))
        };
        let guard = read_bytes(gpu, c.buffer)?.split_off(c.buffer.bytes - GUARD);
        let guard_is_intact = guard.iter().all(|byte| *byte == 0xff);
        let Product { a, b, .. } = input.product;
        Ok(HostProduct { a: values(a)?, b: values(b)?, c: values(c)?, guard_is_intact })
    }

    /// Copies a buffer to the host. Its memory ends at a whole word.
    fn read_bytes(gpu: &Gpu, buffer: Buffer) -> Result<Vec<u8>, CudaError> {
        let words = buffer.bytes.div_ceil(4);
        let words = gpu.read(Buffer { bytes: 4 * words, ..buffer }, words)?;
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.truncate(buffer.bytes);
        Ok(bytes)
    }

    /// Element `index` of an array in memory.
    fn value(element: Element, memory: &[u8], index: usize) -> f64 {
        match (element, &memory[index * element.bytes()..][..element.bytes()]) {
            (Element::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (Element::F16, &[a, b]) => f16::from_le_bytes([a, b]).into(),
            (Element::Bf16, &[a, b]) => bf16::from_le_bytes([a, b]).into(),
            (Element::I8, &[a]) => f64::from(i8::from_le_bytes([a])),
            (Element::U8, &[a]) => f64::from(a),
            (_, bytes) => unreachable!("{element:?} has {} bytes", bytes.len()),
        }
    }

    /// The product of the operands in f64 and, for each element, the norm of its terms.
    fn reference(HostProduct { a, b, .. }: &HostProduct) -> (Array2<f64>, Array2<f64>) {
        let squares = |matrix: &Array2<f64>| matrix.mapv(|x| x * x);
        (a.dot(b), squares(a).dot(&squares(b)).mapv(f64::sqrt))
    }

    /// The first element whose error exceeds one rounding of the result plus `relative` times the norm of
    /// its terms, which covers the roundings of the sum.
    fn wrong(
        found: &Array2<f64>,
        (sums, norms): &(Array2<f64>, Array2<f64>),
        rounding: f64,
        relative: f64,
    ) -> Option<String> {
        found.iter().zip(sums).zip(norms).enumerate().find_map(|(i, ((found, sum), norm))| {
            let limit = 1.01 * rounding * sum.abs() + relative * norm;
            // Written so that NaN is wrong.
            let right = (found - sum).abs() <= limit;
            (!right).then(|| format!("element {i} is {found}, expected {sum} ± {limit:.2e}"))
        })
    }

    /// Compares every choice on one context; returns the number of choices that ran.
    fn compare<O: Operation>(runner: &mut ProductRunner<O>, context: &Context, product: &Product) -> usize {
        let sizes = product.sizes();
        let element = product.a.element;
        let choices = runner.experiment().choices.clone();
        let mut expected = None;
        let mut ran = 0;
        for (id, choice) in (0..).map(ChoiceId).zip(&choices) {
            let mut rng = sampling::Seed(7, sizes.iter().sum()).rng();
            let found = match compute(runner, context, id, &mut rng) {
                Ok(found) => found,
                Err(Failure::Skipped(_)) => continue,
                Err(failure) => panic!("{choice} on {context}: {failure}"),
            };
            let expected = expected.get_or_insert_with(|| reference(&found));
            // Six deviations of the roundings of a sum in float32. If cuBLAS splits k, it rounds partial sums
            // to the type of the result; TF32 rounds each operand to 11 bits.
            let sum = 6.0 * Element::F32.epsilon() * (sizes[1] as f64).sqrt();
            let operands = if product.tf32 { 6.0 * 2_f64.powi(-10) } else { 0.0 };
            let ours = choice.starts_with("type=cuda");
            let partial = if ours { 0.0 } else { 16.0 * element.epsilon() };
            let wrong = wrong(&found.c, expected, element.epsilon(), sum + operands + partial);
            assert_eq!(wrong, None, "{choice} on {context}");
            assert!(found.guard_is_intact, "{choice} wrote behind its result on {context}");
            ran += 1;
        }
        ran
    }

    const LAYOUTS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];
    /// Types, and whether float32 is rounded to TF32.
    const FLOATS: [(Element, bool); 4] =
        [(Element::F16, false), (Element::Bf16, false), (Element::F32, false), (Element::F32, true)];

    #[test]
    fn mm_computes_every_element() {
        let Some(mut runner) = open("mm", mm::runner) else { return };
        let mut ran = 0;
        for sizes in
            [[1, 64, 128], [16, 128, 64], [72, 264, 136], [264, 520, 392], [65, 1023, 257], [64, 8192, 64]]
        {
            for transposed in LAYOUTS {
                for (element, tf32) in FLOATS {
                    let product = Product::dense(sizes, transposed, [element; 2], tf32);
                    let context = product.with_tf32(features::with_contiguity(product.context()));
                    ran += compare(&mut runner, &context, &product);
                }
            }
        }
        report(&format!("mm: {ran} products compared"));
        assert!(ran > 200, "only {ran} products ran");
    }

    #[test]
    fn mixed_mm_computes_every_element() {
        let Some(mut runner) = open("mixed_mm", mixed_mm::runner) else { return };
        let mut ran = 0;
        for (m, k, n) in [
            (1, 1024, 256),
            (2, 1040, 272),
            (7, 2048, 128),
            (8, 1024, 1040),
            (9, 1024, 256),
            (17, 1040, 256),
            (32, 2048, 256),
            (33, 1024, 272),
            (64, 1024, 256),
            (128, 4096, 256),
        ] {
            for types in [[Element::F16, Element::I8], [Element::Bf16, Element::U8]] {
                let product = Product::dense([m, k, n], [false, true], types, false);
                let context = features::with_contiguity(product.context());
                ran += compare(&mut runner, &context, &product);
            }
        }
        report(&format!("mixed_mm: {ran} products compared"));
        assert!(ran > 150, "only {ran} products ran");
    }

    #[test]
    fn pad_mm_computes_every_element() {
        let Some(mut runner) = open("pad_mm", pad_mm::runner) else { return };
        let mut ran = 0;
        for sizes in [[1, 63, 127], [17, 129, 65], [255, 257, 511], [64, 1001, 3]] {
            for transposed in LAYOUTS {
                for (element, tf32) in FLOATS {
                    for prepadded in [[false, false], [true, true]] {
                        let product = Product::dense(sizes, transposed, [element; 2], tf32);
                        let padding = pad_mm::padding(element);
                        let context =
                            product.with_tf32(padding.describe(product.context(), sizes, prepadded));
                        ran += compare(&mut runner, &context, &product);
                    }
                }
            }
        }
        report(&format!("pad_mm: {ran} products compared"));
        assert_eq!(ran, 4 * 4 * 4 * 2 * 2);
    }

    #[test]
    fn a_missing_term_is_seen() {
        let mut rng = sampling::Seed(1, 1).rng();
        let mut values =
            |size| Array2::from_shape_simple_fn(size, || sampling::log_uniform(&mut rng, 1, 9) as f64 - 5.0);
        let a = values((9, 128));
        let b = values((128, 11));
        let expected = reference(&HostProduct { c: Array2::zeros((9, 11)), a, b, guard_is_intact: true });
        let relative = 6.0 * Element::F32.epsilon() * 11.4;
        let wrong = |found: &Array2<f64>| wrong(found, &expected, Element::F16.epsilon(), relative);
        assert_eq!(wrong(&expected.0), None);
        for at in [(0, 0), (4, 5), (8, 10)] {
            let mut c = expected.0.clone();
            c[at] += 4.0;
            assert!(wrong(&c).is_some(), "{at:?}");
            c[at] = f64::NAN;
            assert!(wrong(&c).is_some(), "{at:?}");
        }
    }

    #[test]
    fn values_are_read_as_their_type() {
        assert_eq!(value(Element::F16, &[0, 0, 0x55, 0x35], 1), 0.333_251_953_125);
        assert_eq!(value(Element::Bf16, &[0, 0, 0x80, 0xbf], 1), -1.0);
        assert_eq!(value(Element::F32, &1.5_f32.to_le_bytes(), 0), 1.5);
        assert_eq!((value(Element::I8, &[0xff], 0), value(Element::U8, &[0xff], 0)), (-1.0, 255.0));
    }
}
