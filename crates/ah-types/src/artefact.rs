//! Artefacts are written beside their place and renamed, so that a reader sees
//! the old file or the new one, never a part.

use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to `path` by way of a temporary file in the same folder.
///
/// # Errors
/// Any I/O error; the file at `path` is then as it was before.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
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
        // tempfile makes it private; an artefact is as readable as any new file.
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}
