//! Any bytes as a table of timings: an error in words, or a log that can be read.
//!
//! The first byte is the flags, the rest the table.
#![no_main]
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use ah_import::{Format, ImportParams, import};
use ah_types::log::{self, ReadOptions};
use libfuzzer_sys::fuzz_target;
use tempfile::NamedTempFile;

/// A table and a log in memory.
static FILES: LazyLock<Mutex<(NamedTempFile, NamedTempFile)>> = LazyLock::new(|| {
    let file = || NamedTempFile::new_in("/dev/shm").expect("a file in memory");
    Mutex::new((file(), file()))
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&flags, table)) = bytes.split_first() else { return };
    let mut files = FILES.lock().expect("one thread");
    let (input, output) = &mut *files;
    replace(input.as_file_mut(), table);
    replace(output.as_file_mut(), b"");
    let flag = |bit: u8| flags >> bit & 1 == 1;
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    let (wide, known) = (flag(2), flag(3));
    let params = ImportParams {
        tables: vec![input.path().to_owned()],
        output: output.path().to_owned(),
        append: true,
        format: Some([Format::Csv, Format::Jsonl, Format::Json][usize::from(flags & 3) % 3]),
        name: "x".to_owned(),
        features: names(if known { &[] } else { &["n", "dtype"] }),
        set: names(if known { &["size=4096"] } else { &[] }),
        choice: names(if wide || known { &[] } else { &["choice"] }),
        time: names(if wide || known { &[] } else { &["ms"] }),
        wide,
        categorical: names(if flag(4) { &["dtype"] } else { &[] }),
        higher_is_better: flag(5),
        failed: flag(6).then(|| names(&["failed"])),
        skip_bad_rows: flag(7),
        ..ImportParams::default()
    };
    match import(&params) {
        Ok(report) => {
            let mut text = Vec::new();
            output.rewind().and_then(|()| output.read_to_end(&mut text)).expect("the log");
            let log = log::read_bytes(Path::new("train.txt"), &text, ReadOptions::default());
            let log = log.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&text)));
            assert_eq!(log.samples.len() as u64, report.measured + report.failed);
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() < 4000, "{text}");
            assert!(!text.contains(|c: char| c.is_control()), "{text:?}");
        }
    }
});

fn replace(file: &mut File, bytes: &[u8]) {
    file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(bytes)).expect("memory");
}
