//! A table in a Parquet file in memory, and the rows to select from it.

use std::sync::Arc;

use ah_collect::rand::Rng as _;
use ah_collect::sampling::{self, Rng};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelector};
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;

/// A table, and the rows to select. No choice changes it, so copies share the data.
#[derive(Clone)]
pub struct Table {
    pub columns: Arc<[Column]>,
    pub rows: usize,
    /// As it was written: what a choice reads must be rows of it.
    pub written: Arc<RecordBatch>,
    pub file: Bytes,
    pub metadata: Arc<ArrowReaderMetadata>,
    /// Runs of rows to skip and to select, in turns.
    pub runs: Arc<[RowSelector]>,
    pub selected: usize,
    pub batch_size: usize,
}

/// A column that is read. The metadata of its chunk says all of this but the length of a text.
#[derive(Clone, Debug)]
pub struct Column {
    kind: Kind,
    pub is_nullable: bool,
    /// Its values repeat, and the file holds each once.
    pub is_dictionary: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Int32,
    Int64,
    /// Texts of this mean length.
    Text(usize),
}

impl Column {
    fn draw(rng: &mut Rng) -> Self {
        let kind = match rng.random_range(0..4) {
            0 => Kind::Int32,
            1 => Kind::Int64,
            _ => Kind::Text(sampling::log_uniform(rng, 4, 128) as usize),
        };
        Self { kind, is_nullable: sampling::flag(rng, 0.3), is_dictionary: sampling::flag(rng, 0.4) }
    }

    pub fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text(_))
    }

    fn field(&self, name: &str) -> Field {
        let data_type = match self.kind {
            Kind::Int32 => DataType::Int32,
            Kind::Int64 => DataType::Int64,
            Kind::Text(_) => DataType::Utf8,
        };
        Field::new(name, data_type, self.is_nullable)
    }

    /// Random values; one in ten is null if the column has nulls.
    fn values(&self, rows: usize, rng: &mut Rng) -> ArrayRef {
        let distinct: u64 = if self.is_dictionary { 500 } else { 1 << 40 };
        let numbers: Vec<Option<u64>> = (0..rows)
            .map(|_| (!(self.is_nullable && sampling::flag(rng, 0.1))).then(|| rng.random_range(0..distinct)))
            .collect();
        let numbers = numbers.into_iter();
        match self.kind {
            Kind::Int32 => Arc::new(numbers.map(|n| Some(n? as i32)).collect::<Int32Array>()),
            Kind::Int64 => Arc::new(numbers.map(|n| Some(n? as i64)).collect::<Int64Array>()),
            Kind::Text(length) => {
                let text = |n: u64| {
                    let length = length / 2 + n as usize % (length + 1);
                    let digits = format!("{n:x}");
                    digits.chars().cycle().take(length).collect::<String>()
                };
                Arc::new(numbers.map(|n| n.map(text)).collect::<StringArray>())
            }
        }
    }
}

impl Table {
    /// One row group of one to four columns, 8,192 to 65,536 rows, and a selection whose runs have mean lengths of 1 to 1,024 rows to
    /// select and 1 to 4,096 to skip; each octave is as likely as any other.
    pub fn draw(rng: &mut Rng) -> Self {
        let rows = sampling::log_uniform(rng, 1 << 13, 1 << 16) as usize;
        let columns: Arc<[Column]> = (0..rng.random_range(1..=4)).map(|_| Column::draw(rng)).collect();
        let fields: Vec<Field> =
            (0..).zip(&*columns).map(|(at, column)| column.field(&format!("c{at}"))).collect();
        let schema = Arc::new(Schema::new(fields));
        let values = columns.iter().map(|column| column.values(rows, rng)).collect();
        let written = RecordBatch::try_new(Arc::clone(&schema), values).unwrap();
        let mut properties = WriterProperties::builder().set_encoding(Encoding::PLAIN);
        for (column, field) in columns.iter().zip(schema.fields()) {
            properties =
                properties.set_column_dictionary_enabled(field.name().as_str().into(), column.is_dictionary);
        }
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, schema, Some(properties.build())).unwrap();
        writer.write(&written).unwrap();
        writer.close().unwrap();
        let file = Bytes::from(file);
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
        let runs = draw_runs(rng, rows);
        let selected = runs.iter().filter(|run| !run.skip).map(|run| run.row_count).sum();
        let batch_size = *sampling::pick(rng, &[1024, 4096, 8192, 16384]);
        Self {
            columns,
            rows,
            written: Arc::new(written),
            file,
            metadata: Arc::new(metadata),
            runs,
            selected,
            batch_size,
        }
    }

    pub fn count(&self, has: impl Fn(&Column) -> bool) -> usize {
        self.columns.iter().filter(|column| has(column)).count()
    }

    /// The bytes of a row by the metadata of the column chunks, before compression.
    pub fn bytes_per_row(&self) -> f64 {
        let groups = self.metadata.metadata().row_groups();
        let chunks = groups.iter().flat_map(|group| group.columns());
        chunks.map(|chunk| chunk.uncompressed_size()).sum::<i64>() as f64 / self.rows as f64
    }

    /// The selection as a value for each row.
    pub fn mask(&self) -> BooleanArray {
        self.runs.iter().flat_map(|run| std::iter::repeat_n(Some(!run.skip), run.row_count)).collect()
    }
}

fn draw_runs(rng: &mut Rng, rows: usize) -> Arc<[RowSelector]> {
    let mean = |rng: &mut Rng, most| sampling::log_uniform(rng, 1, most) as f64;
    let (selected, skipped) = (mean(rng, 1024), mean(rng, 4096));
    let (mut runs, mut left) = (Vec::new(), rows);
    let mut skip = sampling::flag(rng, 0.5);
    while left > 0 {
        let mean = if skip { skipped } else { selected };
        // Geometric lengths, as of rows that a condition selects independently.
        let length = 1 + (rng.random_range(f64::MIN_POSITIVE..1.0).ln() * -(mean - 0.5)) as usize;
        let row_count = length.min(left);
        runs.push(RowSelector { row_count, skip });
        (left, skip) = (left - row_count, !skip);
    }
    // Without a row to read, nothing is decided.
    if runs.iter().all(|run| run.skip) {
        runs = vec![RowSelector::select(1), RowSelector::skip(rows - 1)];
    }
    runs.into()
}
