//! Errors on a GPU, and whether they cost the choice, the input, or the device.

use cudarc::cublas::result::CublasError;
use cudarc::cublas::sys::cublasStatus_t;
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use ah_measure::Failure;

/// A call into CUDA failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum CudaError {
    /// There is no such GPU, or a library is missing or too old.
    #[error("{0}")]
    Unusable(String),
    /// The operands need more memory than the device can give.
    #[error("{bytes} bytes do not fit the device's memory")]
    TooLarge { bytes: usize },
    /// The driver refused.
    #[error("{doing}: {} ({code:?})", describe(*code))]
    Driver { doing: &'static str, code: CUresult },
    /// cuBLAS refused.
    #[error("{doing}: {status:?}")]
    Blas { doing: &'static str, status: cublasStatus_t },
    /// cuBLASLt refused.
    #[error("{doing}: {status:?}")]
    BlasLt { doing: &'static str, status: cudarc::cublaslt::sys::cublasStatus_t },
    /// A kernel does not compile.
    #[error("{file} does not compile for {architecture}:\n{log}")]
    Compile { file: &'static str, architecture: String, log: String },
    /// A file has no kernel of this name.
    #[error("{file} has no kernel {kernel:?}; declare it as `extern \"C\" __global__ void {kernel}(…)`")]
    NoKernel { file: &'static str, kernel: String },
}

impl CudaError {
    pub(crate) fn driver(doing: &'static str) -> impl Fn(DriverError) -> Self {
        move |e| Self::Driver { doing, code: e.0 }
    }

    pub(crate) fn blas(doing: &'static str) -> impl Fn(CublasError) -> Self {
        move |e| Self::Blas { doing, status: e.0 }
    }
}

impl From<CudaError> for Failure {
    fn from(error: CudaError) -> Self {
        use CUresult as C;
        use cudarc::cublaslt::sys::cublasStatus_t as Lt;
        match &error {
            CudaError::TooLarge { .. } => Self::skipped(error),
            // It would fit: another program holds the memory.
            CudaError::Driver { code: C::CUDA_ERROR_OUT_OF_MEMORY, .. }
            | CudaError::Blas { status: cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED, .. }
            | CudaError::BlasLt { status: Lt::CUBLAS_STATUS_ALLOC_FAILED, .. } => {
                Self::Unmeasured(error.to_string())
            }
            // The context answers every further call with the same error.
            CudaError::Driver {
                code:
                    C::CUDA_ERROR_ILLEGAL_ADDRESS
                    | C::CUDA_ERROR_LAUNCH_FAILED
                    | C::CUDA_ERROR_LAUNCH_TIMEOUT
                    | C::CUDA_ERROR_MISALIGNED_ADDRESS
                    | C::CUDA_ERROR_ILLEGAL_INSTRUCTION
                    | C::CUDA_ERROR_INVALID_ADDRESS_SPACE
                    | C::CUDA_ERROR_INVALID_PC
                    | C::CUDA_ERROR_HARDWARE_STACK_ERROR
                    | C::CUDA_ERROR_ASSERT
                    | C::CUDA_ERROR_ECC_UNCORRECTABLE
                    | C::CUDA_ERROR_CONTEXT_IS_DESTROYED
                    | C::CUDA_ERROR_UNKNOWN,
                ..
            } => Self::DeviceLost(error.to_string()),
            _ => Self::failed(error),
        }
    }
}

/// The driver's description. It needs the driver, so it is asked only for codes that came from it.
fn describe(code: CUresult) -> String {
    match DriverError(code).error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => "CUDA error".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn faults_of_the_machine_are_none_of_the_choice() {
        let driver = |code| Failure::from(CudaError::Driver { doing: "allocate memory", code });
        // The driver describes its codes, so only a machine with one can show them.
        if super::super::library::Library::Driver.require().is_ok() {
            assert!(matches!(driver(CUresult::CUDA_ERROR_OUT_OF_MEMORY), Failure::Unmeasured(_)));
            assert!(matches!(driver(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), Failure::DeviceLost(_)));
            assert!(matches!(driver(CUresult::CUDA_ERROR_INVALID_VALUE), Failure::Failed(_)));
        } else {
            // The test harness hides the output of a passing test, but not direct writes to standard error.
            let _ = writeln!(std::io::stderr(), "skipped: no driver is here, so its codes are not tried");
        }
        let blas = |status| Failure::from(CudaError::Blas { doing: "multiply", status });
        assert!(matches!(blas(cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED), Failure::Unmeasured(_)));
        assert!(matches!(blas(cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED), Failure::Failed(_)));
        assert!(matches!(Failure::from(CudaError::TooLarge { bytes: 1 << 40 }), Failure::Skipped(_)));
    }
}
