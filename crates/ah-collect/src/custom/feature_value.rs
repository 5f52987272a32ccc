//! The values that a feature's function may return.

use ah_types::{Feature, Value};

/// A value of a feature: a number, a truth value or a category's name.
pub trait FeatureValue: Into<Value> {
    /// Returns the feature of this name for such values.
    fn feature(name: &str) -> Feature;
}

macro_rules! numbers {
    ($integer:literal: $($type:ty)*) => {
        $(impl FeatureValue for $type {
            fn feature(name: &str) -> Feature {
                Feature { integer: $integer, ..Feature::numerical(name) }
            }
        })*
    };
}
numbers!(true: i32 u32 i64 u64 usize);
numbers!(false: f32 f64);

macro_rules! categories {
    ($($type:ty)*) => {
        $(impl FeatureValue for $type {
            fn feature(name: &str) -> Feature {
                Feature::categorical(name)
            }
        })*
    };
}
categories!(bool &'static str String);
