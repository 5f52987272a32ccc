//! What a kernel is launched with: a buffer or a scalar.

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
