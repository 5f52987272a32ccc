//! The file of `TORCHINDUCTOR_MM_LOGGING_FILE`: the matrix products that PyTorch's Inductor benchmarks
//! (`get_mm_log_filename` and `log_results` in `torch/_inductor/select_algorithm.py`).
//!
//! It is a list: `{"invoke": "(M, K, N)"}` for each call, and `{"(M, K, N)": [choice, …]}` for each benchmark, with times
//! in ms. It has no element types and no layouts: keep the products of different types in different files.

use ah_types::shown::quoted;
use serde_json::Value as Json;

use super::document::{Results, misfit, typed};
use super::inductor_results::triton_name;
use super::tool::Tool;
use crate::error::Fault;

pub const TOOL: Tool = Tool {
    name: "a log of TORCHINDUCTOR_MM_LOGGING_FILE",
    is: |document| document.pointer("/0/invoke").is_some_and(Json::is_string),
    read,
    time: "time",
    ..Tool::PLAIN
};

fn read(document: &Json) -> Result<Results, Fault> {
    let entries = document.as_array().into_iter().flatten();
    let mut rows = Vec::new();
    for (shape, choices) in entries.filter_map(Json::as_object).flatten().filter(|(key, _)| *key != "invoke")
    {
        let sizes: Vec<&str> = shape
            .trim_matches(['(', ')'])
            .split(',')
            .map(str::trim)
            .filter(|size| !size.is_empty())
            .collect();
        let &[m, k, n] = &sizes[..] else {
            return Err(misfit("the sizes \"(M, K, N)\" as keys", quoted(shape)));
        };
        for choice in choices.as_array().into_iter().flatten() {
            let mut row = choice.as_object().cloned().unwrap_or_default();
            let name = match choice.get("type").and_then(Json::as_str) {
                Some("triton") => {
                    let block = |name: &str| choice.get(name).map(Json::to_string);
                    let tile = ["BLOCK_M", "BLOCK_K", "BLOCK_N"].map(block);
                    triton_name(choice, tile)
                }
                // PyTorch's AutoHeuristic calls cuBLAS by its operator.
                Some("cublas") => Some("extern_mm".to_owned()),
                Some(other) => Some(other.to_owned()),
                None => None,
            };
            let expected =
                "choices with a type, and for Triton BLOCK_M, BLOCK_K, BLOCK_N, num_stages and num_warps";
            let name = name.ok_or_else(|| misfit(expected, quoted(&choice.to_string())))?;
            row.extend([("m", m), ("k", k), ("n", n)].map(|(name, size)| (name.to_owned(), typed(size))));
            row.insert("choice".to_owned(), name.into());
            rows.push((Some(shape.clone()), row));
        }
    }
    Ok(Results {
        rows,
        features: ["m", "k", "n"].map(str::to_owned).into(),
        choice: vec!["choice".to_owned()],
    })
}
