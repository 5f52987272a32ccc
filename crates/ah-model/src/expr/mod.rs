//! The expression language of derived features, preconditions and row filters.
//!
//! [`parse`] returns a [tree](Expr) over names; [`Expr::resolve`] turns it into one over the slots of a schema, whose types
//! are checked. It is evaluated here, also where a program runs a model file, and printed as Rust, Python and C by `ah-codegen`.
//!
//! ```text
//! if k > 1024 * m and mat1_dtype == "torch.bfloat16" then 1 else 0
//! ```
//!
//! | level | operators, loosest first |
//! | --- | --- |
//! | choice | `if c then a else b` |
//! | logic | `or`, `and`, `not` |
//! | comparison | `== != < <= > >=` (they do not chain) |
//! | sums | `+ -` |
//! | products | `* / %` |
//! | sign | `-` |
//! | atoms | numbers, `"text"`, `true`, `false`, `feature`, `` `any feature name` ``, `( … )`, calls |
//!
//! Functions: `min max` (two or more numbers), `abs floor ceil log2 ctz` (one number).
//! `ctz` counts the trailing zero bits of a whole number and is 64 for 0.
//!
//! All numbers are f64. `a % b` has the sign of `b`, as in Python. *Undefined* are division and `%` by
//! zero, `log2` of zero or less, `ctz` of a number that is not whole, NaN, and every result
//! computed from an undefined value. `and`, `or` and `if` compute only what they need, left to right, so `m
//! != 0 and k / m > 2` is defined for `m = 0`.

mod eval;
mod parse;
mod print;
mod resolve;
mod shared;
mod tree;

pub use parse::parse;
pub use shared::repeated;
pub(crate) use shared::share;
pub use tree::{Binary, Comparison, Expr, Slot, Type, Unary};
