//! The two files in which PyTorch's Inductor keeps what it benchmarks, with times in ms. The choices have the names of
//! PyTorch's AutoHeuristic.

use ah_model::Fault;
use ah_model::shown::quoted;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::tool::{NamedRow, part};
use crate::error::bad_file;
use crate::preset::Preset;

/// The file of `TORCHINDUCTOR_MM_LOGGING_FILE`: the matrix products (`get_mm_log_filename` and `log_results` in
/// `torch/_inductor/select_algorithm.py`).
///
/// It is a list: `{"invoke": "(M, K, N)"}` for each call, and `{"(M, K, N)": [choice, …]}` for each benchmark. It has no
/// element types and no layouts: keep the products of different types in different files.
pub fn read_products(document: &Json, roles: &mut Preset) -> Result<Vec<NamedRow>, Fault> {
    let mut rows = Vec::new();
    let entries = part::<Vec<Map<String, Json>>>(document)?.into_iter().flatten();
    for (shape, choices) in entries.filter(|(key, _)| *key != "invoke") {
        let &[m, k, n] = &numbers(&shape)[..] else {
            return Err(bad_file("the sizes \"(M, K, N)\" as keys", quoted(&shape)));
        };
        for mut row in part::<Vec<Map<String, Json>>>(&choices)? {
            let choice = match row.get("type").and_then(Json::as_str) {
                Some("triton") => part::<Template>(&row.clone().into())?.name(),
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
    roles.features.extend(["m", "k", "n"].map(str::to_owned));
    roles.choice.insert("choice".to_owned());
    Ok(rows)
}

/// The options of a Triton template.
#[derive(Deserialize)]
struct Template {
    #[serde(rename = "BLOCK_M")]
    m: u64,
    #[serde(rename = "BLOCK_K")]
    k: u64,
    #[serde(rename = "BLOCK_N")]
    n: u64,
    num_stages: u64,
    num_warps: u64,
}

impl Template {
    /// Returns the choice's name in PyTorch's AutoHeuristic.
    fn name(&self) -> String {
        let Self { m, k, n, num_stages, num_warps } = self;
        format!("type=triton_BLOCK-M={m}_BLOCK-K={k}_BLOCK-N={n}_numstages={num_stages}_numwarps={num_warps}")
    }
}

#[derive(Deserialize)]
struct Benchmark<'a> {
    backend: &'a str,
    kernel_call_name: Option<&'a str>,
    /// `(BLOCK_M, BLOCK_K, BLOCK_N)`
    tile_shape: Option<&'a str>,
    num_stages: Option<u64>,
    num_warps: Option<u64>,
    input_nodes: Vec<Node<'a>>,
}

/// A matrix, or a batch of them.
#[derive(Deserialize)]
struct Node<'a> {
    size: &'a str,
    stride: &'a str,
    dtype: &'a str,
}

/// `autotuning_result_json_list.txt`, which Inductor writes with `TORCH_COMPILE_DEBUG=1` and `LOG_AUTOTUNE_RESULTS=1`
/// (`log_autotuning_results` in `torch/_inductor/debug.py`): a choice of an operation a line. The features are those that
/// PyTorch's AutoHeuristic gives to `mm`.
pub fn read_result(record: &Json, roles: &mut Preset) -> Result<Vec<NamedRow>, Fault> {
    let benchmark: Benchmark<'_> = part(record)?;
    let nodes = &benchmark.input_nodes;
    // A bias comes before the matrices.
    let [.., first, second] = &nodes[..] else {
        return Err(bad_file("two matrices in \"input_nodes\"", format!("{} nodes", nodes.len())));
    };
    let mut features = Map::new();
    let (mat1, mat2) = (first.matrix()?, second.matrix()?);
    let ([m, k], [_, n]) = (mat1.size, mat2.size);
    if mat1.batch != mat2.batch {
        return Err(bad_file("two matrices of one batch", quoted(&record["input_nodes"].to_string())));
    }
    features.extend(mat1.batch.map(|batch| ("b".to_owned(), batch.into())));
    features.extend([("m", m), ("k", k), ("n", n)].map(|(name, size)| (name.to_owned(), size.into())));
    for (name, node, Matrix { size, stride, .. }) in [("mat1", first, mat1), ("mat2", second, mat2)] {
        features.insert(format!("{name}_dtype"), node.dtype.into());
        for (i, stride) in stride.into_iter().enumerate() {
            features.insert(format!("{name}_stride_{i}"), stride.into());
        }
        features.insert(format!("{name}_iscontig"), (stride == [size[1], 1]).into());
    }
    roles.features.extend(features.keys().cloned());
    roles.choice.insert("choice".to_owned());
    let mut row = record.as_object().cloned().unwrap_or_default();
    row.extend(features);
    row.insert("choice".to_owned(), benchmark.choice()?.into());
    Ok(vec![(None, row)])
}

/// One matrix, and the number of those in its batch.
struct Matrix {
    batch: Option<u64>,
    size: [u64; 2],
    stride: [u64; 2],
}

impl Node<'_> {
    fn matrix(&self) -> Result<Matrix, Fault> {
        let (batch, size, stride) = match (&numbers(self.size)[..], &numbers(self.stride)[..]) {
            (&[rows, columns], &[a, b]) => (None, [rows, columns], [a, b]),
            (&[batch, rows, columns], &[_, a, b]) => (Some(batch), [rows, columns], [a, b]),
            _ => {
                let expected = "the size and the stride of a matrix, or of a batch of them";
                return Err(bad_file(expected, quoted(&format!("{} and {}", self.size, self.stride))));
            }
        };
        Ok(Matrix { batch, size, stride })
    }
}

impl Benchmark<'_> {
    /// Returns the choice's name in PyTorch's AutoHeuristic.
    fn choice(&self) -> Result<String, Fault> {
        let tile = numbers(self.tile_shape.unwrap_or_default());
        match (self.backend, self.kernel_call_name, &tile[..], self.num_stages.zip(self.num_warps)) {
            ("extern", Some(call), ..) => {
                Ok(format!("extern_{}", call.strip_prefix("extern_kernels.").unwrap_or(call)))
            }
            ("Triton", _, &[m, k, n], Some((num_stages, num_warps))) => {
                Ok(Template { m, k, n, num_stages, num_warps }.name())
            }
            _ => {
                let expected = "the backend extern with a kernel_call_name, or Triton with tile_shape, num_stages and \
                                num_warps";
                Err(bad_file(expected, quoted(self.backend)))
            }
        }
    }
}

/// Returns the whole numbers in text such as `(64, 128)` or `[64, 128]`; none if one part is no number.
fn numbers(text: &str) -> Vec<u64> {
    let parts = text.trim_matches(['(', ')', '[', ']']).split(',').map(str::trim);
    let numbers = parts.filter(|part| !part.is_empty()).map(|part| part.parse().ok());
    numbers.collect::<Option<_>>().unwrap_or_default()
}
