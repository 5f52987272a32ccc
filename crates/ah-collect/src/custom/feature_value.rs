//! The values that a feature's function may return.

use ah_model::{Feature, Value};

/// A value of a feature: a number, a truth value or a category's name.
pub trait FeatureValue: Into<Value> {
    /// The feature of this name for such values.
    fn feature(name: &str) -> Feature;
}

macro_rules! values {
    ($($type:ty)* => $feature:expr) => {
        $(impl FeatureValue for $type {
            fn feature(name: &str) -> Feature {
                $feature(name)
            }
        })*
    };
}
values!(i32 u32 i64 u64 usize => |name| Feature { integer: true, ..Feature::numerical(name) });
values!(f32 f64 => Feature::numerical);
values!(bool &'static str String => Feature::categorical);
