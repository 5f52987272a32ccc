//! The types of a matrix's elements, of a buffer's, and of a kernel's scalars.

use cudarc::cublas::sys::cudaDataType;

use super::arena::Buffer;

/// A kernel's argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    Buffer(Buffer),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
    U32(u32),
    U64(u64),
}

macro_rules! elements {
    ($($element:ident $torch:literal $bytes:literal),*) => {
        /// A type of numbers. Its position is its number in `operands.cu` and `source/buffers.cu`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // Their names are their documentation.
        pub enum Element { $($element),* }

        impl Element {
            /// All types, by position.
            pub const ALL: [Self; 12] = [$(Self::$element),*];

            /// PyTorch's name, for example `torch.float32`.
            pub fn torch(self) -> &'static str {
                [$($torch),*][self as usize]
            }

            /// The size of one number.
            pub fn bytes(self) -> usize {
                [$($bytes),*][self as usize]
            }
        }
    };
}
elements!(
    F16 "torch.float16" 2, Bf16 "torch.bfloat16" 2, F32 "torch.float32" 4, F64 "torch.float64" 8,
    I8 "torch.int8" 1, U8 "torch.uint8" 1, I16 "torch.int16" 2, U16 "torch.uint16" 2,
    I32 "torch.int32" 4, U32 "torch.uint32" 4, I64 "torch.int64" 8, U64 "torch.uint64" 8
);

impl Element {
    /// The scalars that a kernel can take.
    pub const SCALARS: [Self; 6] = [Self::F32, Self::F64, Self::I32, Self::U32, Self::I64, Self::U64];
    /// The floats that matrices of products have.
    pub(crate) const FLOATS: [Self; 3] = [Self::F16, Self::Bf16, Self::F32];

    /// The name without PyTorch's, for example `float32`.
    pub fn name(self) -> &'static str {
        self.torch().trim_start_matches("torch.")
    }

    /// The allowed difference between two results, as a share of the largest magnitude: kernels add in
    /// different orders. Integers must be equal.
    pub(crate) fn tolerance(self) -> f64 {
        match self {
            Self::F16 => 1e-2,
            Self::Bf16 => 5e-2,
            Self::F32 => 1e-4,
            Self::F64 => 1e-9,
            _ => 0.0,
        }
    }

    /// The relative error of one rounding to this type of a matrix's floats.
    pub(crate) fn epsilon(self) -> f64 {
        match self {
            Self::F16 => 2_f64.powi(-11),
            Self::Bf16 => 2_f64.powi(-8),
            _ => 2_f64.powi(-24),
        }
    }

    /// The type of a matrix's floats for cuBLAS.
    pub(crate) fn cuda(self) -> cudaDataType {
        match self {
            Self::F16 => cudaDataType::CUDA_R_16F,
            Self::Bf16 => cudaDataType::CUDA_R_16BF,
            _ => cudaDataType::CUDA_R_32F,
        }
    }

    /// A scalar argument; `None` if the number is not a value of this type, or scalars cannot have
    /// this type.
    // Converting back checks it.
    pub(crate) fn scalar(self, x: f64) -> Option<Arg> {
        let exact = |same: bool, arg: Arg| same.then_some(arg);
        match self {
            Self::F32 => Some(Arg::F32(x as f32)),
            Self::F64 => Some(Arg::F64(x)),
            Self::I32 => exact(f64::from(x as i32) == x, Arg::I32(x as i32)),
            Self::U32 => exact(f64::from(x as u32) == x, Arg::U32(x as u32)),
            Self::I64 => exact((x as i64) as f64 == x, Arg::I64(x as i64)),
            Self::U64 => exact((x as u64) as f64 == x, Arg::U64(x as u64)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_is_a_value_of_its_type() {
        assert!(matches!(Element::I32.scalar(-7.0), Some(Arg::I32(-7))));
        assert!(matches!(Element::U64.scalar(1e12), Some(Arg::U64(1_000_000_000_000))));
        for (ty, x) in [
            (Element::I32, 0.5),
            (Element::I32, 3e9),
            (Element::U32, -1.0),
            (Element::I64, f64::NAN),
            (Element::F16, 1.0),
        ] {
            assert!(ty.scalar(x).is_none(), "{ty:?} {x}");
        }
    }

    #[test]
    fn names_and_sizes_are_by_position() {
        assert!(Element::ALL.iter().zip(0..).all(|(ty, i)| *ty as i32 == i));
        for ty in Element::ALL {
            let bits = ty.name().trim_start_matches(|c: char| !c.is_ascii_digit());
            assert_eq!(bits.parse(), Ok(8 * ty.bytes()), "{}", ty.name());
        }
    }
}
