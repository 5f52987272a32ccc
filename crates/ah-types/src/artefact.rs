//! Artefacts are written to a temporary file and renamed, so that a reader sees the old file or the new
//! one, never a part.

use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to `path` through a temporary file in the same folder.
///
/// If `path` is not a regular file (a pipe, `/dev/stdout`), it is written to and never replaced.
///
/// # Errors
/// Any I/O error; a regular file at `path` is then as it was before.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".ah-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // tempfile creates a private file; an artefact is as readable as any new file.
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let full = std::path::Path::new("/dev/full");
        let error = super::write_atomic(full, b"x").expect_err("a full disk");
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        assert!(!std::fs::metadata(full).expect("still there").is_file());
    }
}
