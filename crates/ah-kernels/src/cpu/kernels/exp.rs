//! The exponential of arguments that are not positive, a vector at a time, for softmax.
//!
//! x = n·ln 2 + r with |r| ≤ ln 2 / 2. A polynomial gives e^r, the exponent bits give 2^n. The reduction in two
//! parts and the coefficients come from Cephes' `expf` (Moshier, public domain). The result is within 2 units
//! in the last place of e^x: a test compares a million arguments with f64. Below ln of the smallest normal
//! number the result is 0. NaN stays NaN.

use super::micro::multiply_add;
use pulp::Simd;

/// Below this, e^x is not a normal number.
const SMALLEST: f32 = -87.336_54;
/// 1.5 · 2^23. Added to a small number, it leaves the nearest integer in the low bits.
const ROUND: f32 = 12_582_912.0;
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
const COEFFICIENTS: [f32; 6] =
    [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5];

/// Returns e^x for every x ≤ 0 of the vector.
#[inline(always)]
pub(super) fn exp_non_positive<S: Simd>(s: S, x: S::f32s) -> S::f32s {
    let round = s.splat_f32s(ROUND);
    let shifted = multiply_add(s, x, s.splat_f32s(std::f32::consts::LOG2_E), round);
    let n = s.sub_f32s(shifted, round);
    let r = multiply_add(s, n, s.splat_f32s(-LN_2_HIGH), x);
    let r = multiply_add(s, n, s.splat_f32s(-LN_2_LOW), r);

    let mut p = s.splat_f32s(COEFFICIENTS[0]);
    for &coefficient in &COEFFICIENTS[1..] {
        p = multiply_add(s, p, r, s.splat_f32s(coefficient));
    }
    let p = multiply_add(s, p, s.mul_f32s(r, r), s.add_f32s(r, s.splat_f32s(1.0)));

    // The low bits of `shifted` hold n; the exponent field of 2^n is n + 127.
    let bits = s.add_u32s(s.transmute_u32s_f32s(shifted), s.splat_u32s(127));
    let two_to_n = s.transmute_f32s_u32s(s.wrapping_dyn_shl_u32s(bits, s.splat_u32s(23)));
    let vanishes = s.less_than_f32s(x, s.splat_f32s(SMALLEST));
    s.select_f32s(vanishes, s.splat_f32s(0.0), s.mul_f32s(p, two_to_n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernels::InstructionSet;
    use pulp::WithSimd;

    struct Exp<'a>(&'a mut [f32]);

    impl WithSimd for Exp<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, s: S) {
            let (vectors, rest) = S::as_mut_simd_f32s(self.0);
            assert!(rest.is_empty());
            for v in vectors {
                *v = exp_non_positive(s, *v);
            }
        }
    }

    #[test]
    fn within_two_units_of_the_last_place() {
        for set in InstructionSet::ALL.into_iter().filter(|set| set.available().is_ok()) {
            let arguments: Vec<f32> = (0..1_048_576).map(|i| -87.3 * (i as f32 / 1_048_575.0)).collect();
            let mut results = arguments.clone();
            set.run(Exp(&mut results));
            let mut worst = 0.0_f64;
            for (&x, &y) in arguments.iter().zip(&results) {
                let exact = f64::from(x).exp();
                let ulp = f64::from(f32::EPSILON) * 2.0_f64.powf(exact.log2().floor());
                worst = worst.max((f64::from(y) - exact).abs() / ulp);
            }
            assert!(worst <= 2.0, "{}: {worst} ulp", set.name());
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        for set in InstructionSet::ALL.into_iter().filter(|set| set.available().is_ok()) {
            let mut x = [0.0; 16];
            x[..5].copy_from_slice(&[0.0, -88.0, f32::NEG_INFINITY, f32::NAN, f32::MIN]);
            set.run(Exp(&mut x));
            assert_eq!((x[0], x[1], x[2], x[4]), (1.0, 0.0, 0.0, 0.0), "{}", set.name());
            assert!(x[3].is_nan(), "{}", set.name());
        }
    }
}
