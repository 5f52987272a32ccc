//! Looks for CUDA's libraries before they are used: cudarc loads each at first use, and panics if it is missing. Also asks
//! for the versions that are part of a device's identity.

use super::error::CudaError;

/// One of CUDA's libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Driver,
    Nvrtc,
    Cublas,
    CublasLt,
}

impl Library {
    /// Checks that the library is installed.
    pub(crate) fn require(self) -> Result<(), CudaError> {
        // SAFETY: each call only opens the library. The initialisers of CUDA's libraries need nothing of us.
        let (is_there, name, remedy) = unsafe {
            match self {
                Self::Driver => (cudarc::driver::sys::is_culib_present(), "libcuda.so", DRIVER),
                Self::Nvrtc => (cudarc::nvrtc::sys::is_culib_present(), "libnvrtc.so", NVRTC),
                Self::Cublas => (cudarc::cublas::sys::is_culib_present(), "libcublas.so", CUBLAS),
                Self::CublasLt => (cudarc::cublaslt::sys::is_culib_present(), "libcublasLt.so", CUBLAS),
            }
        };
        let missing = || CudaError::Unusable(format!("{name} is not found: install {remedy}"));
        is_there.then_some(()).ok_or_else(missing)
    }
}

const DRIVER: &str = "NVIDIA's driver to measure on a GPU";
const NVRTC: &str = "CUDA's run-time compiler (the package cuda-nvrtc, or pip install nvidia-cuda-nvrtc) and name its folder \
                     in LD_LIBRARY_PATH";
const CUBLAS: &str =
    "cuBLAS (the package libcublas, or pip install nvidia-cublas) and name its folder in LD_LIBRARY_PATH";

/// CuBLAS's version, for example `13.0.2`; cuBLASLt, which must be there, is a part of it.
pub(super) fn cublas_version() -> String {
    // SAFETY: the call reads a constant of the library.
    let version = unsafe { cudarc::cublaslt::sys::cublasLtGetVersion() };
    format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_its_remedy() {
        for (library, name) in [(Library::Driver, "libcuda.so"), (Library::CublasLt, "libcublasLt.so")] {
            let Err(error) = library.require() else {
                let reason = format!("skipped: {name} is installed here\n");
                let _ = std::io::Write::write_all(&mut std::io::stderr(), reason.as_bytes());
                continue;
            };
            let message = error.to_string();
            assert!(message.contains(name) && message.contains("install"), "{message}");
        }
    }
}
