//! Shape keys: contexts that share a pick share a key.
//!
//! A number enters the key as it is until a second value of its feature is seen. From then on the feature is
//! *dynamic*: its bucket enters the key, so that a stream of new sizes does not measure forever (TorchDynamo's
//! automatic dynamic shapes, `torch._dynamo.config.automatic_dynamic_shapes`). The bucket's bounds become guards of
//! the pick.

use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;

use ah_model::Scalar;
use rustc_hash::{FxBuildHasher, FxHasher};

use super::guard::{Bucket, Guard};

/// How a numerical feature enters the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub(super) kind: DimensionKind,
    pub(super) halvings: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DimensionKind {
    Automatic,
    Exact,
    Dynamic,
}

impl Default for Dimension {
    fn default() -> Self {
        Self::automatic()
    }
}

impl Dimension {
    /// Returns the number itself, until a second value is seen; from then on its bucket. The default.
    #[must_use]
    pub const fn automatic() -> Self {
        Self { kind: DimensionKind::Automatic, halvings: 0 }
    }

    /// Always the number itself: each value is measured.
    #[must_use]
    pub const fn exact() -> Self {
        Self { kind: DimensionKind::Exact, halvings: 0 }
    }

    /// Returns the bucket, from the first value on.
    #[must_use]
    pub const fn dynamic() -> Self {
        Self { kind: DimensionKind::Dynamic, halvings: 0 }
    }

    /// Halves each bucket this many times (at most 8; default 0). Without it, buckets end at powers of two.
    #[must_use]
    pub const fn halvings(mut self, times: u32) -> Self {
        self.halvings = if times > 8 { 8 } else { times };
        self
    }

    /// Returns the bucket of this number, which must be above 0.
    pub(super) fn bucket(self, x: f64) -> Bucket {
        let shift = self.shift();
        let bits = ((x.to_bits() - 1) >> shift) << shift;
        // The last bucket ends at infinity.
        Bucket { above: f64::from_bits(bits), up_to: f64::from_bits(bits + (1 << shift)) }
    }

    /// Returns the top bits of (bits - 1): all numbers of a bucket (above, up_to] share them.
    #[inline]
    fn component(self, x: f64) -> u64 {
        (x.to_bits() - 1) >> self.shift()
    }

    fn shift(self) -> u32 {
        f64::MANTISSA_DIGITS - 1 - self.halvings
    }
}

/// How a slot enters the key now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    Category,
    Exact,
    Bucket(Dimension),
}

impl Treatment {
    /// Returns this slot's part of the key; `None` for an undefined value or one of the other kind.
    #[inline]
    fn component(self, value: Scalar<'_>) -> Option<u64> {
        match (self, value) {
            (Self::Bucket(dimension), Scalar::Number(x)) if x > 0.0 => Some(dimension.component(x)),
            // Adding 0 makes -0 and 0 one key.
            (Self::Bucket(_) | Self::Exact, Scalar::Number(x)) if !x.is_nan() => Some((x + 0.0).to_bits()),
            (Self::Category, value) => value.category().map(|text| FxBuildHasher.hash_one(text)),
            _ => None,
        }
    }

    /// Returns the guard of a pick for this value.
    pub(super) fn guard(self, value: Scalar<'_>) -> Option<Guard> {
        Some(match (self, value) {
            (Self::Bucket(dimension), Scalar::Number(x)) if x > 0.0 => Guard::Within(dimension.bucket(x)),
            // Sizes are above 0; other numbers have no bucket.
            (Self::Bucket(_) | Self::Exact, Scalar::Number(x)) if !x.is_nan() => Guard::Equals(x),
            (Self::Category, value) => Guard::Is(Arc::from(value.category()?)),
            _ => return None,
        })
    }
}

/// Returns the hash of a context under these treatments, or the first slot whose value is undefined.
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
        let bounds = |dimension: Dimension, x: f64| {
            let bucket = dimension.bucket(x);
            (bucket.above, bucket.up_to)
        };
        let plain = Dimension::automatic();
        assert_eq!(bounds(plain, 1024.0), (512.0, 1024.0));
        assert_eq!(bounds(plain, 1025.0), (1024.0, 2048.0));
        assert_eq!(bounds(plain, 1.0), (0.5, 1.0));
        assert_eq!(bounds(plain.halvings(1), 1025.0), (1024.0, 1536.0));
        assert_eq!(bounds(plain.halvings(2), 1024.0), (896.0, 1024.0));
        assert_eq!(bounds(plain, f64::MAX).1, f64::INFINITY);
    }

    proptest! {
        #[test]
        fn a_value_satisfies_its_own_guard_and_shares_the_key_of_its_bucket(
            x in prop_oneof![any::<f64>(), (1_u32..100_000).prop_map(f64::from)],
            y in prop_oneof![any::<f64>(), (1_u32..100_000).prop_map(f64::from)],
            halvings in 0_u32..9,
        ) {
            prop_assume!(!x.is_nan() && !y.is_nan());
            let dimension = Dimension::dynamic().halvings(halvings);
            for treatment in [Treatment::Exact, Treatment::Bucket(dimension)] {
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
