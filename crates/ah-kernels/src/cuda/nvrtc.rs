//! Compiles CUDA C++ for the device at hand, and keeps the machine code on disk by source, headers, options,
//! architecture and compiler version.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ah_measure::lock;
use cudarc::nvrtc::{result, sys};
use etcetera::{BaseStrategy as _, choose_base_strategy};

use super::error::CudaError;
use super::kernels;
use super::owned::Owned;

/// The source of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source {
    /// The file's name, for messages.
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
    /// `None` for one of our files, which is compiled after [`kernels::COMMON`].
    user: Option<&'static User>,
}

/// What a user's file is compiled with.
#[derive(Debug, PartialEq, Eq, Hash)]
struct User {
    options: Vec<String>,
    /// The hash of all headers, which is a part of the cache's key; `None` if they cannot be told, so nothing is kept on disk.
    headers: Option<String>,
}

impl Source {
    /// A file of ours.
    pub(crate) const fn shipped(file: &'static str, text: &'static str) -> Self {
        Self { file, text, user: None }
    }

    /// A user's file, which finds its headers in these folders. It stays in memory until the process ends, because
    /// a process measures only one.
    pub(crate) fn of_user(file: String, text: String, folders: &[PathBuf], mut options: Vec<String>) -> Self {
        let headers = headers_hash(&text, folders, &options);
        options.extend(folders.iter().map(|folder| format!("--include-path={}", folder.display())));
        let user = Box::leak(Box::new(User { options, headers }));
        Self { file: file.leak(), text: text.leak(), user: Some(user) }
    }
}

/// The name of [`kernels::COMMON`] in messages.
const COMMON_FILE: &str = "common.cuh";

/// The compiler for one device; the [module](self) describes its cache.
#[derive(Debug)]
pub(crate) struct Compiler {
    architecture: String,
    pub(super) version: (i32, i32),
    folder: Option<PathBuf>,
    /// Machine code that is not kept on disk, by key.
    kept: Mutex<HashMap<String, Vec<u8>>>,
}

impl Compiler {
    /// Makes the compiler for a device of this compute capability.
    pub(crate) fn new(capability: (u32, u32)) -> Result<Self, CudaError> {
        let mut version = (0, 0);
        // SAFETY: two valid places to write to; the library is loaded.
        unsafe { sys::nvrtcVersion(&mut version.0, &mut version.1) }
            .result()
            .map_err(|e| CudaError::Unusable(format!("NVRTC cannot tell its version: {e}")))?;
        Ok(Self { architecture: architecture(capability), version, folder: folder(), kept: Mutex::default() })
    }

    /// The machine code of `source` under these definitions (`NAME=VALUE`).
    pub(crate) fn compile(&self, source: Source, defines: &[String]) -> Result<Vec<u8>, CudaError> {
        let own = format!("#line 1 \"{}\"\n{}", source.file, source.text);
        let mut options = vec![format!("--gpu-architecture={}", self.architecture), "--std=c++17".to_owned()];
        options.extend(defines.iter().map(|d| format!("-D{d}")));
        let (text, headers) = match source.user {
            None => {
                // Our helpers have no __device__.
                options.push("-default-device".to_owned());
                (format!("#line 1 \"{COMMON_FILE}\"\n{}\n{own}", kernels::COMMON), Some(""))
            }
            Some(user) => {
                options.extend_from_slice(&user.options);
                (own, user.headers.as_deref())
            }
        };
        let version = format!("{:?}", self.version);
        let mut hash = blake3::Hasher::new();
        for part in options.iter().map(String::as_str).chain([&*text, &*version, headers.unwrap_or_default()])
        {
            hash.update(part.as_bytes()).update(&[0]);
        }
        let key = hash.finalize().to_hex().to_string();
        let path = headers.and(self.folder.as_ref()).map(|folder| folder.join(format!("{key}.cubin")));
        let found = match &path {
            Some(path) => std::fs::read(path).ok(),
            None => lock(&self.kept).get(&key).cloned(),
        };
        if let Some(code) = found {
            return Ok(code);
        }
        let code = self.build(source.file, &text, &options)?;
        match path {
            // A cache that cannot be written costs only time.
            Some(path) => _ = ah_model::artefact::write_atomic(&path, &code),
            None => _ = lock(&self.kept).insert(key, code.clone()),
        }
        Ok(code)
    }

