//! `--list`: what can be measured.

use std::fmt::Write as _;

use ah_measure::Subject;
use ah_types::Optimization;

use crate::backend::{self, Backend};
use crate::collect::CollectError;

/// The optimizations (or the one of this name) with features, fallback and choices on `backend`.
///
/// # Errors
/// There is no optimization of this name.
pub fn list(name: Option<&str>, backend: Backend, device: u32) -> Result<String, CollectError> {
    let mut text = String::new();
    let names: Vec<&str> = match (name, backend) {
        (Some(name), _) => vec![name],
        (None, Backend::Fake) => vec!["fake"],
        (None, _) => Optimization::built_in_names().collect(),
    };
    for name in names {
        let optimization = backend::optimization(name, backend)?;
        let _ = writeln!(text, "{}: {}", optimization.name, optimization.description);
        let features: Vec<_> = optimization.features.iter().map(|f| f.name.clone()).collect();
        match backend::open(optimization, backend, device, false) {
            Ok(runner) => {
                let Subject { optimization, device, choices, .. } = runner.subject();
                let fallback = optimization.fallback_among(choices).unwrap_or("the best single choice");
                let _ = writeln!(text, "  features: {}", features.join(", "));
                let _ = writeln!(text, "  fallback: {fallback}");
                let _ = writeln!(text, "  {} choices on {}:", choices.len(), device);
                for choice in choices {
                    let _ = writeln!(text, "    {choice}");
                }
            }
            Err(CollectError::Usage(_)) => {
                let _ = writeln!(text, "  features: {}", features.join(", "));
                let _ = writeln!(text, "  not measured with --backend {backend}");
            }
            Err(e) => return Err(e),
        }
    }
    text.truncate(text.trim_end().len());
    Ok(text)
}
