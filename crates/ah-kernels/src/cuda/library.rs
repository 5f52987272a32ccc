//! Looks for CUDA's libraries before they are used: cudarc loads each at first use, and panics if it is missing.

use cudarc::cublas::sys;

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
        // SAFETY: each call only opens the library. The initialisers of CUDA's libraries need nothing of us.
        unsafe {
            match self {
                Self::Driver => cudarc::driver::sys::is_culib_present(),
                Self::Nvrtc => cudarc::nvrtc::sys::is_culib_present(),
                Self::Cublas => sys::is_culib_present(),
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
            Self::Driver => "install NVIDIA's driver to measure on a GPU",
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

    /// Checks that the library is installed.
    pub(crate) fn require(self) -> Result<(), CudaError> {
        if self.is_there() {
            return Ok(());
        }
        Err(CudaError::Missing { library: self.name(), remedy: self.remedy() })
    }
}

/// Returns cuBLAS's version, for example `13.0.2`.
pub(crate) fn cublas_version() -> Result<String, CudaError> {
    use sys::libraryPropertyType_t as Property;
    let property = |which| {
        let mut value = 0;
        // SAFETY: `value` is a place to write to.
        unsafe { sys::cublasGetProperty(which, &mut value) }
            .result()
            .map_err(|e| CudaError::Blas { doing: "ask for cuBLAS's version", status: e.0 })?;
        Ok(value)
    };
    Ok(format!(
        "{}.{}.{}",
        property(Property::MAJOR_VERSION)?,
        property(Property::MINOR_VERSION)?,
        property(Property::PATCH_LEVEL)?
    ))
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
