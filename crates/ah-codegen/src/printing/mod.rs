//! Turns a lowered model into the values that the templates of every target print.
//!
//! [`view`] has the values that templates see. A [`language::Language`] provides the parts that depend on
//! the language; [`expression`] prints its expressions.

pub mod code;
pub mod evidence;
pub mod expression;
pub(crate) mod keywords;
pub mod language;
pub mod names;
mod paths;
mod shared_parts;
pub mod text;
pub mod view;
