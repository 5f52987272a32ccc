//! The types and contents of a kernel's arguments.

use super::super::device::Arg;

/// The type of a scalar, or of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names are their documentation.
pub enum ArgumentType {
    Float16,
    BFloat16,
    Float32,
    Float64,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
}

impl ArgumentType {
    /// All types, in the order of their numbers in `buffers.cu`.
    pub const ALL: [Self; 12] = [
        Self::Float16,
        Self::BFloat16,
        Self::Float32,
        Self::Float64,
        Self::Int8,
        Self::UInt8,
        Self::Int16,
        Self::UInt16,
        Self::Int32,
        Self::UInt32,
        Self::Int64,
        Self::UInt64,
    ];

    /// Returns the name, for example `float32`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int8 => "int8",
            Self::UInt8 => "uint8",
            Self::Int16 => "int16",
            Self::UInt16 => "uint16",
            Self::Int32 => "int32",
            Self::UInt32 => "uint32",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
        }
    }

    /// Returns the size of one element.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Int8 | Self::UInt8 => 1,
            Self::Float16 | Self::BFloat16 | Self::Int16 | Self::UInt16 => 2,
            Self::Float32 | Self::Int32 | Self::UInt32 => 4,
            Self::Float64 | Self::Int64 | Self::UInt64 => 8,
        }
    }

    /// Returns the allowed difference between two results, as a share of the largest magnitude: kernels add in
    /// different orders. Integers must be equal.
    pub fn tolerance(self) -> f64 {
        match self {
            Self::Float16 => 1e-2,
            Self::BFloat16 => 5e-2,
            Self::Float32 => 1e-4,
            Self::Float64 => 1e-9,
            _ => 0.0,
        }
    }

    pub(super) fn code(self) -> i32 {
        self as i32
    }

    /// Returns a scalar argument; `None` if the number is not a value of this type, or scalars cannot have
    /// this type.
    // Converting back checks it.
    pub(super) fn scalar(self, x: f64) -> Option<Arg> {
        let exact = |same: bool, arg: Arg| same.then_some(arg);
        match self {
            Self::Float32 => Some(Arg::F32(x as f32)),
            Self::Float64 => Some(Arg::F64(x)),
            Self::Int32 => exact(f64::from(x as i32) == x, Arg::I32(x as i32)),
            Self::UInt32 => exact(f64::from(x as u32) == x, Arg::U32(x as u32)),
            Self::Int64 => exact((x as i64) as f64 == x, Arg::I64(x as i64)),
            Self::UInt64 => exact((x as u64) as f64 == x, Arg::U64(x as u64)),
            _ => None,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_is_a_value_of_its_type() {
        assert!(matches!(ArgumentType::Int32.scalar(-7.0), Some(Arg::I32(-7))));
        assert!(matches!(ArgumentType::UInt64.scalar(1e12), Some(Arg::U64(1_000_000_000_000))));
        for (ty, x) in [
            (ArgumentType::Int32, 0.5),
            (ArgumentType::Int32, 3e9),
            (ArgumentType::UInt32, -1.0),
            (ArgumentType::Int64, f64::NAN),
            (ArgumentType::Float16, 1.0),
        ] {
            assert!(ty.scalar(x).is_none(), "{ty:?} {x}");
        }
    }

    #[test]
    fn codes_are_positions() {
        assert!(ArgumentType::ALL.iter().zip(0..).all(|(ty, i)| ty.code() == i));
    }
}
