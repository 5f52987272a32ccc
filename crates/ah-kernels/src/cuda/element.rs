//! Element types, with the names that features use.

use cudarc::cublas::sys::cudaDataType;

use super::kernels::Half;

/// The type of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Element {
    F16,
    Bf16,
    F32,
    I8,
    U8,
}

impl Element {
    pub(crate) const FLOATS: [Self; 3] = [Self::F16, Self::Bf16, Self::F32];
    const ALL: [Self; 5] = [Self::F16, Self::Bf16, Self::F32, Self::I8, Self::U8];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F16 => "torch.float16",
            Self::Bf16 => "torch.bfloat16",
            Self::F32 => "torch.float32",
            Self::I8 => "torch.int8",
            Self::U8 => "torch.uint8",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|e| e.name() == name)
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 | Self::U8 => 1,
        }
    }

    /// Returns the type's number in `operands.cu`.
    pub(crate) fn code(self) -> i32 {
        self as i32
    }

    /// Returns the relative error of one rounding to this type.
    pub(crate) fn epsilon(self) -> f64 {
        match self {
            Self::F16 => 2_f64.powi(-11),
            Self::Bf16 => 2_f64.powi(-8),
            _ => 2_f64.powi(-24),
        }
    }

    pub(crate) fn cuda(self) -> cudaDataType {
        match self {
            Self::F16 => cudaDataType::CUDA_R_16F,
            Self::Bf16 => cudaDataType::CUDA_R_16BF,
            Self::F32 => cudaDataType::CUDA_R_32F,
            Self::I8 => cudaDataType::CUDA_R_8I,
            Self::U8 => cudaDataType::CUDA_R_8U,
        }
    }

    /// Returns the 16-bit floating-point type that this is.
    pub(crate) fn half(self) -> Option<Half> {
        match self {
            Self::F16 => Some(Half::Float16),
            Self::Bf16 => Some(Half::BFloat16),
            _ => None,
        }
    }
}
