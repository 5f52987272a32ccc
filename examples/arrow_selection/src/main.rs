//! Measures both ways in which the Parquet reader applies a row selection, and the reader's own rule.
//!
//! ```sh
//! cargo run --release -- --max-seconds 100
//! ```

mod table;

use std::process::ExitCode;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelectionPolicy};

use table::Table;

fn main() -> ExitCode {
    ah_collect::decision("arrow_selection")
        .input(|rng| Scan { table: Table::draw(rng), batches: Vec::new() })
        .feature("run", |scan| scan.table.rows as f64 / scan.table.runs.len() as f64)
        .feature("selected", |scan| scan.table.selected as f64 / scan.table.rows as f64)
        .feature("batch", |scan| scan.table.batch_size)
        .feature("columns", |scan| scan.table.columns.len())
        .feature("text", |scan| scan.table.count(|column| column.is_text()))
        .feature("nullable", |scan| scan.table.count(|column| column.is_nullable))
        .feature("dictionary", |scan| scan.table.count(|column| column.is_dictionary))
        .feature("bytes", |scan| scan.table.bytes_per_row())
        .choice("today", |scan| scan.read(RowSelectionPolicy::default()))
        .choice("mask", |scan| scan.read(RowSelectionPolicy::Mask))
        .choice("selectors", |scan| scan.read(RowSelectionPolicy::Selectors))
        .check(Scan::is_right)
        .main()
}

/// One input: a table to read, and what a choice has read.
#[derive(Clone)]
struct Scan {
    table: Table,
    batches: Vec<RecordBatch>,
}

impl Scan {
    fn read(&mut self, policy: RowSelectionPolicy) {
        let (file, metadata) = (self.table.file.clone(), (*self.table.metadata).clone());
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_batch_size(self.table.batch_size)
            .with_row_selection(RowSelection::from(self.table.runs.to_vec()))
            .with_row_selection_policy(policy)
            .build();
        self.batches = reader.unwrap().map(|batch| batch.unwrap()).collect();
    }

    /// Whether the batches hold the selected rows.
    fn is_right(&self) -> bool {
        let all = &self.table.written;
        let expected = filter_record_batch(all, &self.table.mask()).unwrap();
        concat_batches(&all.schema(), &self.batches).unwrap() == expected
    }
}
