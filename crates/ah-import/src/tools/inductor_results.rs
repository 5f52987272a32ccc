//! `autotuning_result_json_list.txt`, which PyTorch's Inductor writes with `TORCH_COMPILE_DEBUG=1` and
//! `LOG_AUTOTUNE_RESULTS=1` (`log_autotuning_results` in `torch/_inductor/debug.py`): a choice of an operation a line,
//! with times in ms.
//!
//! The features are those that PyTorch's AutoHeuristic gives to `mm`, and the choices have its names.

use ah_types::shown::quoted;
use serde_json::{Map, Value as Json};

use super::document::{Results, has, list, misfit, shapes, text};
use super::tool::Tool;
use crate::error::Fault;

const TIME: &str = "benchmark_result";

pub const TOOL: Tool = Tool {
    name: "Inductor's list of autotuning results",
    is: |record| has(record, &["backend", "op_name", "input_nodes", TIME]),
    read,
    time: TIME,
    ..Tool::PLAIN
};

fn read(record: &Json) -> Result<Results, Fault> {
    let mut row = record.as_object().cloned().unwrap_or_default();
    let nodes = list(record, "input_nodes")?;
    // A bias comes before the matrices.
    let [.., first, second] = &nodes[..] else {
        return Err(misfit("two matrices in \"input_nodes\"", format!("{} nodes", nodes.len())));
    };
    let mut features = Map::new();
    let first = Matrix::new(first)?;
    let second = Matrix::new(second)?;
    if first.batch != second.batch {
        return Err(misfit("two matrices of one batch", quoted(&record["input_nodes"].to_string())));
    }
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
        let numbers = |key| Ok::<_, Fault>(shapes(text(node, key)?).into_iter().next().unwrap_or_default());
        let (size, stride) = (numbers("size")?, numbers("stride")?);
        let (batch, size, stride) = match (&size[..], &stride[..]) {
            (&[rows, columns], &[a, b]) => (None, [rows, columns], [a, b]),
            (&[batch, rows, columns], &[_, a, b]) => (Some(batch), [rows, columns], [a, b]),
            _ => {
                let expected = "the size and the stride of a matrix, or of a batch of them";
                return Err(misfit(expected, quoted(&node.to_string())));
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
            let tile = shapes(text(record, "tile_shape")?).into_iter().next().unwrap_or_default();
            triton_name(record, std::array::from_fn(|i| tile.get(i).map(u64::to_string)))
        }
        _ => None,
    };
    let expected =
        "the backend extern with a kernel_call_name, or Triton with tile_shape, num_stages and num_warps";
    name.ok_or_else(|| misfit(expected, quoted(&record["backend"].to_string())))
}

/// Returns the name of a Triton template with the tile (`BLOCK_M`, `BLOCK_K`, `BLOCK_N`).
pub fn triton_name(options: &Json, tile: [Option<String>; 3]) -> Option<String> {
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
