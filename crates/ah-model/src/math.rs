//! The functions whose results differ between processors or standard libraries.
//!
//! Each uses only operations that IEEE 754 rounds in one way (`+ - * /`, comparisons, powers of two), in a
//! fixed order and without fused multiply-add. So the same source gives the same bits in Rust with and
//! without std, Python and C: expressions and generated code decide alike, and the same logs give the same model on every
//! machine. The logarithm and the power of the standard library are those of the platform: glibc's differ even between
//! processors with and without fused multiply-add. The crate `libm` would be the 21st that a program links.

use std::f64::consts::{LN_2, LOG2_E};

/// `a % b` with the sign of `b`, as in Python; NaN for `b = 0`.
pub fn modulo(a: f64, b: f64) -> f64 {
    if b == 0.0 {
        return f64::NAN;
    }
    // Of whole numbers it is a division; of floats a loop over the bits by which the exponents differ.
    let whole_a = a as u32;
    let whole_b = b as u32;
    // -0.0 keeps its sign.
    if f64::from(whole_a).to_bits() == a.to_bits() && f64::from(whole_b) == b {
        return f64::from(whole_a % whole_b);
    }
    let r = a % b;
    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
}

/// The number of trailing zero bits of a whole number: at most 64, and 64 for 0; NaN for other numbers.
pub fn ctz(x: f64) -> f64 {
    if x == 0.0 {
        return 64.0;
    }
    let bits = x.to_bits();
    // The mask leaves 11 bits.
    let exponent = ((bits >> 52) & 0x7ff) as i64;
    // The value is mantissa * 2^(exponent - 1075); a subnormal value is never whole.
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let zeros = i64::from(mantissa.trailing_zeros()) + exponent - 1075;
    if x.is_finite() && zeros >= 0 { zeros.min(64) as f64 } else { f64::NAN }
}

/// log2(m) = s (c0 + c1 s² + c2 s⁴ + …) with s = (m - 1) / (m + 1) and ck = 2 / ((2k + 1) ln 2). For m from
/// √½ to √2 the first omitted term is below 1e-18 of the sum.
pub const LOG2_COEFFICIENTS: [f64; 11] = [
    2.885_390_081_777_926_8,
    0.961_796_693_925_975_6,
    0.577_078_016_355_585_3,
    0.412_198_583_111_132_4,
    0.320_598_897_975_325_2,
    0.262_308_189_252_538_8,
    0.221_953_083_213_686_67,
    0.192_359_338_785_195_12,
    0.169_728_828_399_780_4,
    0.151_862_635_883_048_77,
    0.137_399_527_703_710_8,
];

/// A little below √2: mantissas above it are halved.
pub const LOG2_LARGEST: f64 = 1.414_062_5;

/// The logarithm to base 2, within 2 ulp and exact for powers of two; NaN for NaN and numbers that are not positive.
pub fn log2(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 || x == f64::INFINITY {
        return if x > 0.0 { x } else { f64::NAN };
    }
    // Scales subnormal numbers up first.
    let (x, scale) = if x < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, -54.0) } else { (x, 0.0) };
    let bits = x.to_bits();
    let exponent = (bits >> 52) as f64 - 1023.0 + scale;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    let (m, e) =
        if mantissa > LOG2_LARGEST { (mantissa * 0.5, exponent + 1.0) } else { (mantissa, exponent) };
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let sum = LOG2_COEFFICIENTS.iter().rev().fold(0.0, |sum, c| sum * z + c);
    e + s * sum
}

/// The natural logarithm, within 3 ulp; negative infinity for 0, and NaN for negative numbers.
pub fn ln(x: f64) -> f64 {
    if x == 0.0 { f64::NEG_INFINITY } else { log2(x) * LN_2 }
}

/// E to this power, within 1 ulp.
pub fn exp(x: f64) -> f64 {
    // ln 2 in two parts: the product of the first and a whole number below 2^11 is exact.
    const HIGH: f64 = 0.693_147_180_369_123_8;
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Beyond these limits the result is 0 or infinite.
    let x = x.clamp(-800.0, 800.0);
    let whole = (x * LOG2_E).round();
    scaled_exp(x - whole * HIGH - whole * LOW, whole)
}

/// 2 to this power, within 1 ulp, and exact for whole numbers.
pub fn exp2(x: f64) -> f64 {
    let x = x.clamp(-1100.0, 1100.0);
    let whole = x.round();
    scaled_exp((x - whole) * LN_2, whole)
}

/// 1/k! for k from 0 on. For arguments up to ln √2 the first omitted term of the sum is below 1e-17.
const INVERSE_FACTORIALS: [f64; 14] = {
    let mut inverses = [1.0; 14];
    let mut factorial = 1.0;
    let mut k = 1;
    while k < inverses.len() {
        factorial *= k as f64;
        inverses[k] = 1.0 / factorial;
        k += 1;
    }
    inverses
};

