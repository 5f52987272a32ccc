//! The features of a matrix product on a GPU: written into contexts and read back.

use ah_types::Context;

use super::element::Element;
use crate::features;

/// The largest size: kernels count in 32 bits.
const LARGEST: u32 = 1 << 24;

/// Returns the context of a product.
pub(crate) fn context(
    sizes: [u64; 3],
    (a_strides, a): ((u64, u64), Element),
    (b_strides, b): ((u64, u64), Element),
) -> Context {
    features::product(sizes, (a_strides, a.torch()), (b_strides, b.torch()))
}

/// Adds PyTorch's feature `using_tf32`, which has a third value for types other than float32.
pub(crate) fn with_tf32(context: Context, element: Element, tf32: bool) -> Context {
    if element == Element::F32 {
        context.with("using_tf32", tf32)
    } else {
        context.with("using_tf32", "not_float_32")
    }
}

/// The checked features of a product.
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
    /// Reads the features.
    pub(crate) fn of(context: &Context) -> Result<Self, String> {
        let [m, k, n] = [size(context, "m")?, size(context, "k")?, size(context, "n")?];
        let (a, b) = (element(context, "mat1_dtype")?, element(context, "mat2_dtype")?);
        let tf32 = match context.category("using_tf32") {
            Some("True") if a == Element::F32 => true,
            None | Some("not_float_32") if a != Element::F32 => false,
            Some("False") if a == Element::F32 => false,
            found => {
                let expected = if a == Element::F32 { "True or False" } else { "not_float_32" };
                return Err(format!("using_tf32 must be {expected} with {}, found {found:?}", a.torch()));
            }
        };
        let a_strides = features::strides(context, "mat1", (m, k), LARGEST)?;
        let b_strides = features::strides(context, "mat2", (k, n), LARGEST)?;
        Ok(Self { m, k, n, a_strides, b_strides, a, b, tf32 })
    }

    /// Reads the features of a product whose operands have the same floating-point type.
    pub(crate) fn of_floats(context: &Context) -> Result<Self, String> {
        let shape = Self::of(context)?;
        if shape.a == shape.b && Element::FLOATS.contains(&shape.a) {
            return Ok(shape);
        }
        let names = Element::FLOATS.map(Element::torch).join(", ");
        Err(format!(
            "both matrices must be of the same type, one of {names}; found {} and {}",
            shape.a.torch(),
            shape.b.torch()
        ))
    }
}

/// Reads a size.
pub(crate) fn size(context: &Context, name: &str) -> Result<usize, String> {
    features::size(context, name, LARGEST)
}

/// Reads an element type.
pub(crate) fn element(context: &Context, name: &str) -> Result<Element, String> {
    let found = context.category(name).unwrap_or_default();
    Element::ALL
        .into_iter()
        .find(|e| e.torch() == found)
        .ok_or_else(|| format!("{name}: this backend knows no type {found:?}"))
}
