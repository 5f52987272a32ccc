//! The contents of a buffer before a kernel runs.

use serde::Deserialize;

/// The contents of a buffer before a kernel runs, as a file has them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "fill: expected \"normal\", \"index\", \"nothing\", a number or { from = 0, to = 9 }"
)]
pub enum Fill {
    /// By name.
    Named(NamedFill),
    /// One number in all elements.
    Constant(f64),
    /// Uniform between two numbers; whole numbers for integers.
    Uniform {
        /// The least one.
        from: f64,
        /// The greatest one.
        to: f64,
    },
}

/// Contents that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NamedFill {
    /// All bytes are 255, which is NaN for floats, so that unwritten elements are found.
    Nothing,
    /// 0, 1, 2, …
    Index,
    /// From a normal distribution around 0 with a deviation of 1.
    Normal,
}

impl Fill {
    /// The number in `buffers.cu` and the two operands; `None` for [`NamedFill::Nothing`].
    pub(super) fn operands(self) -> Option<(i32, f64, f64)> {
        match self {
            Self::Named(NamedFill::Nothing) => None,
            Self::Constant(x) => Some((0, x, 0.0)),
            Self::Named(NamedFill::Index) => Some((1, 0.0, 0.0)),
            Self::Uniform { from, to } => Some((2, from, to)),
            Self::Named(NamedFill::Normal) => Some((3, 0.0, 0.0)),
        }
    }
}
