//! Reads and writes whole files. Artefacts are written to a temporary file and renamed, so that a reader sees the old
//! file or the new one, never a part.

use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind, Read, Write};
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Longer chains of symbolic links are refused, as Linux does.
const MAX_LINKS: usize = 40;

/// The first bytes of a gzip file.
pub const GZIP: &[u8] = &[0x1f, 0x8b];

/// The path of standard input.
pub const STANDARD_INPUT: &str = "-";

/// Opens a file for reading once; `-` is standard input. Gzip is recognized by its first bytes, not by the file's name, and unpacked.
///
/// # Errors
/// I/O errors, also while reading: gzip of more than 64 MiB that unpacks to more than 128 times its size is refused.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new(STANDARD_INPUT) {
        return unpacked(io::stdin());
    }
    if path.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory; give the file inside it"));
    }
    let file = File::open(path)?;
    #[cfg(unix)]
    if file.metadata()?.file_type().is_char_device() && path != Path::new("/dev/null") {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is a device; give a file or a pipe"));
    }
    unpacked(file)
}

/// A reader of what `file` has, unpacked.
fn unpacked(mut file: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut magic = Vec::with_capacity(GZIP.len());
    Read::by_ref(&mut file).take(GZIP.len() as u64).read_to_end(&mut magic)?;
    let packed = magic == GZIP;
    let bytes = Cursor::new(magic).chain(file);
    if !packed {
        return Ok(Box::new(bytes));
    }
    #[cfg(feature = "gzip")]
    return Ok(Box::new(crate::gunzip::Gunzip::new(bytes)));
    #[cfg(not(feature = "gzip"))]
    Err(io::Error::new(ErrorKind::Unsupported, "it is packed with gzip; unpack it first"))
}

/// Packs bytes with gzip; the same bytes give the same result.
pub(crate) fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    #[cfg(feature = "gzip")]
    {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes)?;
        encoder.finish()
    }
    #[cfg(not(feature = "gzip"))]
    Err(io::Error::new(
        ErrorKind::Unsupported,
        format!("cannot pack {} bytes: built without gzip", bytes.len()),
    ))
}

/// Reads a text file of at most this many MiB, which may be packed with gzip. A device file may never end.
///
/// # Errors
/// Any I/O error; a longer file is one of the kind `FileTooLarge`.
pub fn read_text(path: &Path, most_mib: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = open(path)?.take((most_mib << 20) + 1).read_to_string(&mut text)?;
    if read as u64 > most_mib << 20 {
        let why = format!("it is larger than {most_mib} MiB, more than such a file ever needs");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

/// Writes `bytes` to `path`, through a temporary file in the same folder.
///
/// A symbolic link at `path` stays, and its target is written. A new file obeys the umask; one that
/// replaces another takes over its permissions. Anything else at `path` (a pipe, `/dev/stdout`) is
/// written to and never replaced.
///
/// # Errors
/// Any I/O error; a regular file at `path` is then as it was before.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = target(path)?;
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|m| !m.is_file()) {
        return File::options().write(true).open(path)?.write_all(bytes);
    }
    let mut new = TemporaryFile::beside(&path)?;
    if let Some(old) = old {
        new.file.set_permissions(old.permissions())?;
    }
    new.file.write_all(bytes)?;
    new.file.sync_all()?;
    fs::rename(&new.path, path)
}

/// Makes a new file: `write` fills a temporary one in the same folder, which then gets the name `path`.
///
/// # Errors
/// Those of `write`, and I/O errors, made by `failed`: `AlreadyExists` if a file is at `path` by then. No file is left.
pub fn create_new<E>(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let new = TemporaryFile::beside(path).map_err(&failed)?;
    write(&new.path)?;
    // A link, unlike a renamed file, does not replace what is there.
    let named = fs::hard_link(&new.path, path).or_else(|error| match error.kind() {
        ErrorKind::AlreadyExists => Err(error),
        // A file system without links. Another process may still make the file between the look and the renaming.
        _ if path.symlink_metadata().is_ok() => Err(ErrorKind::AlreadyExists.into()),
        _ => fs::rename(&new.path, path),
    });
    named.map_err(failed)
}

/// A file with a name of its own. It is removed unless it gets another name.
struct TemporaryFile {
    path: PathBuf,
    file: File,
}

impl TemporaryFile {
    /// Makes a file in the folder of `path`, which is made if it is missing.
    fn beside(path: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".ah-{}-{count}", std::process::id()));
            match File::options().write(true).create_new(true).open(&path) {
                // A process of the same number left it when it was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                opened => return opened.map(|file| Self { path, file }),
            }
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The path that a chain of symbolic links leads to, whether or not a file is there.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if !path.is_symlink() {
            return Ok(path);
        }
        path = path.parent().unwrap_or(Path::new("")).join(fs::read_link(&path)?);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "too many symbolic links"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let full = Path::new("/dev/full");
        let error = write_atomic(full, b"x").expect_err("a full disk");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(!fs::metadata(full).expect("still there").is_file());
    }

    #[test]
    fn a_new_file_does_not_replace_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new");
        let made = create_new(&path, |file| fs::write(file, "one"), |e| e);
        assert!(made.is_ok() && fs::read(&path).is_ok_and(|bytes| bytes == b"one"));
        // Another program was faster.
        let error = create_new(&path, |file| fs::write(file, "two"), |e| e).expect_err("it exists");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("still there"), b"one");
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 1);
    }

    #[test]
    fn long_and_endless_files_are_refused() {
        let error = read_text(Path::new("/dev/zero"), 1).expect_err("endless");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("long");
        fs::write(&path, vec![b'x'; (1 << 20) + 1]).expect("written");
        assert_eq!(read_text(&path, 1).expect_err("long").kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn permissions_are_those_of_a_plain_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |path: &Path| fs::metadata(path).expect("written").permissions().mode();
        let [plain, atomic] = ["plain", "atomic"].map(|name| folder.path().join(name));
        // The umask belongs to the whole process, so a plain write shows it.
        fs::write(&plain, "x").expect("written");
        write_atomic(&atomic, b"x").expect("written");
        assert_eq!(mode(&atomic), mode(&plain));
        fs::set_permissions(&atomic, fs::Permissions::from_mode(0o640)).expect("set");
        write_atomic(&atomic, b"y").expect("written");
        assert_eq!(mode(&atomic) & 0o777, 0o640);
    }

    #[test]
    fn a_symbolic_link_stays_and_its_target_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let [link, second, file, round] =
            ["link", "second", "deep/file", "round"].map(|n| folder.path().join(n));
        symlink("second", &link).expect("a link");
        symlink(&file, &second).expect("a link");
        for text in ["new", "old"] {
            write_atomic(&link, text.as_bytes()).expect("written");
            assert!(link.is_symlink() && second.is_symlink());
            assert_eq!(fs::read_to_string(&file).expect("a file"), text);
        }
        symlink("round", &round).expect("a link");
        assert!(write_atomic(&round, b"x").is_err());
    }
}
