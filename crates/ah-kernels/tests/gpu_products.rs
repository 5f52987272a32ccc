//! The products of `mm`, `mixed_mm` and `pad_mm` on a GPU, element by element: the test copies operands and
//! result to the host and computes the product there in f64. If the machine with the GPU has no Rust, copy
//! this test's binary there and run it with `--nocapture`.

use ah_kernels::cuda::{self, HostProduct, Products};
use ah_measure::{Failure, sampling};
use ah_types::{ChoiceId, Context, Optimization};

/// Returns the products of an optimization; `None` on a machine without a GPU, after a line that says so.
fn products(name: &str) -> Option<Products> {
    match cuda::count() {
        Ok(n) if n > 0 => {}
        Ok(_) => {
            eprintln!("skipped: there is no GPU here, so the products of {name} are not compared");
            return None;
        }
        Err(e) => {
            eprintln!("skipped: {e}; so the products of {name} are not compared");
            return None;
        }
    }
    cuda::open_products(Optimization::built_in(name).unwrap(), 0).unwrap()
}

/// Returns the relative error of one rounding to this type.
fn epsilon(dtype: &str) -> f64 {
    match dtype {
        "float16" => 2_f64.powi(-11),
        "bfloat16" => 2_f64.powi(-8),
        _ => 2_f64.powi(-24),
    }
}

/// The product of the operands in f64 and, for each element, the norm of its terms.
fn reference(product: &HostProduct, [m, k, n]: [usize; 3]) -> (Vec<f64>, Vec<f64>) {
    let (mut sums, mut squares) = (vec![0.0; m * n], vec![0.0; m * n]);
    for i in 0..m {
        for p in 0..k {
            let x = product.a[i * k + p];
            for j in 0..n {
                let term = x * product.b[p * n + j];
                sums[i * n + j] += term;
                squares[i * n + j] += term * term;
            }
        }
    }
    (sums, squares.into_iter().map(f64::sqrt).collect())
}

/// Returns the first element whose error exceeds one rounding of the result plus `relative` times the norm of its
/// terms, which covers the roundings of the sum.
fn wrong(
    found: &[f64],
    (sums, norms): &(Vec<f64>, Vec<f64>),
    rounding: f64,
    relative: f64,
) -> Option<String> {
    (0..sums.len()).find_map(|i| {
        let (error, limit) =
            ((found[i] - sums[i]).abs(), 1.01 * rounding * sums[i].abs() + relative * norms[i]);
        // Written so that NaN is wrong.
        let right = error <= limit;
        (!right).then(|| format!("element {i} is {}, expected {} ± {limit:.2e}", found[i], sums[i]))
    })
}

/// Compares every choice on one context; returns the number of choices that ran.
fn compare(products: &mut Products, context: &Context, sizes: [usize; 3], dtype: &str, tf32: bool) -> usize {
    let choices = products.subject().choices.clone();
    let mut expected = None;
    let mut ran = 0;
    for (index, choice) in choices.iter().enumerate() {
        let mut rng = sampling::rng(7, sizes.iter().sum::<usize>() as u64);
        let id = ChoiceId(u32::try_from(index).unwrap());
        let product = match products.compute(context, id, &mut rng) {
            Ok(product) => product,
            Err(Failure::Skipped(_)) => continue,
            Err(failure) => panic!("{choice} on {context}: {failure}"),
        };
        let expected = expected.get_or_insert_with(|| reference(&product, sizes));
        // Six deviations of the roundings of a sum in float32. If cuBLAS splits k, it rounds partial sums
        // to the type of the result; TF32 rounds each operand to 11 bits.
        #[allow(clippy::cast_precision_loss)]
        let sum = 6.0 * 2_f64.powi(-24) * (sizes[1] as f64).sqrt();
        let operands = if tf32 { 6.0 * 2_f64.powi(-10) } else { 0.0 };
        let ours = choice.starts_with("type=cuda");
        let partial = if ours { 0.0 } else { 16.0 * epsilon(dtype) };
        let wrong = wrong(&product.c, expected, epsilon(dtype), sum + operands + partial);
        assert_eq!(wrong, None, "{choice} on {context}");
        assert!(product.guard_is_intact, "{choice} wrote behind its result on {context}");
        ran += 1;
    }
    ran
}

fn strides(transposed: bool, rows: usize, columns: usize) -> (usize, usize) {
    if transposed { (1, rows) } else { (columns, 1) }
}

