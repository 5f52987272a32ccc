//! The speed of reading logs, in decimal MB of text a second on one core, beside the `csv` crate splitting
//! the same bytes into fields: `cargo bench -p ah-types --bench read_log`.
//!
//! The logs are those of `data/`, and PyTorch's if `../shared/data` has them. Each is read unpacked, from
//! the file cache, and packed.

use std::fs::File;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn logs() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = [("mm_h200", "data/mm/h200.txt.gz")];
    let published = ["mixedmm_a100", "mm_a100", "pad_mm_a100"];
    let published = published.map(|name| (name, format!("../shared/data/{name}.txt.gz")));
    let all = own.map(|(name, path)| (name, path.to_owned())).into_iter().chain(published);
    all.map(|(name, path)| (name.to_owned(), root.join(path))).filter(|(_, path)| path.exists()).collect()
}

fn reading(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    for (name, packed) in logs() {
        let plain = folder.path().join(&name);
        let mut unpacked = flate2::read::MultiGzDecoder::new(File::open(&packed).unwrap());
        let bytes = std::io::copy(&mut unpacked, &mut File::create(&plain).unwrap()).unwrap();
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::BytesDecimal(bytes)).sample_size(20);
        group.bench_function("plain", |b| b.iter(|| ah_types::log::read(&[&plain]).unwrap()));
        group.bench_function("gzip", |b| b.iter(|| ah_types::log::read(&[&packed]).unwrap()));
        group.bench_function("csv ByteRecord", |b| {
            b.iter(|| {
                let mut options = csv::ReaderBuilder::new();
                let mut reader = options.has_headers(false).flexible(true).from_path(&plain).unwrap();
                let mut record = csv::ByteRecord::new();
                let mut fields = 0;
                while reader.read_byte_record(&mut record).unwrap() {
                    fields += record.len();
                }
                fields
            });
        });
    }
}

criterion_group!(benches, reading);
criterion_main!(benches);
