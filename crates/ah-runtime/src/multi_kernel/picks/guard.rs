//! Guards: the conditions under which a remembered pick holds.

use std::cmp::Ordering;
use std::sync::Arc;

use ah_model::Scalar;
use serde::{Deserialize, Serialize};

/// A condition on one feature's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", expecting = "expected exactly one kind of guard")]
pub enum Guard {
    /// This category.
    Is(Arc<str>),
    /// This number.
    Equals(f64),
    /// A number in this bucket.
    #[serde(untagged)]
    Within(Bucket),
}

/// A bucket of numbers: `above < x <= up_to`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The lower bound, exclusive.
    pub above: f64,
    /// The upper bound, inclusive.
    #[serde(with = "ah_model::null_is_infinite")]
    pub up_to: f64,
}

impl Guard {
    /// Whether the value satisfies the guard.
    #[inline]
    pub fn holds(&self, value: Scalar<'_>) -> bool {
        match (self, value) {
            (Self::Within(bucket), Scalar::Number(x)) => bucket.above < x && x <= bucket.up_to,
            (Self::Equals(y), Scalar::Number(x)) => x == *y,
            (Self::Is(name), value) => value.category() == Some(&**name),
            _ => false,
        }
    }

    /// A value that satisfies the guard.
    pub(super) fn value(&self) -> Scalar<'_> {
        match self {
            Self::Is(name) => Scalar::Category(name),
            Self::Equals(x) => Scalar::Number(*x),
            Self::Within(bucket) => Scalar::Number(bucket.up_to),
        }
    }

    /// Orders guards of one feature by their values.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self.value(), other.value()) {
            (Scalar::Number(x), Scalar::Number(y)) => x.total_cmp(&y),
            (x, y) => x.category().cmp(&y.category()),
        }
    }

    /// The guard with this feature's name, for example `512 < m <= 1024`.
    pub fn of(&self, feature: &str) -> String {
        match self {
            Self::Is(name) => format!("{feature} == {name:?}"),
            Self::Equals(x) => format!("{feature} == {x}"),
            Self::Within(Bucket { above, up_to }) => format!("{above} < {feature} <= {up_to}"),
        }
    }
}
