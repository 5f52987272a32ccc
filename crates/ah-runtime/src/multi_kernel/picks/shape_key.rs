//! Shape keys: contexts that share a pick share a key.
//!
//! Of a number its bucket enters the key, so that a stream of new sizes does not measure forever; the bucket's bounds are a
//! guard of the pick. A number of an exact feature enters the key as it is.

use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;

use ah_model::Scalar;
use rustc_hash::{FxBuildHasher, FxHasher};

use super::guard::{Bucket, Guard};

/// A bucket ends at each power of two. All its numbers (above, up_to] have the same exponent once 1 is subtracted from their bits;
/// the exponent lies above this many bits.
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1;

/// The bucket of this number, which must be above 0. The last one ends at infinity.
fn bucket(x: f64) -> Bucket {
    let octave = (x.to_bits() - 1) >> SHIFT;
    Bucket { above: f64::from_bits(octave << SHIFT), up_to: f64::from_bits((octave + 1) << SHIFT) }
}

/// How a slot enters the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    Category,
    /// A number, by its bucket.
    Bucket,
    /// A number, as it is.
    Exact,
}

impl Treatment {
    /// This slot's part of the key; `None` for an undefined value or one of the other kind.
    #[inline]
    fn component(self, value: Scalar<'_>) -> Option<u64> {
        match (self, value) {
            (Self::Category, value) => value.category().map(|text| FxBuildHasher.hash_one(text)),
            (Self::Bucket, Scalar::Number(x)) if x > 0.0 => Some((x.to_bits() - 1) >> SHIFT),
            // Adding 0 makes -0 and 0 one key.
            (_, Scalar::Number(x)) if !x.is_nan() => Some((x + 0.0).to_bits()),
            _ => None,
        }
    }

    /// The guard of a pick for this value.
    pub(super) fn guard(self, value: Scalar<'_>) -> Option<Guard> {
        Some(match (self, value) {
            (Self::Category, value) => Guard::Is(Arc::from(value.category()?)),
            (Self::Bucket, Scalar::Number(x)) if x > 0.0 => Guard::Within(bucket(x)),
            // Sizes are above 0; other numbers have no bucket.
            (_, Scalar::Number(x)) if !x.is_nan() => Guard::Equals(x),
            _ => return None,
        })
    }
}

/// The hash of a context under these treatments, or the first slot whose value is undefined.
/// Different contexts may share a hash; the pick's guards decide.
#[inline]
pub(super) fn shape_key(treatments: &[Treatment], values: &[Scalar<'_>]) -> Result<u64, usize> {
    let mut hasher = FxHasher::default();
    for (slot, treatment) in treatments.iter().enumerate() {
        hasher.write_u64(values.get(slot).and_then(|value| treatment.component(*value)).ok_or(slot)?);
    }
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_end_at_powers_of_two() {
        assert_eq!(bucket(1024.0), Bucket { above: 512.0, up_to: 1024.0 });
        assert_eq!(bucket(1025.0), Bucket { above: 1024.0, up_to: 2048.0 });
        assert_eq!(bucket(1.0), Bucket { above: 0.5, up_to: 1.0 });
        assert_eq!(bucket(f64::MAX).up_to, f64::INFINITY);
    }

    proptest! {
        #[test]
        fn a_value_satisfies_its_own_guard_and_shares_the_key_of_its_bucket(
            x in prop_oneof![any::<f64>(), (1_u32..100_000).prop_map(f64::from)],
            y in prop_oneof![any::<f64>(), (1_u32..100_000).prop_map(f64::from)],
        ) {
            prop_assume!(!x.is_nan() && !y.is_nan());
            // The bucket of the least numbers above 0 shares the hash of 0; their guards differ.
            prop_assume!(!x.is_subnormal() && !y.is_subnormal());
            for treatment in [Treatment::Exact, Treatment::Bucket] {
                let guard = treatment.guard(Scalar::Number(x)).unwrap();
                prop_assert!(guard.holds(Scalar::Number(x)), "{guard:?}");
                prop_assert!(guard.holds(guard.value()), "{guard:?}");
                let key = |v: f64| shape_key(&[treatment], &[Scalar::Number(v)]).unwrap();
                prop_assert_eq!(shape_key(&[treatment], &[guard.value()]), Ok(key(x)));
                prop_assert_eq!(guard.holds(Scalar::Number(y)), key(x) == key(y), "{:?}", guard);
            }
        }

        #[test]
        fn a_category_satisfies_its_own_guard_only(a in ".{0,20}", b in ".{0,20}") {
            let guard = Treatment::Category.guard(Scalar::Category(&a)).unwrap();
            prop_assert!(guard.holds(Scalar::Category(&a)));
            prop_assert_eq!(guard.holds(Scalar::Category(&b)), a == b);
        }
    }

    #[test]
    fn undefined_values_have_no_key() {
        let treatments = [Treatment::Exact, Treatment::Category];
        assert_eq!(shape_key(&treatments, &[Scalar::Number(f64::NAN), "x".into()]), Err(0));
        assert_eq!(shape_key(&treatments, &[1.into()]), Err(1));
        assert_eq!(shape_key(&treatments, &[1.into(), 2.into()]), Err(1));
        assert!(shape_key(&treatments, &[1.into(), true.into()]).is_ok());
    }
}
