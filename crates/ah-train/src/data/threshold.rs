//! Numbers that people can read.

/// The shortest decimal `t` with `left <= t < right`, of equally short ones the nearest to the middle. Every target
/// prints the same number, and every training value keeps its side.
pub fn between(left: f64, right: f64) -> f64 {
    let left = left.max(f64::MIN);
    let right = right.min(f64::MAX);
    let middle = f64::midpoint(left, right);
    // 17 digits tell all numbers apart.
    let rounded = (0..17).find_map(|digits| {
        // The neighbours of the middle; where rounding it gives another digit (9.5), the left value's own digits.
        [middle, left].into_iter().find_map(|x| {
            let text = format!("{x:.digits$e}");
            let (mantissa, exponent) = text.split_once('e')?;
            let mantissa: i64 = mantissa.replace('.', "").parse().ok()?;
            let exponent = exponent.parse::<i64>().ok()? - digits as i64;
            let number = |mantissa: i64| format!("{mantissa}e{exponent}").parse::<f64>().ok();
            let near = [mantissa, mantissa - 1, mantissa + 1].into_iter().filter_map(number);
            near.into_iter().find(|t| left <= *t && *t < right)
        })
    });
    // -0 prints otherwise.
    rounded.unwrap_or(if middle < right { middle } else { left }) + 0.0
}

/// The number with this many significant digits: more mean nothing, and would double the size of a model.
pub fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thresholds_are_short() {
        let cases = [
            (8.0, 9.0, 8.0),
            (9.0, 10.0, 9.0),
            (16.0, 32.0, 20.0),
            (95.0, 103.0, 100.0),
            (1023.0, 1025.0, 1024.0),
            (22.999_9, 22.999_998, 22.999_9),
            (0.0, 1.0, 0.5),
            (-1.0, 1.0, 0.0),
            (f64::NEG_INFINITY, f64::INFINITY, 0.0),
        ];
        for (left, right, threshold) in cases {
            assert_eq!(between(left, right), threshold, "{left} to {right}");
        }
    }

    proptest! {
        #[test]
        fn a_threshold_is_between(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(a < b);
            let t = between(a, b);
            prop_assert!(t.is_finite() && (a <= t || a == f64::NEG_INFINITY) && t < b);
        }

        #[test]
        fn neighbours_have_a_threshold_too(a in any::<f64>()) {
            let b = a.next_up();
            prop_assume!(a.is_finite() && b.is_finite() && a < b);
            prop_assert_eq!(between(a, b), a);
        }
    }
}
