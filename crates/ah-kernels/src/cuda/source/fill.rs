//! The contents of a buffer before a kernel runs.

/// The contents of a buffer before a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// All bytes are 255, which is NaN for floats, so that unwritten elements are found.
    Nothing,
    /// One number in all elements.
    Constant(f64),
    /// 0, 1, 2, …
    Index,
    /// Uniform between the two numbers; whole numbers for integers.
    Uniform(f64, f64),
    /// From a normal distribution around 0 with a deviation of 1.
    Normal,
}

impl Fill {
    /// Returns the number in `buffers.cu` and the two operands; `None` for [`Fill::Nothing`].
    pub(super) fn operands(self) -> Option<(i32, f64, f64)> {
        match self {
            Self::Nothing => None,
            Self::Constant(x) => Some((0, x, 0.0)),
            Self::Index => Some((1, 0.0, 0.0)),
            Self::Uniform(from, to) => Some((2, from, to)),
            Self::Normal => Some((3, 0.0, 0.0)),
        }
    }
}
