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

    /// Returns element `index` of an array in memory.
    pub(crate) fn value(self, memory: &[u8], index: usize) -> f64 {
        let bytes = &memory[index * self.bytes()..][..self.bytes()];
        match (self, bytes) {
            (Self::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (Self::Bf16, &[a, b]) => f64::from(f32::from_le_bytes([0, 0, a, b])),
            (Self::I8, &[a]) => f64::from(i8::from_le_bytes([a])),
            (Self::U8, &[a]) => f64::from(a),
            (_, bytes) => float16(u16::from_le_bytes([bytes[0], bytes[1]])),
        }
    }
}

/// Returns the value of an IEEE binary16.
fn float16(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-14),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_their_type() {
        let halves = [0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff, 0xfc00].map(float16);
        let third = 0.333_251_953_125;
        assert_eq!(halves, [1.0, -2.0, third, 2_f64.powi(-24), 65504.0, f64::NEG_INFINITY]);
        assert!(float16(0x7e00).is_nan());
        assert_eq!(Element::Bf16.value(&[0, 0, 0x80, 0xbf], 1), -1.0);
        assert_eq!(Element::F32.value(&1.5_f32.to_le_bytes(), 0), 1.5);
        assert_eq!((Element::I8.value(&[0xff], 0), Element::U8.value(&[0xff], 0)), (-1.0, 255.0));
    }
}
