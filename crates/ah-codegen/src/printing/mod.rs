//! From a lowered model to what the templates of every target print.
//!
//! [`view`] has the values that templates see. What depends on the language comes from a
//! [`language::Language`], whose expressions are printed by [`expression`].

pub mod code;
pub mod evidence;
pub mod expression;
pub mod language;
pub mod names;
mod paths;
pub mod text;
pub mod view;
