//! The file of `TORCHINDUCTOR_MM_LOGGING_FILE`, in which PyTorch's Inductor keeps the matrix products that it benchmarks, with times
//! in ms (`get_mm_log_filename` and `log_results` in `torch/_inductor/select_algorithm.py`). The choices have the names of PyTorch's
//! AutoHeuristic.

use ah_model::Fault;
use ah_model::shown::quoted;
use serde_json::Value as Json;

use super::tool::{NamedRow, Object, part};
use crate::error::bad_file;

/// Reads the products. The file is a list: `{"invoke": "(M, K, N)"}` for each call, and `{"(M, K, N)": [choice, …]}` for each benchmark. It has no
/// element types and no layouts: keep the products of different types in different files.
pub fn read(document: &Json) -> Result<Vec<NamedRow>, Fault> {
    let mut rows = Vec::new();
    let entries = part::<Vec<Object>>(document)?.into_iter().flatten();
    for (shape, choices) in entries.filter(|(key, _)| *key != "invoke") {
        let &[m, k, n] = &numbers(&shape)[..] else {
            return Err(bad_file("the sizes \"(M, K, N)\" as keys", quoted(&shape)));
        };
        for mut row in part::<Vec<Object>>(&choices)? {
            let choice = match row.get("type").and_then(Json::as_str) {
                Some("triton") => template(&row)?,
                // PyTorch's AutoHeuristic calls cuBLAS by its operator.
                Some("cublas") => "extern_mm".to_owned(),
                Some(other) => other.to_owned(),
                None => return Err(bad_file("choices with a type", quoted(&Json::from(row).to_string()))),
            };
            row.extend([("m", m), ("k", k), ("n", n)].map(|(name, size)| (name.to_owned(), size.into())));
            row.insert("choice".to_owned(), choice.into());
            rows.push((Some(shape.clone()), row));
        }
    }
    Ok(rows)
}

/// The name of a Triton template in PyTorch's AutoHeuristic, by its options.
fn template(options: &Object) -> Result<String, Fault> {
    let mut name = "type=triton".to_owned();
    for key in ["BLOCK_M", "BLOCK_K", "BLOCK_N", "num_stages", "num_warps"] {
        let value = options.get(key).and_then(Json::as_u64);
        let value =
            value.ok_or_else(|| bad_file(format!("a whole number {key} in each template"), "none"))?;
        let short = key.replace("BLOCK_", "BLOCK-").replace("num_", "num");
        name += &format!("_{short}={value}");
    }
    Ok(name)
}

/// The whole numbers in text such as `(64, 128)` or `[64, 128]`; none if one part is no number.
fn numbers(text: &str) -> Vec<u64> {
    let parts = text.trim_matches(['(', ')', '[', ']']).split(',').map(str::trim);
    let numbers = parts.filter(|part| !part.is_empty()).map(|part| part.parse().ok());
    numbers.collect::<Option<_>>().unwrap_or_default()
}
