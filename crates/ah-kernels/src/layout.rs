//! How a matrix lies in memory, as features say it.

use ah_types::Context;

use ah_measure::sampling::{self, Rng};

/// The order of a dense matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row by row.
    RowMajor,
    /// Column by column: the transposed view of a row-major matrix.
    ColumnMajor,
}

impl Layout {
    /// Either, with the same probability.
    pub fn draw(rng: &mut Rng) -> Self {
        if sampling::flag(rng, 0.5) { Self::RowMajor } else { Self::ColumnMajor }
    }

    /// The strides of a dense `rows × cols` matrix, in elements.
    #[must_use]
    pub fn strides<T: From<u8>>(self, rows: T, cols: T) -> (T, T) {
        match self {
            Self::RowMajor => (cols, T::from(1)),
            Self::ColumnMajor => (T::from(1), rows),
        }
    }
}

/// Sizes, layouts and what else tells one matrix product from another, in a few characters:
/// `1023×511×769 NT float16`.
#[must_use]
pub fn label(context: &Context) -> String {
    let number = |name: &str| context.number(name).unwrap_or_default();
    let mut label = format!("{}×{}×{} ", number("m"), number("k"), number("n"));
    for mat in ["mat1", "mat2"] {
        let transposed =
            number(&format!("{mat}_stride_0")) == 1.0 && number(&format!("{mat}_stride_1")) != 1.0;
        label.push(if transposed { 'T' } else { 'N' });
    }
    let dtype = |name| context.category(name).unwrap_or_default().trim_start_matches("torch.");
    let (first, second) = (dtype("mat1_dtype"), dtype("mat2_dtype"));
    label.push_str(&format!(" {first}"));
    if second != first {
        label.push_str(&format!(" {second}"));
    }
    if context.category("using_tf32") == Some("True") {
        label.push_str(" tf32");
    }
    for (name, mark) in [("prepadded_mat1", " A padded"), ("prepadded_mat2", " B padded")] {
        if context.category(name) == Some("True") {
            label.push_str(mark);
        }
    }
    label
}
