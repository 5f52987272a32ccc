//! The version of cuBLAS, which is part of a device's identity.

use cudarc::cublas::sys::{self, libraryPropertyType_t as Property};

use super::error::CudaError;

/// Returns cuBLAS's version, for example `13.0.2`.
pub(super) fn cublas_version() -> Result<String, CudaError> {
    let property = |which| {
        let mut value = 0;
        // SAFETY: `value` is a place to write to.
        unsafe { sys::cublasGetProperty(which, &mut value) }
            .result()
            .map_err(CudaError::blas("ask for cuBLAS's version"))?;
        Ok::<_, CudaError>(value)
    };
    let [major, minor, patch] =
        [Property::MAJOR_VERSION, Property::MINOR_VERSION, Property::PATCH_LEVEL].map(property);
    Ok(format!("{}.{}.{}", major?, minor?, patch?))
}
