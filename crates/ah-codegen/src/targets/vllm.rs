//! vLLM: the files of its fused mixture-of-experts kernel, which give a configuration for each number of tokens M
//! (`get_moe_configs` in `vllm/model_executor/layers/fused_moe/fused_moe.py`). SGLang reads the same files under other names.

use std::collections::BTreeMap;

use crate::error::CodegenError;
use crate::lower::LoweredModel;
use crate::pinned::{PinnedRow, PinnedRows, TableError, configuration};
use crate::target::{Target, TargetOptions, View};

/// One file of configurations for each size of a mixture of experts.
#[derive(Clone, Copy, Debug)]
pub struct Vllm;

/// What one reader of these files has for itself.
pub(super) struct Reader {
    /// The target's name.
    pub target: &'static str,
    /// Returns the reader's name of a device.
    pub device: fn(String) -> String,
    /// Returns the end of the file's name.
    pub suffix: fn(&PinnedRows, &PinnedRow) -> String,
}

/// The columns of the files' names and M.
const COLUMNS: [&str; 7] = ["E", "N", "M", "device_name", "dtype", "block_shape", "per_channel_quant"];
/// The fields that the kernel reads from every configuration.
const FIELDS: [&str; 4] = ["BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M"];

impl Target for Vllm {
    fn name(&self) -> &'static str {
        "vllm"
    }

    fn view(&self, lowered: &LoweredModel<'_>, options: &TargetOptions<'_>) -> Result<View, CodegenError> {
        let reader = Reader {
            target: self.name(),
            // One file is for all H200s.
            device: |name| {
                if name.split('_').any(|part| part == "H200") { "NVIDIA_H200".to_owned() } else { name }
            },
            // vLLM writes [128,128] into the name.
            suffix: |rows, row| {
                let shape = rows.value(row, "block_shape").map(|shape| shape.replace(' ', ""));
                shape.map(|shape| format!(",block_shape={shape}")).unwrap_or_default()
            },
        };
        fused_moe(&reader, lowered, options)
    }
}

/// Returns the files of a reader of configurations for fused mixtures of experts.
pub(super) fn fused_moe(
    reader: &Reader,
    lowered: &LoweredModel<'_>,
    options: &TargetOptions<'_>,
) -> Result<View, CodegenError> {
    let target = reader.target;
    let rows = options.rows.as_ref().ok_or(TableError::NoRows { target })?;
    rows.check_given(target, &COLUMNS)?;
    let mut tables: BTreeMap<String, BTreeMap<u64, usize>> = BTreeMap::new();
    for (index, row) in rows.rows().iter().enumerate() {
        let file = file_name(reader, lowered, rows, row)?;
        let m = rows.size(row, target, "M")?;
        let row = format!("M = {m} of {file}");
        if tables.entry(file).or_default().insert(m, index).is_some() {
            return Err(TableError::SameRow { row }.into());
        }
    }
    let mut files = Vec::new();
    for (file, table) in tables {
        let entry = |(m, index): (&u64, &usize)| {
            let choice = &rows.rows()[*index].choice;
            let expected = "whole numbers as fields, BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K and GROUP_SIZE_M among them";
            let fields = configuration(choice, &FIELDS).ok_or_else(|| TableError::NotAConfiguration {
                target,
                expected,
                choice: choice.clone(),
            })?;
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("        {}: {value}", serde_json::json!(key)))
                .collect();
            Ok::<_, TableError>(format!("    \"{m}\": {{\n{}\n    }}", fields.join(",\n")))
        };
        let entries: Vec<String> = table.iter().map(entry).collect::<Result<_, _>>()?;
        let text = format!("{{\n{}\n}}\n", entries.join(",\n"));
        files.push((file, text, table.into_values().collect()));
    }
    Ok(View::table(target, &lowered.model.heuristic, rows, files))
}

/// Returns the name under which the reader looks for the configurations of a row.
fn file_name(
    reader: &Reader,
    lowered: &LoweredModel<'_>,
    rows: &PinnedRows,
    row: &PinnedRow,
) -> Result<String, TableError> {
    let target = reader.target;
    let (experts, n) = (rows.size(row, target, "E")?, rows.size(row, target, "N")?);
    let column = "device_name";
    let learned = || lowered.model.device.as_ref().map(|device| device.name().to_owned());
    let device = rows.value(row, column).or_else(learned).ok_or(TableError::NoColumn { target, column })?;
    let dtype = rows.value(row, "dtype").map(|dtype| format!(",dtype={dtype}")).unwrap_or_default();
    let device = (reader.device)(device.replace(' ', "_"));
    let expected = "a name without / \\ and control characters, because it is a part of the file's name";
    let is_part = |text: &str| !text.contains(['/', '\\']) && !text.contains(char::is_control);
    let rest = dtype + &(reader.suffix)(rows, row);
    for (column, value) in [(column, &device), ("dtype", &rest)] {
        if !is_part(value) {
            return Err(TableError::Unusable { target, column, expected, value: value.clone() });
        }
    }
    Ok(format!("E={experts},N={n},device_name={device}{rest}.json"))
}