    fn build(&self, file: &'static str, text: &str, options: &[String]) -> Result<Vec<u8>, CudaError> {
        let nvrtc = |e: result::NvrtcError| CudaError::Unusable(format!("NVRTC: {file}: {e}"));
        let text = CString::new(text).map_err(|e| CudaError::Unusable(format!("NVRTC: {file}: {e}")))?;
        let program = result::create_program(&text, None).map_err(nvrtc)?;
        // SAFETY: the program is new, and this is its destructor.
        let program = unsafe { Owned::new(program, result::destroy_program) };
        // SAFETY: the program lives until the end of this function; the options outlive the call.
        if let Err(e) = unsafe { result::compile_program(program.value, options) } {
            // SAFETY: as above.
            let log = unsafe { result::get_program_log(program.value) }.unwrap_or_default();
            // c_char to the byte it is.
            let bytes: Vec<u8> = log.into_iter().map(|c| c as u8).take_while(|c| *c != 0).collect();
            let log = format!("{}{e}", String::from_utf8_lossy(&bytes));
            return Err(CudaError::Compile { file, architecture: self.architecture.clone(), log });
        }
        let mut size = 0;
        // SAFETY: as above; `code` has the size that the library returned.
        unsafe {
            sys::nvrtcGetCUBINSize(program.value, &mut size).result().map_err(nvrtc)?;
            let mut code = vec![0_u8; size];
            sys::nvrtcGetCUBIN(program.value, code.as_mut_ptr().cast()).result().map_err(nvrtc)?;
            Ok(code)
        }
    }
}

/// A hash of the headers that a file includes, theirs included, if it finds them in these folders. Conditions are not evaluated,
/// so there may be more headers than the compiler reads. A header that is in none of the folders is the compiler's own.
/// `None` where a macro names a header, or an option includes one or names a folder.
fn headers_hash(text: &str, folders: &[PathBuf], options: &[String]) -> Option<String> {
    if options.iter().any(|option| option.contains("-include") || option.starts_with("-I")) {
        return None;
    }
    let mut hash = blake3::Hasher::new();
    let mut found = HashSet::new();
    // Each text with the folder that it lies in.
    let mut texts: Vec<(String, Option<PathBuf>)> = vec![(text.to_owned(), None)];
    while let Some((text, own)) = texts.pop() {
        for line in text.lines() {
            let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
            let Some(name) = directive.and_then(|line| line.strip_prefix("include")) else { continue };
            let name = name.trim_start();
            let name = name
                .strip_prefix('"')
                .and_then(|name| name.split_once('"'))
                .or_else(|| name.strip_prefix('<').and_then(|name| name.split_once('>')))?
                .0;
            let places = own.iter().chain(folders);
            let Some(path) = places.map(|folder| folder.join(name)).find(|path| path.is_file()) else {
                continue;
            };
            if found.insert(path.clone()) {
                let bytes = std::fs::read(&path).ok()?;
                hash.update(path.as_os_str().as_encoded_bytes()).update(&[0]);
                hash.update(blake3::hash(&bytes).as_bytes());
                let folder = path.parent().map(Path::to_owned);
                texts.push((String::from_utf8_lossy(&bytes).into_owned(), folder));
            }
        }
    }
    Some(hash.finalize().to_hex().to_string())
}

/// Hopper's and Blackwell's own instructions (wgmma) exist only in the `a` variants.
fn architecture(capability: (u32, u32)) -> String {
    let (major, minor) = capability;
    let own = if major >= 9 { "a" } else { "" };
    format!("sm_{major}{minor}{own}")
}

/// The cache's folder: in `AH_CACHE_DIR`, else in the user's cache folder.
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

    #[test]
    fn an_edited_header_is_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        write("tile.cuh", "  # include <inner/sum.cuh>\n#include <cuda_fp16.h>\n");
        write("inner/sum.cuh", "#include \"step.cuh\"\n#include \"../tile.cuh\"\n");
        write("inner/step.cuh", "#define STEP 1\n");
        let source = "#pragma once\n#include \"tile.cuh\"\n";
        let hash = || headers_hash(source, &[folder.path().to_owned()], &[]).unwrap();
        let before = hash();
        assert_eq!(before, hash());
        write("inner/step.cuh", "#define STEP 2\n");
        assert_ne!(before, hash());
    }

    #[test]
    fn headers_that_cannot_be_told_are_not_kept() {
        assert!(headers_hash("#include HEADER\n", &[], &[]).is_none());
        assert!(headers_hash("", &[], &["--pre-include=a.cuh".to_owned()]).is_none());
        assert!(headers_hash("", &[], &["-Ia".to_owned()]).is_none());
        assert!(headers_hash("", &[], &["--use_fast_math".to_owned()]).is_some());
    }
}
