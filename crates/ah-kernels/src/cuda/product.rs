//! Products of matrices in device memory, and their features: written into contexts and read back.

use ah_model::Context;

use super::arena::Buffer;
use super::element::Element;
use crate::features::{self, size};

/// A matrix in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) buffer: Buffer,
    pub(crate) element: Element,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Elements between neighbours along each dimension; one of them is 1.
    pub(crate) strides: (usize, usize),
}

impl Matrix {
    /// A matrix that has no memory yet.
    fn new(element: Element, (rows, columns): (usize, usize), strides: (usize, usize)) -> Self {
        Self { buffer: Buffer { address: 0, bytes: 0 }, element, rows, columns, strides }
    }

    /// A matrix without memory whose rows follow each other without a gap.
    pub(crate) fn row_major(element: Element, rows: usize, columns: usize) -> Self {
        Self::new(element, (rows, columns), (columns, 1))
    }

    /// The bytes of its elements, if there are no gaps between them.
    pub(crate) fn bytes(&self) -> usize {
        self.rows * self.columns * self.element.bytes()
    }

    pub(crate) fn is_column_major(&self) -> bool {
        self.strides.0 == 1 && self.strides.1 != 1
    }

    /// The larger stride, or the length of a row or column if that is larger: the stride of a
    /// dimension of size 1 may be anything.
    pub(crate) fn leading(&self) -> usize {
        if self.is_column_major() { self.strides.1.max(self.rows) } else { self.strides.0.max(self.columns) }
    }
}

/// c = a · b; c is row-major with `c.strides.0` between rows, and has the type of a.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) tf32: bool,
}

impl Product {
    fn new(a: Matrix, b: Matrix, tf32: bool) -> Self {
        Self { a, b, c: Matrix::row_major(a.element, a.rows, b.columns), tf32 }
    }

    /// A product of dense matrices without memory; a transposed one has contiguous columns.
    pub(crate) fn dense(sizes: [u64; 3], transposed: [bool; 2], [a, b]: [Element; 2], tf32: bool) -> Self {
        let [m, k, n] = sizes.map(|size| size as usize);
        let matrix =
            |element, size, transposed| Matrix::new(element, size, features::dense(transposed, size));
        Self::new(matrix(a, (m, k), transposed[0]), matrix(b, (k, n), transposed[1]), tf32)
    }

    /// Reads the features of a product; its matrices have no memory.
    pub(crate) fn of(context: &Context) -> Result<Self, String> {
        let [m, k, n] = [size(context, "m")?, size(context, "k")?, size(context, "n")?];
        let a = element(context, "mat1_dtype")?;
        let b = element(context, "mat2_dtype")?;
        let tf32 = match context.category("using_tf32") {
            Some("True") if a == Element::F32 => true,
            None | Some("not_float_32") if a != Element::F32 => false,
            Some("False") if a == Element::F32 => false,
            found => {
                let expected = if a == Element::F32 { "True or False" } else { "not_float_32" };
                return Err(format!("using_tf32 must be {expected} with {}, found {found:?}", a.torch()));
            }
        };
        let a_strides = features::strides(context, "mat1", (m, k))?;
        let b_strides = features::strides(context, "mat2", (k, n))?;
        Ok(Self::new(Matrix::new(a, (m, k), a_strides), Matrix::new(b, (k, n), b_strides), tf32))
    }

    /// Reads the features of a product whose operands have the same floating-point type.
    pub(crate) fn of_floats(context: &Context) -> Result<Self, String> {
        let product = Self::of(context)?;
        let [a, b] = [product.a.element, product.b.element];
        if a == b && Element::FLOATS.contains(&a) {
            return Ok(product);
        }
        let names = Element::FLOATS.map(Element::torch).join(", ");
        let a = a.torch();
        let b = b.torch();
        Err(format!("both matrices must be of the same type, one of {names}; found {a} and {b}"))
    }

    /// The context of this product.
    pub(crate) fn context(&self) -> Context {
        let operand =
            |matrix: &Matrix| ((matrix.strides.0 as u64, matrix.strides.1 as u64), matrix.element.torch());
        features::product(self.sizes(), operand(&self.a), operand(&self.b))
    }

    /// Adds PyTorch's feature `using_tf32`, which has a third value for types other than float32.
    pub(crate) fn with_tf32(&self, context: Context) -> Context {
        if self.a.element == Element::F32 {
            context.with("using_tf32", self.tf32)
        } else {
            context.with("using_tf32", "not_float_32")
        }
    }

    /// M, k and n.
    pub(crate) fn sizes(&self) -> [u64; 3] {
        [self.a.rows, self.a.columns, self.b.columns].map(|size| size as u64)
    }
}

/// Reads an element type.
pub(crate) fn element(context: &Context, name: &str) -> Result<Element, String> {
    let found = context.category(name).unwrap_or_default();
    let element = Element::ALL.into_iter().find(|element| element.torch() == found);
    element.ok_or_else(|| format!("{name}: this backend knows no type {found:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leading_stride_holds_a_row_or_a_column() {
        let leading = |rows, columns, strides| Matrix::new(Element::F32, (rows, columns), strides).leading();
        assert_eq!(leading(3, 5, (5, 1)), 5);
        assert_eq!(leading(3, 5, (1, 3)), 3);
        // PyTorch's strides of a transposed 1×5 matrix.
        assert_eq!(leading(1, 5, (1, 1)), 5);
    }
}
