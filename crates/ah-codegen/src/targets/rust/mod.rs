//! Rust: a crate without dependencies by default, without std and without `unsafe`.
//!
//! It has the layout of `templates/rust`.

mod language;

use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::error::CodegenError;
use crate::lower::LoweredModel;
use crate::printing::text::rust_string;
use crate::printing::view::ModelView;
use crate::switch::Syntax;
use crate::target::{OutputPlace, Target, TargetOptions, View};
use language::{RustLanguage, krate};

/// A crate without dependencies and without std.
#[derive(Clone, Copy, Debug)]
pub struct Rust;

/// The values that Rust's templates print.
#[derive(Serialize)]
struct CrateView {
    /// The name of the crate.
    #[serde(rename = "crate")]
    name: String,
    /// The path from the crate to `ah-runtime`, as a string literal.
    runtime_path: Option<String>,
    /// The model's version, which a program can pin.
    model_version: String,
    #[serde(flatten)]
    model: ModelView,
}

impl Target for Rust {
    fn name(&self) -> &'static str {
        "rust"
    }

    fn syntax(&self) -> Option<Syntax> {
        Some(Syntax::Rust)
    }

    fn view(&self, lowered: &LoweredModel<'_>, options: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let mut name = krate(&lowered.model.heuristic);
        if package_around(options.out).is_some_and(|package| package.replace('-', "_") == name) {
            name += "_heuristic";
        }
        let model = ModelView::new(lowered, &RustLanguage::new(lowered));
        let from = options.out.join(&name);
        let runtime_path = options.runtime_path.map(|path| relative(&from, path)).transpose()?;
        View::new(
            OutputPlace::Folder(name.clone()),
            &CrateView { name, runtime_path, model_version: options.version.clone(), model },
        )
    }
}

/// Returns the name of the package that a folder is in: it cannot depend on a crate of its own name.
fn package_around(folder: &Path) -> Option<String> {
    let manifests = std::path::absolute(folder).ok()?;
    let mut manifests = manifests.ancestors().skip(1).map(|folder| folder.join("Cargo.toml"));
    let manifest = std::fs::read_to_string(manifests.find(|manifest| manifest.is_file())?).ok()?;
    let manifest: toml::Table = manifest.parse().ok()?;
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// Returns the path from the crate's folder to `path`, so that the crate builds wherever the repository is.
fn relative(from: &Path, path: &Path) -> Result<String, CodegenError> {
    let io = |path: &Path, source| CodegenError::Io { action: "find", path: path.to_owned(), source };
    let absolute = path.canonicalize().map_err(|e| io(path, e))?;
    // The crate's folder may not exist yet; its nearest ancestor does.
    let from = std::path::absolute(from).map_err(|e| io(from, e))?;
    let existing = from.ancestors().find(|a| a.exists()).unwrap_or(Path::new("/"));
    let rest = from.strip_prefix(existing).unwrap_or(Path::new(""));
    let from = existing.canonicalize().map_err(|e| io(existing, e))?.join(rest);
    let (a, b): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), absolute.components().collect());
    let shared = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let mut relative = PathBuf::new();
    relative.extend(a[shared..].iter().map(|_| ".."));
    relative.extend(&b[shared..]);
    let relative = relative.to_str().ok_or_else(|| CodegenError::NotUnicode { path: absolute.clone() })?;
    Ok(rust_string(&relative.replace('\\', "/")))
}
