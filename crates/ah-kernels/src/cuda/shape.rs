//! The operands of a matrix product as a context describes them.

use ah_types::Context;

use super::element::Element;
use crate::layout::Layout;

/// The largest dimension: kernels count in 32 bits.
const LARGEST: f64 = 16_777_216.0;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
    pub(crate) a_strides: (usize, usize),
    pub(crate) b_strides: (usize, usize),
    pub(crate) a: Element,
    pub(crate) b: Element,
    pub(crate) tf32: bool,
}

impl Shape {
    /// # Errors
    /// What lies outside the domain, in words.
    pub(crate) fn of(context: &Context) -> Result<Self, String> {
        let [m, k, n] = [size(context, "m")?, size(context, "k")?, size(context, "n")?];
        let (a, b) = (element(context, "mat1_dtype")?, element(context, "mat2_dtype")?);
        let tf32 = match context.category("using_tf32") {
            Some("True") if a == Element::F32 => true,
            None | Some("not_float_32") if a != Element::F32 => false,
            Some("False") if a == Element::F32 => false,
            found => {
                let expected = if a == Element::F32 { "True or False" } else { "not_float_32" };
                return Err(format!("using_tf32 must be {expected} with {}, found {found:?}", a.name()));
            }
        };
        Ok(Self {
            a_strides: strides(context, "mat1", m, k)?,
            b_strides: strides(context, "mat2", k, n)?,
            m,
            k,
            n,
            a,
            b,
            tf32,
        })
    }

    /// Both operands are of the same floating-point type.
    ///
    /// # Errors
    /// What they are.
    pub(crate) fn alike(self) -> Result<Self, String> {
        if self.a == self.b && Element::FLOATS.contains(&self.a) {
            return Ok(self);
        }
        let names = Element::FLOATS.map(Element::name).join(", ");
        Err(format!(
            "both matrices must be of the same type, one of {names}; found {} and {}",
            self.a.name(),
            self.b.name()
        ))
    }
}

/// A whole number from 1 up in a context.
pub(crate) fn size(context: &Context, name: &str) -> Result<usize, String> {
    match context.number(name) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Checked here.
        Some(x) if (1.0..=LARGEST).contains(&x) && x.fract() == 0.0 => Ok(x as usize),
        Some(x) => Err(format!("{name} must be a whole number from 1 to {LARGEST}, found {x}")),
        None => Err(format!("{name} is missing")),
    }
}

pub(crate) fn element(context: &Context, name: &str) -> Result<Element, String> {
    let found = context.category(name).unwrap_or_default();
    Element::from_name(found).ok_or_else(|| format!("{name}: this backend knows no type {found:?}"))
}

/// The strides of a dense matrix, checked.
fn strides(context: &Context, mat: &str, rows: usize, cols: usize) -> Result<(usize, usize), String> {
    let stride = |d: usize| size(context, &format!("{mat}_stride_{d}"));
    let found = (stride(0)?, stride(1)?);
    let dense = [Layout::RowMajor, Layout::ColumnMajor].map(|layout| match layout {
        Layout::RowMajor => (cols, 1),
        Layout::ColumnMajor => (1, rows),
    });
    if dense.contains(&found) {
        return Ok(found);
    }
    Err(format!(
        "{mat} is {rows}×{cols}, so its strides must be {:?} or {:?}, found {found:?}",
        dense[0], dense[1]
    ))
}
