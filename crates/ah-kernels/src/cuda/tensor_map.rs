//! Maps of operands for Hopper's tensor copy engine.

use cudarc::driver::{result, sys};

use super::arena::Buffer;
use super::device::Gpu;
use super::error::CudaError;
use super::kernels::{Half, TensorMap};

/// Bytes of an encoded map.
pub(crate) const BYTES: usize = 128;

/// Encodes the map of `operand` and copies it to `to`.
pub(crate) fn write(gpu: &Gpu, map: &TensorMap, operand: Buffer, to: Buffer) -> Result<(), CudaError> {
    assert!(to.bytes >= BYTES && to.address.is_multiple_of(64), "no place for a map");
    let kind = match map.element {
        Half::Float16 => sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Half::BFloat16 => sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    };
    let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
    let rank: u32 = 2;
    // SAFETY: every pointer is to as many values as the rank requires (one stride fewer). The address of
    // the operand is stored, not read.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut encoded,
            kind,
            rank,
            operand.address as *mut std::ffi::c_void,
            map.sizes.as_ptr(),
            &map.stride,
            map.box_sizes.as_ptr(),
            [1, 1].as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    }
    .result()
    .map_err(CudaError::driver("encode a tensor map"))?;
    // SAFETY: `to` has room, and the stream keeps the order. The host's copy may be dropped on return:
    // memory that is not pinned is staged first.
    unsafe { result::memcpy_htod_async(to.address, &encoded.opaque, gpu.stream()) }
        .map_err(CudaError::driver("copy a tensor map"))
}
