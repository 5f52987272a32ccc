//! The skeletons of files: Tera templates with places for text. They have no logic but "if this part exists".

use std::sync::LazyLock;

use ah_types::expr::{LOG2_COEFFICIENTS, LOG2_LARGEST};
use include_dir::{Dir, include_dir};
use tera::{Context, Tera};

use crate::error::CodegenError;
use crate::names::Names;
use crate::page::mark;
use crate::plan::Planned;
use crate::target::Request;
use crate::text::{shown, toml_string};

static SKELETONS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

static TERA: LazyLock<Result<Tera, String>> = LazyLock::new(|| {
    fn collect(dir: &Dir<'_>, sources: &mut Vec<(String, String)>) {
        for file in dir.files() {
            if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8())
                && let Some(name) = path.strip_suffix(".tera")
            {
                sources.push((name.replace('\\', "/"), text.to_owned()));
            }
        }
        dir.dirs().for_each(|inner| collect(inner, sources));
    }
    let mut sources = Vec::new();
    collect(&SKELETONS, &mut sources);
    let mut tera = Tera::default();
    // The output is not HTML; strings are escaped by the rules of their language.
    tera.autoescape_on(Vec::new());
    tera.add_raw_templates(sources).map_err(|e| format!("{e:?}"))?;
    Ok(tera)
});

/// Returns what every skeleton may print.
pub fn values(request: &Request<'_>, names: &Names, planned: &Planned) -> Context {
    let model = request.model;
    let mut values = Context::new();
    values.insert("mark", &mark());
    values.insert("package", &names.package);
    values.insert("upper", &names.package.to_ascii_uppercase());
    values.insert("heuristic", &shown(&model.heuristic));
    values.insert("license", &request.license.map(shown).unwrap_or_default());
    values.insert("ranked", &request.ranked);
    values.insert("tables", &planned.tables.is_some());
    values.insert("boosters", &!model.boosters.is_empty());
    let helpers = planned.reads.iter().filter_map(|name| name.strip_suffix("()"));
    values.insert("helpers", &helpers.collect::<Vec<_>>());
    values.insert("log2", &LOG2_COEFFICIENTS.iter().rev().map(|c| format!("{c:?}")).collect::<Vec<_>>());
    values.insert("log2_largest", &format!("{LOG2_LARGEST:?}"));
    values.insert("version", env!("CARGO_PKG_VERSION"));
    values.insert(
        "runtime",
        &request.runtime.map(|path| toml_string(&path.display().to_string())).unwrap_or_default(),
    );
    values
}

/// Renders a skeleton. It does so twice: the second time `text` is the first result, by which the skeleton knows what it needs.
pub fn render(name: &str, values: &Context) -> Result<String, CodegenError> {
    let tera = TERA.as_ref().map_err(|problem| CodegenError::Skeleton { problem: problem.clone() })?;
    let (mut values, mut text) = (values.clone(), String::new());
    for _ in 0..2 {
        values.insert("text", &text);
        let rendered = tera.render(name, &values);
        text = rendered.map_err(|e| CodegenError::Skeleton { problem: format!("{e:?}") })?;
    }
    // One blank line between parts, whichever of them exist.
    let most = if name.ends_with(".py") { "\n\n\n\n" } else { "\n\n\n" };
    while text.contains(most) {
        text = text.replace(most, &most[1..]);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    Ok(text)
}
