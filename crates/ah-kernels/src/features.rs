//! The features of matrix products: sizes, layouts, types and padding, written into contexts and read back.

use ah_model::Context;

/// The strides of a dense `rows × columns` matrix in elements; a transposed one is the transposed view of a row-major
/// matrix.
pub fn dense<T: From<u8>>(transposed: bool, shape: (T, T)) -> (T, T) {
    let (rows, columns) = shape;
    if transposed { (T::from(1), rows) } else { (columns, T::from(1)) }
}

/// Strides and element type of an operand.
pub type OperandFeatures<'a> = ((u64, u64), &'a str);

/// Describes the product of an m×k and a k×n matrix.
pub fn product([m, k, n]: [u64; 3], (a, a_dtype): OperandFeatures, (b, b_dtype): OperandFeatures) -> Context {
    Context::new()
        .with("m", m)
        .with("k", k)
        .with("n", n)
        .with("mat1_stride_0", a.0)
        .with("mat1_stride_1", a.1)
        .with("mat2_stride_0", b.0)
        .with("mat2_stride_1", b.1)
        .with("mat1_dtype", a_dtype)
        .with("mat2_dtype", b_dtype)
}

/// Adds whether the operands of `product` are contiguous, as `mm` and `mixed_mm` have it.
pub fn with_contiguity(context: Context) -> Context {
    let contiguous = |mat: &str, columns: &str| {
        context.number(&format!("{mat}_stride_0")) == context.number(columns)
            && context.number(&format!("{mat}_stride_1")) == Some(1.0)
    };
    let a = contiguous("mat1", "k");
    let b = contiguous("mat2", "n");
    context.with("mat1_iscontig", a).with("mat2_iscontig", b)
}

/// The padding of a product: PyTorch's `get_padded_length` for one alignment.
#[derive(Clone, Copy, Debug)]
pub struct Padding {
    /// The multiple to which sizes are padded, in elements.
    pub alignment: u64,
    /// Whether a size of 1 stays as it is.
    pub keeps_one: bool,
}

impl Padding {
    /// The number of elements that padding adds to a size.
    pub fn length(self, size: u64) -> u64 {
        if self.keeps_one && size == 1 { 0 } else { size.next_multiple_of(self.alignment) - size }
    }

    /// Adds the features of padding to the context of a product.
    pub fn describe(self, context: Context, [m, k, n]: [u64; 3], prepadded: [bool; 2]) -> Context {
        context
            .with("m_padded_length", self.length(m))
            .with("k_padded_length", self.length(k))
            .with("n_padded_length", self.length(n))
            .with("mat1_align_size", self.alignment)
            .with("mat2_align_size", self.alignment)
            .with("prepadded_mat1", prepadded[0])
            .with("prepadded_mat2", prepadded[1])
    }

    /// Checks the padded lengths of a context.
    pub fn check(self, context: &Context, sizes: [u64; 3]) -> Result<(), String> {
        for (dimension, size) in ["m", "k", "n"].into_iter().zip(sizes) {
            let name = format!("{dimension}_padded_length");
            let expected = self.length(size) as f64;
            if context.number(&name) != Some(expected) {
                let why = format!("{dimension} is padded to a multiple of {}", self.alignment);
                return Err(format!("{name} must be {expected}: {why}"));
            }
        }
        Ok(())
    }
}

/// The largest size: kernels on a GPU count in 32 bits.
const LARGEST: u32 = 1 << 24;

/// Reads a size: a whole number from 1 up.
pub fn size(context: &Context, name: &str) -> Result<usize, String> {
    match context.number(name) {
        Some(x) if (1.0..=f64::from(LARGEST)).contains(&x) && x.fract() == 0.0 => Ok(x as usize),
        Some(x) => Err(format!("{name} must be a whole number from 1 to {LARGEST}, found {x}")),
        None => Err(format!("{name} is missing")),
    }
}

/// Reads the strides of a `rows × columns` matrix, and checks that the matrix is dense.
pub fn strides(context: &Context, mat: &str, shape: (usize, usize)) -> Result<(usize, usize), String> {
    let (rows, columns) = shape;
    let stride = |d: usize| size(context, &format!("{mat}_stride_{d}"));
    let found = (stride(0)?, stride(1)?);
    let dense = [false, true].map(|transposed| dense(transposed, shape));
    if dense.contains(&found) {
        return Ok(found);
    }
    Err(format!(
        "{mat} is {rows}×{columns} in memory, so its strides must be {:?} or {:?}, found {found:?}",
        dense[0], dense[1]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_on_gpus_is_pytorchs() {
        let length = |size, alignment| Padding { alignment, keeps_one: true }.length(size);
        assert_eq!(length(1, 8), 0);
        assert_eq!([41523, 5535, 29088].map(|size| length(size, 8)), [5, 1, 0]);
        assert_eq!(length(1023, 4), 1);
    }
}
