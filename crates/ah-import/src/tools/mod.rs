//! Reads the JSON of tuners and benchmark tools as rows of a table. The defaults of a tool describe its
//! columns, so that few flags are needed.
//!
//! Adding a tool is one file and one line of [`KNOWN`].

mod document;
mod google_benchmark;
mod hyperfine;
mod kernel_tuner;
mod t4;

use ah_types::shown::listed;
use serde_json::{Map, Value as Json};

use document::Misfit;
pub use document::{NamedRow, Results};

/// A tool's format.
struct Tool {
    name: &'static str,
    /// A key that only this tool's documents have.
    mark: &'static str,
    read: fn(&Json) -> Result<Results, Misfit>,
}

const KNOWN: [Tool; 4] = [
    Tool { name: "a cache of Kernel Tuner", mark: "/tune_params_keys", read: kernel_tuner::read },
    Tool { name: "T4 results", mark: "/results/0/configuration", read: t4::read },
    Tool { name: "results of Google Benchmark", mark: "/benchmarks/0/name", read: google_benchmark::read },
    Tool { name: "results of hyperfine", mark: "/results/0/command", read: hyperfine::read },
];

/// Reads the document of a known tool.
pub fn recognize(document: &Json) -> Result<Results, Misfit> {
    if let Some(tool) = KNOWN.iter().find(|tool| document.pointer(tool.mark).is_some()) {
        return (tool.read)(document).map_err(|misfit| Misfit {
            expected: format!("{} with {}", tool.name, misfit.expected),
            ..misfit
        });
    }
    let names: Vec<&str> = KNOWN.iter().map(|tool| tool.name).collect();
    let keys: Vec<&str> = document.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    Err(Misfit::new(
        format!("a list of objects, or one of these: {}", names.join(", ")),
        format!("an object with the keys {}", listed(keys)),
    ))
}

/// Completes the document of a tool that was interrupted or is still writing: Kernel Tuner closes its cache
/// only at the end.
pub fn mended(document: &str) -> Option<Json> {
    let open = document.trim_end().trim_end_matches(',');
    serde_json::from_str(&format!("{open}}}}}")).ok()
}