/// E^x · 2^whole for small x.
fn scaled_exp(x: f64, whole: f64) -> f64 {
    let power_of_two = |exponent: f64| f64::from_bits(((exponent + 1023.0) as u64) << 52);
    let sum = INVERSE_FACTORIALS.iter().rev().fold(0.0, |sum, c| sum * x + c);
    // In two steps, as the power alone can be too large or too small for a number.
    let half = (whole / 2.0).trunc();
    sum * power_of_two(half) * power_of_two(whole - half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it compares with the standard library's, to which Miri adds errors at random")]
    fn ln_and_exp_are_close_to_the_standard_library_s() {
        let is_close =
            |ours: f64, theirs: f64, ulps: f64| (ours - theirs).abs() <= theirs.abs() * ulps * 1.12e-16;
        for i in -70_000..=70_000 {
            let x = f64::from(i) * 0.01;
            assert!(is_close(exp(x), x.exp(), 2.5), "exp({x}) = {}, {}", exp(x), x.exp());
            assert!(is_close(exp2(x), x.exp2(), 2.5), "exp2({x}) = {}, {}", exp2(x), x.exp2());
            let near_1 = 1.0 + f64::from(i) * 1e-6;
            assert!(is_close(ln(near_1), near_1.ln(), 6.0), "ln({near_1}) = {}, {}", ln(near_1), near_1.ln());
            let large = exp(x);
            assert!(is_close(ln(large), large.ln(), 6.0), "ln({large}) = {}, {}", ln(large), large.ln());
        }
        assert!((-1022..1024).all(|e| exp2(f64::from(e)) == 2.0_f64.powi(e)), "exact for whole numbers");
        assert_eq!([exp(0.0), exp(f64::NEG_INFINITY), exp2(-2000.0)], [1.0, 0.0, 0.0]);
        assert_eq!([exp(f64::INFINITY), exp2(2000.0), ln(f64::INFINITY)], [f64::INFINITY; 3]);
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert!([exp(f64::NAN), exp2(f64::NAN), ln(f64::NAN), ln(-1.0)].into_iter().all(f64::is_nan));
    }

    #[test]
    #[cfg_attr(miri, ignore = "it compares with the standard library's, to which Miri adds errors at random")]
    fn log2_is_exact_for_powers_of_two_and_close_elsewhere() {
        for e in -1074..1024 {
            let x = if e < -1022 { f64::from_bits(1 << (e + 1074)) } else { 2.0_f64.powi(e) };
            assert_eq!(log2(x), f64::from(e), "2^{e}");
        }
        let mut x = 1e-300;
        while x < 1e300 {
            let ours = log2(x);
            let theirs = x.log2();
            assert!((ours - theirs).abs() <= theirs.abs() * 4.5e-16, "log2({x}) = {ours}, {theirs}");
            x *= 1.000_731;
        }
        assert!([0.0, -1.0, f64::NAN].into_iter().all(|x| log2(x).is_nan()));
        assert_eq!(log2(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn modulo_agrees_with_floats_around_the_whole_numbers_of_32_bits() {
        let last = f64::from(u32::MAX);
        let numbers = [0.0, -0.0, 1.0, 2.0, 3.0, 0.5, 7.0, 24.0, -7.0, 1e300, last - 1.0, last, last + 1.0];
        for a in numbers.into_iter().chain([f64::INFINITY, f64::NAN]) {
            for b in numbers {
                let r = a % b;
                let r = if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r };
                let expected = if b == 0.0 { f64::NAN } else { r };
                let found = modulo(a, b);
                let is_same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                assert!(is_same, "{a} % {b}: {found}");
            }
        }
    }

    #[test]
    fn ctz_agrees_with_repeated_halving() {
        let halving = |mut x: f64| {
            if x.fract() != 0.0 {
                return None;
            }
            let mut zeros = 0.0;
            while zeros < 64.0 && x % 2.0 == 0.0 {
                x /= 2.0;
                zeros += 1.0;
            }
            Some(zeros)
        };
        for i in -5000..5000 {
            for x in [f64::from(i), f64::from(i) / 8.0, f64::from(i) * 1e12, f64::from(i) * 1e-310] {
                assert_eq!(Some(ctz(x)).filter(|zeros| !zeros.is_nan()), halving(x), "{x}");
            }
        }
        assert_eq!(ctz(2.0_f64.powi(900)), 64.0);
        assert!(ctz(f64::INFINITY).is_nan() && ctz(f64::NAN).is_nan());
    }
}
