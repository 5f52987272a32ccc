//! What people read: the tables on standard output, and the graph of `--save-dot`.

pub mod dot;
mod table;

pub use table::{evaluated, trained};
