//! The configurations of `softmax.cu`.

use ah_measure::Failure;
use ah_model::Cuda;

use super::super::product::Matrix;
use super::launch::{Grid, at_least, at_most, capability, grid, multiple, shared_memory};
use Form::{Looped, Registers, Shared};

/// The place of a row between its first and its last reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    /// The registers of a cluster of this many blocks.
    Registers { cluster: u32 },
    /// One of this many buffers in shared memory.
    Shared { stages: u32 },
    /// Memory: the row is read twice, with this many vectors a thread at a time.
    Looped { vectors: u32 },
}

/// A configuration of the softmax kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Softmax {
    form: Form,
    threads: u32,
    rows: u32,
    /// Floats a load, or [`WIDEST`].
    width: u32,
}

/// The width of the widest load that divides the rows.
const WIDEST: u32 = 0;

const fn softmax(form: Form, threads: u32, rows: u32, width: u32) -> Softmax {
    Softmax { form, threads, rows, width }
}

const ONE: Form = Registers { cluster: 1 };

/// The loop that a user would write. It runs every input, because its loads are as wide as the row allows.
const FALLBACK: Softmax = softmax(Looped { vectors: 4 }, 256, 1, WIDEST);

/// Without 15 more that were here before, the best choices of the logs in `data/softmax` take 0.01 % longer.
const CHOICES: [Softmax; 26] = [
    softmax(ONE, 32, 4, 4),
    softmax(ONE, 32, 8, 4),
    softmax(ONE, 64, 1, 4),
    softmax(ONE, 128, 1, 4),
    softmax(ONE, 256, 1, 4),
    softmax(ONE, 512, 1, 4),
    softmax(ONE, 1024, 1, 4),
    softmax(ONE, 32, 4, 2),
    softmax(ONE, 128, 1, 2),
    softmax(ONE, 256, 1, 2),
    softmax(ONE, 512, 1, 2),
    softmax(ONE, 32, 4, 1),
    softmax(ONE, 128, 1, 1),
    softmax(ONE, 256, 1, 1),
    softmax(ONE, 512, 1, 1),
    softmax(Registers { cluster: 4 }, 256, 1, 4),
    softmax(Registers { cluster: 4 }, 512, 1, 4),
    softmax(Registers { cluster: 8 }, 256, 1, 4),
    softmax(Registers { cluster: 8 }, 512, 1, 4),
    softmax(Registers { cluster: 8 }, 512, 1, 1),
    softmax(Shared { stages: 1 }, 1024, 1, 1),
    FALLBACK,
    softmax(Looped { vectors: 2 }, 1024, 1, 4),
    softmax(Looped { vectors: 4 }, 1024, 1, 4),
    softmax(Looped { vectors: 4 }, 1024, 1, 1),
    softmax(Looped { vectors: 4 }, 1024, 1, 2),
];

impl Softmax {
    /// The kernel's source.
    pub const SOURCE: &str = include_str!("softmax.cu");

    /// Every configuration, including those that do not suit every input.
    pub const ALL: &[Self] = &CHOICES;

    /// The stable name, for example `type=cuda_persistent=registers_cluster=4_threads=512_width=4`
    /// or `type=cuda_looped=2_threads=1024_width=4`.
    pub fn name(&self) -> String {
        let form = match self.form {
            Registers { cluster: 1 } => "persistent=registers".to_owned(),
            Registers { cluster } => format!("persistent=registers_cluster={cluster}"),
            Shared { stages } => format!("persistent=shared_stages={stages}"),
            Looped { vectors } => format!("looped={vectors}"),
        };
        let width = if self.width == WIDEST { "auto".to_owned() } else { self.width.to_string() };
        let rows = if self.rows == 1 { String::new() } else { format!("_rows={}", self.rows) };
        format!("type=cuda_{form}_threads={}_width={width}{rows}", self.threads)
    }

    /// The definitions to compile the kernel with, `NAME=VALUE`, for the rows of `x`. For a persistent kernel they
    /// depend on the number of columns.
    pub(crate) fn defines(&self, x: &Matrix) -> Vec<String> {
        let (form, vectors, cluster, stages) = match self.form {
            Registers { cluster } => ("REGISTERS", self.vectors(x), cluster, 1),
            Shared { stages } => ("SHARED", 1, 1, stages),
            Looped { vectors } => ("LOOPED", u64::from(vectors), 1, 1),
        };
        vec![
            format!("FORM={form}"),
            format!("ROW_THREADS={}", self.threads),
            format!("ROWS={}", self.rows),
            format!("WIDTH={}", self.width(x)),
            format!("VECTORS={vectors}"),
            format!("CLUSTER={cluster}"),
            format!("STAGES={stages}"),
        ]
    }

