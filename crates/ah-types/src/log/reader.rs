//! Reads logs line by line into interned inputs, interned choices, and one small record per sample.

use std::io::Read;
use std::path::Path;

use ah_model::{Error, RowNumber, Value, admits, artefact};

use super::data::{Log, Source};
use super::devices::{self, LoggedDevice};
use super::head::Head;
use super::lines::Lines;
use super::merger::Merger;
use super::metadata::{CHOICE_COLUMN, FEEDBACK_COLUMN, Metadata, differences};
use super::rows::{Column, RowReader};

/// Options of reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Skip and count malformed rows instead of ending with an error.
    pub skip_bad_rows: bool,
    /// The logs may be of several devices. Inputs get these features of their devices; without any, and with several
    /// devices, those in which the devices differ. `None`: all logs are of one device.
    pub device_features: Option<&'a [&'a str]>,
}

/// Reads one or several logs (plain or gzip) as one.
///
/// # Errors
/// [`Error`] with file, line, column, expected and found.
pub fn read(paths: &[impl AsRef<Path>]) -> Result<Log, Error> {
    read_with(paths, ReadOptions::default())
}

/// Reads logs like [`read`], with options.
///
/// # Errors
/// As [`read`]; with `skip_bad_rows`, malformed rows are counted instead. Also if no logged
/// feature distinguishes their devices.
pub fn read_with(paths: &[impl AsRef<Path>], options: ReadOptions<'_>) -> Result<Log, Error> {
    let open = |path: &Path| artefact::open(path).map_err(Error::io(path, "read"));
    let open_all = paths.iter().map(AsRef::as_ref).map(|path| OpenLog::new(path, open(path)?));
    merge(open_all.collect::<Result<_, _>>()?, options)
}

/// Reads one plain log from memory; `path` is its name in errors.
///
/// # Errors
/// As [`read_with`].
pub fn read_bytes(path: &Path, bytes: &[u8], options: ReadOptions<'_>) -> Result<Log, Error> {
    merge(vec![OpenLog::new(path, bytes)?], options)
}

/// Reads the first line of a log.
///
/// # Errors
/// [`Error`], also where the second line does not fit with it.
pub fn read_metadata(path: &Path) -> Result<Metadata, Error> {
    let reader = artefact::open(path).map_err(Error::io(path, "read"))?;
    Ok(OpenLog::new(path, reader)?.head.metadata)
}

/// A log whose head is read.
struct OpenLog<'a, R> {
    path: &'a Path,
    lines: Lines<R>,
    head: Head,
}

impl<'a, R: Read> OpenLog<'a, R> {
    fn new(path: &'a Path, reader: R) -> Result<Self, Error> {
        let mut lines = Lines::new(reader);
        let head = Head::read(path, &mut lines)?;
        Ok(Self { path, lines, head })
    }

    /// Checks that this log belongs to the same log as the first one. Parts of one sequence may have other seeds and choices, and
    /// machines of one kind what [`admits`] allows: drivers, clocks, versions of libraries.
    fn agree(&self, first: &Self) -> Result<(), Error> {
        let metadata = &first.head.metadata;
        let is_same_kind = match (metadata.device(), self.head.metadata.device()) {
            (Some(first), Some(other)) => admits(&first.identity(), &other.identity()).is_ok(),
            _ => false,
        };
        let may_differ = |key: &str| {
            ["autoheuristic_rs.seed", "choices"].contains(&key)
                || is_same_kind && key.starts_with("autoheuristic_rs.device.")
        };
        let mut found = differences(metadata, &self.head.metadata);
        found.retain(|difference| !may_differ(&difference.key));
        if found.is_empty() {
            return Ok(());
        }
        Err(Error::Metadata {
            path: self.path.to_owned(),
            other: first.path.display().to_string(),
            differences: found,
            hint: "their features differ, or they come from devices that no feature distinguishes; train on each log separately"
                .to_owned(),
        })
    }

