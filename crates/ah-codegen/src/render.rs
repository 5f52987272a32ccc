//! The templates: those of this crate, which a user's folder can replace one by one, and further ones in that
//! folder.

use std::collections::BTreeMap;
use std::path::Path;

use ah_types::artefact::read_text;
use include_dir::{Dir, include_dir};
use tera::Tera;

use crate::error::CodegenError;
use crate::files::Files;
use crate::target::{OutputPlace, View};

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");
const ENDING: &str = ".tera";

/// All templates of all targets; names are paths such as `rust/src/lib.rs`.
pub(crate) struct Templates {
    tera: Tera,
}

impl Templates {
    /// Loads the templates. `folder` has a subfolder for each target, like `templates` beside `src`. Other
    /// templates include the files whose names start with `_`.
    pub(crate) fn load(folder: Option<&Path>) -> Result<Self, CodegenError> {
        let mut sources = BTreeMap::new();
        collect_embedded(&TEMPLATES, &mut sources);
        if let Some(folder) = folder {
            collect_folder(folder, folder, &mut sources)?;
        }
        let mut tera = Tera::default();
        // The output is not HTML; strings are escaped by the rules of their language.
        tera.autoescape_on(Vec::new());
        tera.add_raw_templates(sources).map_err(|e| CodegenError::template(&e))?;
        Ok(Self { tera })
    }

    /// Renders the templates of the target of this name.
    pub(crate) fn render(&self, target: &str, view: &View) -> Result<Files, CodegenError> {
        let render = |name: &str| -> Result<String, CodegenError> {
            let mut text = self.tera.render(name, &view.context).map_err(|e| CodegenError::template(&e))?;
            text.truncate(text.trim_end().len());
            text.push('\n');
            Ok(text)
        };
        if let OutputPlace::Data { files, .. } = &view.place {
            return Ok(files.clone());
        }
        let prefix = format!("{target}/");
        if let OutputPlace::File { template, .. } = view.place {
            return Ok(Files::from([(String::new(), render(&format!("{prefix}{template}"))?)]));
        }
        let mut files = Files::new();
        for name in self.tera.get_template_names() {
            let Some(path) = name.strip_prefix(&prefix) else { continue };
            let partial = path.rsplit('/').next().is_some_and(|file| file.starts_with('_'));
            let text = if partial { String::new() } else { render(name)? };
            // A template that prints nothing is for other models.
            if !text.trim().is_empty() {
                files.insert(path.to_owned(), text);
            }
        }
        Ok(files)
    }
}

fn collect_embedded(dir: &Dir<'_>, sources: &mut BTreeMap<String, String>) {
    for file in dir.files() {
        if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8())
            && let Some(name) = path.strip_suffix(ENDING)
        {
            sources.insert(name.replace('\\', "/"), text.to_owned());
        }
    }
    dir.dirs().for_each(|inner| collect_embedded(inner, sources));
}

/// The largest template that is read.
const MAX_MIB: u64 = 16;

fn collect_folder(
    root: &Path,
    folder: &Path,
    sources: &mut BTreeMap<String, String>,
) -> Result<(), CodegenError> {
    let io = |path: &Path, source| CodegenError::Io { action: "read", path: path.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(|e| io(folder, e))? {
        let path = entry.map_err(|e| io(folder, e))?.path();
        if path.is_dir() {
            collect_folder(root, &path, sources)?;
            continue;
        }
        let relative = path.strip_prefix(root).unwrap_or(&path);
        let name = relative.to_str().ok_or_else(|| CodegenError::NotUnicode { path: path.clone() })?;
        if let Some(name) = name.strip_suffix(ENDING) {
            let text = read_text(&path, MAX_MIB).map_err(|e| io(&path, e))?;
            sources.insert(name.replace('\\', "/"), text);
        }
    }
    Ok(())
}
