//! The two files in which PyTorch's Inductor keeps what it benchmarks, with times in ms. The choices have the names of
//! PyTorch's AutoHeuristic.

use ah_types::Fault;
use ah_types::shown::quoted;
use serde_json::{Map, Value as Json};

use super::tool::{Results, Tool, has, list, text};
use crate::error::bad_file;

/// The file of `TORCHINDUCTOR_MM_LOGGING_FILE`: the matrix products (`get_mm_log_filename` and `log_results` in
/// `torch/_inductor/select_algorithm.py`).
///
/// It is a list: `{"invoke": "(M, K, N)"}` for each call, and `{"(M, K, N)": [choice, …]}` for each benchmark. It has no
/// element types and no layouts: keep the products of different types in different files.
pub const PRODUCTS: Tool = Tool {
    name: "a log of TORCHINDUCTOR_MM_LOGGING_FILE",
    is: |document| document.pointer("/0/invoke").is_some_and(Json::is_string),
    read: read_products,
    time: "time",
    failed: &[],
};

fn read_products(document: &Json) -> Result<Results, Fault> {
    let entries = document.as_array().into_iter().flatten();
    let mut rows = Vec::new();
    for (shape, choices) in entries.filter_map(Json::as_object).flatten().filter(|(key, _)| *key != "invoke")
    {
        let &[m, k, n] = &numbers(shape)[..] else {
            return Err(bad_file("the sizes \"(M, K, N)\" as keys", quoted(shape)));
        };
        for choice in choices.as_array().into_iter().flatten() {
            let mut row = choice.as_object().cloned().unwrap_or_default();
            let name = match choice.get("type").and_then(Json::as_str) {
                Some("triton") => {
                    let block = |name: &str| choice.get(name).map(Json::to_string);
                    triton_name(choice, ["BLOCK_M", "BLOCK_K", "BLOCK_N"].map(block))
                }
                // PyTorch's AutoHeuristic calls cuBLAS by its operator.
                Some("cublas") => Some("extern_mm".to_owned()),
                Some(other) => Some(other.to_owned()),
                None => None,
            };
            let expected =
                "choices with a type, and for Triton BLOCK_M, BLOCK_K, BLOCK_N, num_stages and num_warps";
            let name = name.ok_or_else(|| bad_file(expected, quoted(&choice.to_string())))?;
            row.extend([("m", m), ("k", k), ("n", n)].map(|(name, size)| (name.to_owned(), size.into())));
            row.insert("choice".to_owned(), name.into());
            rows.push((Some(shape.clone()), row));
        }
    }
    let features = ["m", "k", "n"].map(str::to_owned).into();
    Ok(Results { rows, features, choice: vec!["choice".to_owned()] })
}

/// `autotuning_result_json_list.txt`, which Inductor writes with `TORCH_COMPILE_DEBUG=1` and `LOG_AUTOTUNE_RESULTS=1`
/// (`log_autotuning_results` in `torch/_inductor/debug.py`): a choice of an operation a line. The features are those that
/// PyTorch's AutoHeuristic gives to `mm`.
pub const RESULTS: Tool = Tool {
    name: "Inductor's list of autotuning results",
    is: |record| has(record, &["backend", "op_name", "input_nodes", "benchmark_result"]),
    read: read_result,
    time: "benchmark_result",
    failed: &[],
};

fn read_result(record: &Json) -> Result<Results, Fault> {
    let mut row = record.as_object().cloned().unwrap_or_default();
    let nodes = list(record, "input_nodes")?;
    // A bias comes before the matrices.
    let [.., first, second] = &nodes[..] else {
        return Err(bad_file("two matrices in \"input_nodes\"", format!("{} nodes", nodes.len())));
    };
    let (first, second) = (Matrix::new(first)?, Matrix::new(second)?);
    if first.batch != second.batch {
        return Err(bad_file("two matrices of one batch", quoted(&record["input_nodes"].to_string())));
    }
    let mut features = Map::new();
    features.extend(first.batch.map(|batch| ("b".to_owned(), batch.into())));
    for (name, size) in [("m", first.size[0]), ("k", first.size[1]), ("n", second.size[1])] {
        features.insert(name.to_owned(), size.into());
    }
    for (name, matrix) in [("mat1", &first), ("mat2", &second)] {
        features.insert(format!("{name}_dtype"), matrix.dtype.into());
        for (i, stride) in matrix.stride.into_iter().enumerate() {
            features.insert(format!("{name}_stride_{i}"), stride.into());
        }
        features.insert(format!("{name}_iscontig"), (matrix.stride == [matrix.size[1], 1]).into());
    }
    let names = features.keys().cloned().collect();
    row.extend(features);
    row.insert("choice".to_owned(), choice(record)?.into());
    Ok(Results { rows: vec![(None, row)], features: names, choice: vec!["choice".to_owned()] })
}

/// A matrix, or one of a batch.
struct Matrix<'a> {
    batch: Option<u64>,
    size: [u64; 2],
    stride: [u64; 2],
    dtype: &'a str,
}

impl<'a> Matrix<'a> {
    fn new(node: &'a Json) -> Result<Self, Fault> {
        let (size, stride) = (numbers(text(node, "size")?), numbers(text(node, "stride")?));
        let (batch, size, stride) = match (&size[..], &stride[..]) {
            (&[rows, columns], &[a, b]) => (None, [rows, columns], [a, b]),
            (&[batch, rows, columns], &[_, a, b]) => (Some(batch), [rows, columns], [a, b]),
            _ => {
                let expected = "the size and the stride of a matrix, or of a batch of them";
                return Err(bad_file(expected, quoted(&node.to_string())));
            }
        };
        Ok(Self { batch, size, stride, dtype: text(node, "dtype")? })
    }
}

/// Returns the choice's name in PyTorch's AutoHeuristic.
fn choice(record: &Json) -> Result<String, Fault> {
    let name = match text(record, "backend")? {
        "extern" => {
            let call = text(record, "kernel_call_name")?;
            Some(format!("extern_{}", call.strip_prefix("extern_kernels.").unwrap_or(call)))
        }
        "Triton" => {
            // (BLOCK_M, BLOCK_K, BLOCK_N)
            let tile = numbers(text(record, "tile_shape")?);
            triton_name(record, std::array::from_fn(|i| tile.get(i).map(u64::to_string)))
        }
        _ => None,
    };
    let expected =
        "the backend extern with a kernel_call_name, or Triton with tile_shape, num_stages and num_warps";
    name.ok_or_else(|| bad_file(expected, quoted(&record["backend"].to_string())))
}

/// Returns the name of a Triton template with the tile (`BLOCK_M`, `BLOCK_K`, `BLOCK_N`).
fn triton_name(options: &Json, tile: [Option<String>; 3]) -> Option<String> {
    let [m, k, n] = tile;
    let option = |key: &str| options.get(key).filter(|value| value.is_number());
    Some(format!(
        "type=triton_BLOCK-M={}_BLOCK-K={}_BLOCK-N={}_numstages={}_numwarps={}",
        m?,
        k?,
        n?,
        option("num_stages")?,
        option("num_warps")?
    ))
}

/// Returns the whole numbers in text such as `(64, 128)` or `[64, 128]`; none if one part is no number.
fn numbers(text: &str) -> Vec<u64> {
    let parts = text.trim_matches(['(', ')', '[', ']']).split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()
        .unwrap_or_default()
}