    /// Adds the rows to those of other logs, each with the values of the `device`.
    fn add_to(self, merger: &mut Merger, device: Vec<Value>, options: ReadOptions<'_>) -> Result<(), Error> {
        let Self { path, mut lines, head } = self;
        merger.list_choices(head.metadata.choices.as_deref());
        let column = |name: &String| match name.as_str() {
            CHOICE_COLUMN => Column::Choice,
            FEEDBACK_COLUMN => Column::Feedback,
            name => Column::Feature(merger.log.schema.slot(name).unwrap_or_default()),
        };
        let mut reader = RowReader::new(head.columns.iter().map(column).collect(), device);
        let samples_before = merger.log.samples.len();
        let irregularities_before = merger.log.irregularities.clone();
        let mut rows = 0;
        while let Some((line, text)) = lines.next().map_err(Error::io(path, "read"))? {
            if text.iter().all(u8::is_ascii_whitespace) {
                merger.log.irregularities.blank_lines += 1;
                continue;
            }
            match reader.row(text, merger).map_err(|fault| fault.at(path, RowNumber::Line(line))) {
                Ok(()) => rows += 1,
                Err(fault) if options.skip_bad_rows => merger.log.irregularities.bad_rows.add(&fault),
                Err(fault) => return Err(fault.into()),
            }
        }
        let hash = lines.hash();
        let date = head.metadata.collection.map(|collection| collection.date).unwrap_or_default();
        if !hash.is_empty() && merger.log.sources.iter().any(|source| source.hash == hash) {
            // The same bytes add no input or choice, so only the samples are removed again.
            merger.log.samples.truncate(samples_before);
            merger.log.irregularities = irregularities_before;
            merger.log.irregularities.repeated.push(path.to_owned());
            rows = 0;
        } else if !lines.terminated {
            merger.log.irregularities.unterminated.push(path.to_owned());
        }
        merger.log.sources.push(Source { path: path.to_owned(), hash, date, rows });
        Ok(())
    }
}

/// Reads the rows of all logs.
fn merge<R: Read>(logs: Vec<OpenLog<'_, R>>, options: ReadOptions<'_>) -> Result<Log, Error> {
    let first = logs.first().ok_or_else(|| Error::parameter("logs", "at least one log", "none"))?;
    let mut metadata = first.head.metadata.clone();
    let mut schema = first.head.schema.clone();
    let first_path = first.path;
    let devices: Vec<LoggedDevice> = logs.iter().map(|log| LoggedDevice::new(&log.head.metadata)).collect();
    // Logs of one kind of device need no feature of it.
    let disagreeing = logs[1..].iter().find_map(|log| log.agree(first).err());
    let mut names = Vec::new();
    if let Some(wanted) = options.device_features {
        let of_devices: &[LoggedDevice] = if disagreeing.is_some() { &devices } else { &devices[..1] };
        names = devices::names(wanted, of_devices, &schema);
    }
    if let Some(error) = disagreeing {
        let by_device = logs[1..].iter().all(|log| devices::differ_by_device(&metadata, &log.head.metadata));
        if !by_device || names.is_empty() {
            return Err(error);
        }
        // No single device stands for all of them.
        let collection = logs.iter().find_map(|log| log.head.metadata.collection.clone());
        metadata =
            Metadata { shared_memory: None, device_capa: (0, 0), choices: None, collection, ..metadata };
    }
    devices::extend(&mut schema, &mut metadata, &names, &devices);
    let mut merger = Merger::new(metadata, schema);
    for (log, device) in logs.into_iter().zip(&devices) {
        log.add_to(&mut merger, device.values(&names), options)?;
    }
    if merger.log.samples.is_empty() {
        let why = "the log has no rows; measure some inputs first (ah-collect)";
        return Err(Error::TooLittle(format!("{}: {why}", first_path.display())));
    }
    let devices =
        if names.is_empty() { devices[..1].to_vec() } else { devices::distinguishable(&devices, &names) };
    Ok(merger.finish(devices))
}
