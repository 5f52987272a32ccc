//! AITER: the CSV of its tuned matrix products, which gives a kernel for each shape (`get_CKGEMM_config` and
//! `get_GEMM_config_with_quant_type` in `aiter/ops/gemm_op_a8w8.py`).

use std::collections::BTreeSet;

use crate::error::CodegenError;
use crate::lower::LoweredModel;
use crate::pinned::TableError;
use crate::target::{Target, TargetOptions, View};

/// One CSV with a kernel for each shape.
#[derive(Clone, Copy, Debug)]
pub struct Aiter;

/// The columns that AITER looks a shape up by; those after `K` are for some of its operators.
const KEYS: [&str; 6] = ["gfx", "cu_num", "M", "N", "K", "q_dtype_w"];
/// The columns of a kernel. AITER finds the kernels of composable-kernel libraries by their numbers, others by `kernelName`, which
/// a log does not have.
const KERNEL: [&str; 3] = ["libtype", "kernelId", "splitK"];
const LIBRARIES: [&str; 2] = ["ck", "cktile"];
const FILE: &str = "tuned_gemm.csv";

impl Target for Aiter {
    fn name(&self) -> &'static str {
        "aiter"
    }

    fn view(&self, lowered: &LoweredModel<'_>, options: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let target = self.name();
        let rows = options.rows.as_ref().ok_or(TableError::NoRows { target })?;
        rows.check_given(target, &KEYS)?;
        let (mut keys, mut lines) = (BTreeSet::new(), Vec::new());
        let first = rows.rows().first();
        let columns: Vec<&str> =
            KEYS.into_iter().filter(|key| first.is_some_and(|row| rows.value(row, key).is_some())).collect();
        let has_library = rows.rows().iter().any(|row| row.choice.contains("libtype="));
        for row in rows.rows() {
            for column in ["cu_num", "M", "N", "K"] {
                rows.size(row, target, column)?;
            }
            let key: Vec<String> =
                columns.iter().map(|key| rows.value(row, key).unwrap_or_default()).collect();
            if let Some((column, value)) =
                columns.iter().zip(&key).find(|(_, cell)| cell.contains([',', '"', '\n']))
            {
                let (value, expected) = (value.clone(), "a cell without commas and quotes");
                return Err(TableError::Unusable { target, column, expected, value }.into());
            }
            let kernel = kernel(&row.choice, has_library)
                .ok_or_else(|| TableError::NotAConfiguration {
                    target,
                    expected: "kernelId and splitK as whole numbers, and a libtype of ck or cktile for all or none",
                    choice: row.choice.clone(),
                })?;
            let us = row.ms.map(|ms| format!("{:.4}", ms * 1e3)).unwrap_or_default();
            lines.push(format!("{},{},{us}", key.join(","), kernel.join(",")));
            if !keys.insert(key.clone()) {
                return Err(TableError::SameRow { row: key.join(",") }.into());
            }
        }
        let kernel = &KERNEL[usize::from(!has_library)..];
        let csv = format!("{},{},us\n{}\n", columns.join(","), kernel.join(","), lines.join("\n"));
        let all = (0..rows.rows().len()).collect();
        Ok(View::table(target, &lowered.model.heuristic, rows, vec![(FILE.to_owned(), csv, all)]))
    }
}

/// Returns the cells of a kernel.
fn kernel(choice: &str, has_library: bool) -> Option<Vec<String>> {
    let fields = ah_types::fields(choice)?;
    let cell = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.to_string());
    let number = |name: &str| cell(name).filter(|text| text.parse::<i64>().is_ok());
    let library = cell("libtype").filter(|library| LIBRARIES.contains(&library.as_str()));
    let numbers = [number("kernelId")?, number("splitK")?];
    let known = fields.iter().all(|(key, _)| KERNEL.contains(&key.as_str()));
    (known && library.is_some() == has_library).then(|| library.into_iter().chain(numbers).collect())
}
