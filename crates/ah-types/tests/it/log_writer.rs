//! The writer's promises for a failed write and for a lock held by another process.

use std::path::Path;
use std::time::{Duration, Instant};

use ah_model::{Context, Cpu, Device, Error, Feature, Schema};
use ah_types::TimingPolicy;
use ah_types::log::{self, Collection, LogWriter, Metadata};

fn open(path: &Path, patience: Option<Duration>) -> Result<LogWriter, Error> {
    let schema = Schema::new([Feature::numerical("length")]).unwrap();
    let cpu = Cpu { model: "x".to_owned(), cores: 1, caches: Vec::new(), instruction_sets: Vec::new() };
    let (device, tool) = (Some(Device::Cpu(cpu)), "test".to_owned());
    let collection = Collection {
        format: 1,
        device,
        timing: Some(TimingPolicy::default()),
        tool,
        ..Collection::default()
    };
    let metadata = Metadata::new("sort", &schema, vec!["radix".to_owned(), "std".to_owned()], collection);
    LogWriter::open(path, &metadata, &schema, patience, "write to another file (-o)")
        .map(|(writer, _)| writer)
}

const ROWS: usize = 40;

fn append(writer: &mut LogWriter, length: usize) -> Result<(), Error> {
    let context = Context::new().with("length", length);
    writer.append_input(&context, (0..ROWS).map(|row| (["radix", "std"][row % 2], 0.125)))
}

/// Appends until the limit on file sizes ends it; does nothing unless the test below started it.
#[test]
fn until_the_disk_is_full() {
    let Some(path) = std::env::var_os("AH_TEST_LOG") else { return };
    let mut writer = open(path.as_ref(), None).unwrap();
    let error = (1000..9000).find_map(|length| append(&mut writer, length).err()).unwrap();
    assert!(matches!(error, Error::Io { action: "write", .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_whole_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.txt");
    // The limit replaces a full disk: both write a part and then fail.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" log_writer::until_the_disk_is_full --exact";
    let child = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("AH_TEST_LOG", &path)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let read = log::read(&[&path]).unwrap();
    assert!(read.inputs.len() > 2, "{} inputs", read.inputs.len());
    assert_eq!(read.samples.len(), read.inputs.len() * ROWS, "every input has all its rows");
    // With room again, the next program continues.
    let inputs = read.inputs.len();
    append(&mut open(&path, None).unwrap(), 9999).unwrap();
    assert_eq!(log::read(&[&path]).unwrap().inputs.len(), inputs + 1);
}

#[test]
fn a_writer_without_patience_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.txt");
    let mut writer = open(&path, Some(Duration::ZERO)).unwrap();
    let holder = std::fs::File::open(&path).unwrap();
    holder.lock().unwrap();
    let begin = Instant::now();
    for error in [append(&mut writer, 1).unwrap_err(), open(&path, Some(Duration::ZERO)).unwrap_err()] {
        let Error::Io { source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.kind(), std::io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("another process holds its lock"), "{error}");
    }
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    holder.unlock().unwrap();
    append(&mut writer, 2).unwrap();
    assert_eq!(log::read(&[&path]).unwrap().inputs.len(), 1);
}
