//! Compiles CUDA C++ for the device at hand, and keeps the machine code on disk by source, options,
//! architecture and compiler version.

use std::ffi::CString;
use std::path::PathBuf;

use cudarc::nvrtc::{result, sys};
use etcetera::{BaseStrategy as _, choose_base_strategy};

use super::error::CudaError;
use super::kernels;
use super::library::Library;

/// The source of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source {
    /// The file's name, for messages.
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
    /// The compiler's options for a user's file; `None` for one of ours, which is compiled after
    /// [`kernels::COMMON`].
    options: Option<&'static [String]>,
}

impl Source {
    /// Returns a file of ours.
    pub(crate) const fn shipped(file: &'static str, text: &'static str) -> Self {
        Self { file, text, options: None }
    }

    /// Returns a user's file. It stays in memory until the process ends, because a process measures only
    /// one.
    pub(crate) fn of_user(file: String, text: String, options: Vec<String>) -> Self {
        Self { file: file.leak(), text: text.leak(), options: Some(options.leak()) }
    }
}

/// The name of [`kernels::COMMON`] in messages.
const COMMON_FILE: &str = "common.cuh";

/// The compiler for one device; the [module](self) describes its cache.
#[derive(Debug)]
pub(crate) struct Compiler {
    architecture: String,
    version: (i32, i32),
    folder: Option<PathBuf>,
}

impl Compiler {
    /// Makes the compiler for a device of this compute capability.
    pub(crate) fn new(capability: (u32, u32)) -> Result<Self, CudaError> {
        Library::Nvrtc.require()?;
        let mut version = (0, 0);
        // SAFETY: two valid places to write to; the library is loaded.
        unsafe { sys::nvrtcVersion(&mut version.0, &mut version.1) }
            .result()
            .map_err(|e| CudaError::Nvrtc(format!("cannot tell its version: {e}")))?;
        Ok(Self { architecture: architecture(capability), version, folder: folder() })
    }

    pub(crate) fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Returns the machine code of `source` under these definitions (`NAME=VALUE`).
    pub(crate) fn compile(&self, source: Source, defines: &[String]) -> Result<Vec<u8>, CudaError> {
        let text = match source.options {
            None => format!(
                "#line 1 \"{COMMON_FILE}\"\n{}\n#line 1 \"{}\"\n{}",
                kernels::COMMON,
                source.file,
                source.text
            ),
            Some(_) => format!("#line 1 \"{}\"\n{}", source.file, source.text),
        };
        let mut options = vec![format!("--gpu-architecture={}", self.architecture), "--std=c++17".to_owned()];
        match source.options {
            // Our helpers have no __device__.
            None => options.push("-default-device".to_owned()),
            Some(of_user) => options.extend_from_slice(of_user),
        }
        options.extend(defines.iter().map(|d| format!("-D{d}")));
        let path = self.folder.as_ref().map(|folder| {
            let mut hash = blake3::Hasher::new();
            for part in options.iter().chain([&text, &format!("{:?}", self.version)]) {
                hash.update(part.as_bytes()).update(&[0]);
            }
            folder.join(format!("{}.cubin", hash.finalize().to_hex()))
        });
        if let Some(code) = path.as_ref().and_then(|p| std::fs::read(p).ok()) {
            return Ok(code);
        }
        let code = self.build(source.file, &text, &options)?;
        if let Some(path) = path {
            // A cache that cannot be written costs only time.
            let _ = ah_types::artefact::write_atomic(&path, &code);
        }
        Ok(code)
    }

    fn build(&self, file: &'static str, text: &str, options: &[String]) -> Result<Vec<u8>, CudaError> {
        let nvrtc = |e: result::NvrtcError| CudaError::Nvrtc(format!("{file}: {e}"));
        let text = CString::new(text).map_err(|e| CudaError::Nvrtc(e.to_string()))?;
        let program = Program(result::create_program(&text, None).map_err(nvrtc)?);
        // SAFETY: the program lives until the end of this function; the options outlive the call.
        if let Err(e) = unsafe { result::compile_program(program.0, options) } {
            return Err(CudaError::Compile {
                file,
                architecture: self.architecture.clone(),
                log: format!("{}{e}", program.log()),
            });
        }
        let mut size = 0;
        // SAFETY: as above; `code` has the size that the library returned.
        unsafe {
            sys::nvrtcGetCUBINSize(program.0, &mut size).result().map_err(nvrtc)?;
            let mut code = vec![0_u8; size];
            sys::nvrtcGetCUBIN(program.0, code.as_mut_ptr().cast()).result().map_err(nvrtc)?;
            Ok(code)
        }
    }
}

struct Program(sys::nvrtcProgram);

impl Program {
    fn log(&self) -> String {
        // SAFETY: the program is alive.
        let log = unsafe { result::get_program_log(self.0) }.unwrap_or_default();
        // c_char to the byte it is.
        let bytes: Vec<u8> = log.into_iter().map(|c| c as u8).take_while(|c| *c != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: destroyed once, here.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// Hopper's and Blackwell's own instructions (wgmma) exist only in the `a` variants.
fn architecture((major, minor): (u32, u32)) -> String {
    let own = if major >= 9 { "a" } else { "" };
    format!("sm_{major}{minor}{own}")
}

/// Returns the cache's folder: in `AH_CACHE_DIR`, else in the user's cache folder.
fn folder() -> Option<PathBuf> {
    let set = std::env::var_os("AH_CACHE_DIR").filter(|path| !path.is_empty()).map(PathBuf::from);
    let folder = set.or_else(|| Some(choose_base_strategy().ok()?.cache_dir().join("ah-collect")))?;
    Some(folder.join("cubin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures() {
        assert_eq!(architecture((9, 0)), "sm_90a");
        assert_eq!(architecture((8, 6)), "sm_86");
    }
}
