//! Asks for CUDA's libraries before they are used: cudarc loads them at first use and panics when
//! one is missing.

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
    fn is_there(self) -> bool {
        // SAFETY: each only opens the library; CUDA's libraries have no initialisers that need
        // anything of us.
        unsafe {
            match self {
                Self::Driver => cudarc::driver::sys::is_culib_present(),
                Self::Nvrtc => cudarc::nvrtc::sys::is_culib_present(),
                Self::Cublas => cudarc::cublas::sys::is_culib_present(),
                Self::CublasLt => cudarc::cublaslt::sys::is_culib_present(),
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Driver => "libcuda.so",
            Self::Nvrtc => "libnvrtc.so",
            Self::Cublas => "libcublas.so",
            Self::CublasLt => "libcublasLt.so",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Driver => "install NVIDIA's driver, or measure on the CPU with --backend cpu",
            Self::Nvrtc => {
                "install CUDA's run-time compiler (the package cuda-nvrtc, or pip install nvidia-cuda-nvrtc) \
                 and name its folder in LD_LIBRARY_PATH"
            }
            Self::Cublas | Self::CublasLt => {
                "install cuBLAS (the package libcublas, or pip install nvidia-cublas) and name its folder in \
                 LD_LIBRARY_PATH"
            }
        }
    }

    /// # Errors
    /// The library's name and what to install.
    pub(crate) fn require(self) -> Result<(), CudaError> {
        if self.is_there() {
            return Ok(());
        }
        Err(CudaError::Missing { library: self.name(), remedy: self.remedy() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_its_remedy() {
        for library in [Library::Driver, Library::Nvrtc, Library::Cublas, Library::CublasLt] {
            match library.require() {
                Ok(()) => {
                    let reason = format!("skipped: {} is installed here\n", library.name());
                    let _ = std::io::Write::write_all(&mut std::io::stderr(), reason.as_bytes());
                }
                Err(e) => {
                    let message = e.to_string();
                    assert!(message.contains(library.name()) && message.contains("install"), "{message}");
                }
            }
        }
    }
}