    /// How to launch the kernel on the rows of `x`. The definitions fix the size of a cluster.
    pub(crate) fn launch(&self, x: &Matrix, gpu: &Cuda) -> Result<Grid, Failure> {
        let rows = x.rows as u64;
        let columns = x.columns as u64;
        capability(gpu, gpu.capability.0 >= 8, "8.0")?;
        multiple("columns", columns, self.width(x))?;
        // Half of the threads would be idle. The fallback takes every input nevertheless.
        let least = if self.threads == 32 || *self == FALLBACK { 1 } else { self.row(x) / 2 + 1 };
        at_least("columns", columns, least)?;

        let parts = rows.div_ceil(u64::from(self.rows));
        let (blocks, shared_memory) = match self.form {
            Registers { cluster } => {
                capability(gpu, cluster == 1 || gpu.capability.0 >= 9, "9.0 (clusters of blocks)")?;
                // 64 floats a thread at most; 1024 threads have 64 registers each.
                let floats = if self.threads == 1024 { 32 } else { 64 };
                at_most("columns", columns, self.row(x) / self.width(x) * floats)?;
                (parts * u64::from(cluster), 0)
            }
            Shared { stages } => {
                let bytes = u64::from(stages) * self.vectors(x) * self.row(x) * 4;
                let bytes = shared_memory(gpu, bytes)?;
                let fit = gpu.shared_memory / u64::from(bytes + 1024);
                let resident = fit.clamp(1, u64::from(2048 / self.threads)) * u64::from(gpu.multiprocessors);
                (parts.min(resident), bytes)
            }
            Looped { .. } => (parts, 0),
        };
        grid(blocks, self.threads * self.rows, shared_memory)
    }

    /// The floats of one load.
    fn width(&self, x: &Matrix) -> u64 {
        match self.width {
            WIDEST => [4, 2].into_iter().find(|width| (x.columns as u64).is_multiple_of(*width)).unwrap_or(1),
            width => u64::from(width),
        }
    }

    /// Floats that all threads of a row load at once.
    fn row(&self, x: &Matrix) -> u64 {
        let cluster = if let Registers { cluster } = self.form { cluster } else { 1 };
        u64::from(self.threads * cluster) * self.width(x)
    }

    /// Loads of one thread for the whole row.
    fn vectors(&self, x: &Matrix) -> u64 {
        (x.columns as u64).div_ceil(self.row(x))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::element::Element;
    use super::super::launch::tests::{A100, H200};
    use super::*;
    use std::collections::HashSet;

    fn problem(rows: usize, columns: usize) -> Matrix {
        Matrix::row_major(Element::F32, rows, columns)
    }

    #[test]
    fn names_are_unique() {
        let names: HashSet<String> = CHOICES.iter().map(Softmax::name).collect();
        assert_eq!(names.len(), CHOICES.len());
        assert!(names.contains("type=cuda_persistent=registers_threads=32_width=4_rows=4"));
    }

    #[test]
    fn every_row_has_persistent_and_looped_choices_where_they_can_be() {
        for columns in [1, 31, 1000, 4096, 4097, 65536, 100_003, 262_144] {
            let problem = problem(1000, columns);
            for limits in [H200, A100] {
                let fit: Vec<_> = CHOICES.iter().filter(|c| c.launch(&problem, &limits).is_ok()).collect();
                let looped = |c: &&Softmax| matches!(c.form, Looped { .. });
                assert!(!fit.iter().all(looped) || columns > 40_000, "{columns}");
                assert!(fit.iter().any(looped) || columns % 4 != 0 && columns < 200, "{columns}");
                assert!(!fit.is_empty(), "{columns}");
            }
        }
    }

    #[test]
    fn the_fallback_runs_every_input_with_the_widest_loads() {
        assert_eq!(FALLBACK.name(), "type=cuda_looped=4_threads=256_width=auto");
        for (columns, width) in [(1, 1), (31, 1), (257, 1), (1_000_003, 1), (30, 2), (4, 4), (65536, 4)] {
            FALLBACK.launch(&problem(3, columns), &A100).unwrap();
            let compiled = FALLBACK.defines(&problem(3, columns));
            assert!(compiled.contains(&format!("WIDTH={width}")), "{columns}: {compiled:?}");
        }
    }

    #[test]
    fn a_persistent_row_fits_its_threads() {
        let choice = softmax(Registers { cluster: 4 }, 512, 1, 4);
        assert!(choice.defines(&problem(7, 65536)).contains(&"VECTORS=8".to_owned()));
        assert_eq!(choice.launch(&problem(7, 65536), &H200).unwrap().blocks, [28, 1, 1]);
        let reason = |columns, limits| choice.launch(&problem(7, columns), &limits).unwrap_err().to_string();
        assert_eq!(reason(262_144, H200), "skipped: columns may be at most 131072");
        assert!(reason(65536, A100).contains("9.0"));
        assert_eq!(reason(65538, H200), "skipped: columns must be a multiple of 4");
    }
}