fn context([m, k, n]: [usize; 3], transposed: [bool; 2], dtypes: [&str; 2], tf32: &str) -> Context {
    let (a, b) = (strides(transposed[0], m, k), strides(transposed[1], k, n));
    Context::new()
        .with("m", m)
        .with("k", k)
        .with("n", n)
        .with("mat1_stride_0", a.0)
        .with("mat1_stride_1", a.1)
        .with("mat2_stride_0", b.0)
        .with("mat2_stride_1", b.1)
        .with("mat1_dtype", format!("torch.{}", dtypes[0]))
        .with("mat2_dtype", format!("torch.{}", dtypes[1]))
        .with("mat1_iscontig", a == (k, 1))
        .with("mat2_iscontig", b == (n, 1))
        .with("using_tf32", tf32)
}

const LAYOUTS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];
const FLOATS: [(&str, &str); 4] =
    [("float16", "not_float_32"), ("bfloat16", "not_float_32"), ("float32", "False"), ("float32", "True")];

#[test]
fn mm_computes_every_element() {
    let Some(mut products) = products("mm") else { return };
    let mut ran = 0;
    for sizes in
        [[1, 64, 128], [16, 128, 64], [72, 264, 136], [264, 520, 392], [65, 1023, 257], [64, 8192, 64]]
    {
        for transposed in LAYOUTS {
            for (dtype, tf32) in FLOATS {
                let context = context(sizes, transposed, [dtype, dtype], tf32);
                ran += compare(&mut products, &context, sizes, dtype, tf32 == "True");
            }
        }
    }
    eprintln!("mm: {ran} products compared");
    assert!(ran > 500, "only {ran} products ran");
}

#[test]
fn mixed_mm_computes_every_element() {
    let Some(mut products) = products("mixed_mm") else { return };
    let mut ran = 0;
    for sizes in [
        [1, 1024, 256],
        [2, 1040, 272],
        [7, 2048, 128],
        [8, 1024, 1040],
        [9, 1024, 256],
        [17, 1040, 256],
        [32, 2048, 256],
        [33, 1024, 272],
        [64, 1024, 256],
        [128, 4096, 256],
    ] {
        for transposed in [false, true] {
            for dtypes in [["float16", "int8"], ["bfloat16", "uint8"]] {
                let context = context(sizes, [false, transposed], dtypes, "not_float_32");
                ran += compare(&mut products, &context, sizes, dtypes[0], false);
            }
        }
    }
    eprintln!("mixed_mm: {ran} products compared");
    assert!(ran > 400, "only {ran} products ran");
}

#[test]
fn pad_mm_computes_every_element() {
    let Some(mut products) = products("pad_mm") else { return };
    let mut ran = 0;
    for sizes in [[1, 63, 127], [17, 129, 65], [255, 257, 511], [64, 1001, 3]] {
        for transposed in LAYOUTS {
            for (dtype, tf32) in FLOATS {
                for prepadded in [[false, false], [true, true]] {
                    let align = if dtype == "float32" { 4 } else { 8 };
                    let length =
                        |size: usize| if size == 1 { 0 } else { size.next_multiple_of(align) - size };
                    let mut context = context(sizes, transposed, [dtype, dtype], tf32);
                    for (name, size) in ["m", "k", "n"].into_iter().zip(sizes) {
                        context.set(&format!("{name}_padded_length"), length(size));
                    }
                    for (mat, prepadded) in ["mat1", "mat2"].into_iter().zip(prepadded) {
                        context.set(&format!("{mat}_align_size"), align);
                        context.set(&format!("prepadded_{mat}"), prepadded);
                    }
                    ran += compare(&mut products, &context, sizes, dtype, tf32 == "True");
                }
            }
        }
    }
    eprintln!("pad_mm: {ran} products compared");
    assert_eq!(ran, 4 * 4 * 4 * 2 * 2);
}

#[test]
fn a_missing_term_is_seen() {
    let [m, k, n] = [9, 128, 11];
    let mut rng = sampling::rng(1, 1);
    let mut values = |count: usize| -> Vec<f64> {
        (0..count)
            .map(|_| f64::from(u32::try_from(sampling::log_uniform(&mut rng, 1, 9)).unwrap()) - 5.0)
            .collect()
    };
    let mut product =
        HostProduct { a: values(m * k), b: values(k * n), c: Vec::new(), guard_is_intact: true };
    let expected = reference(&product, [m, k, n]);
    product.c = expected.0.clone();
    let relative = 6.0 * 2_f64.powi(-24) * 11.4;
    assert_eq!(wrong(&product.c, &expected, epsilon("float16"), relative), None);
    for at in [0, m * n / 2, m * n - 1] {
        let mut c = product.c.clone();
        c[at] += 4.0;
        assert!(wrong(&c, &expected, epsilon("float16"), relative).is_some(), "{at}");
        c[at] = f64::NAN;
        assert!(wrong(&c, &expected, epsilon("float16"), relative).is_some(), "{at}");
    }
}
