//! What a path of the tree has decided: ranges of numbers, sets of categories, and the truth of conditions.
//!
//! Facts leave out what code need not test: a split that the path has already decided, a check for NaN where the operands exclude
//! it. They hold for every value, infinities and numbers beyond 2^53 included; where a fact is not sure, there is none.

mod categories;
mod known;
mod learn;
mod range;
#[cfg(test)]
mod tests;
mod values;

pub use categories::{is_truth, membership};
pub use known::Facts;
pub use range::{Range, WHOLE, opposite};
