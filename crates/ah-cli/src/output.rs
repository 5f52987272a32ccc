//! The two output streams, and files to write: standard output is data, standard error is messages.

use std::borrow::Cow;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use ah_model::{Error, artefact};

/// Writes `text`, made [printable](printable()), to standard output. A closed pipe (`| head`) is not an
/// error.
///
/// # Errors
/// [`Error`] if it cannot be written, for example on a full disk.
pub fn stdout(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::io(Path::new("standard output"), "write")(e))
        }
        _ => Ok(()),
    }
}

/// Writes `text`, made [printable](printable()), to standard error. If standard error is closed or full,
/// the message is lost and the work continues: `eprintln!` would panic.
pub fn stderr(text: &str) {
    raw_stderr(&printable(text));
}

/// [`stderr`] of text that is printable, or colours it.
pub(crate) fn raw_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The text with control characters escaped, except line ends and tabs, and with marks that turn the direction of
/// text: names come from files, and a name with an escape sequence could rewrite the terminal. Escapes beyond ASCII are
/// those of JSON, because the text may be JSON.
///
/// ```
/// assert_eq!(ah_cli::printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\n");
/// assert_eq!(ah_cli::printable("\"\u{202e}\u{9b}\""), "\"\\u202e\\u009b\"");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harmful = |c: char| c.is_control() && c != '\n' && c != '\t' || turns(c);
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            _ if !harmful(c) => escaped.push(c),
            '\0'..='\x7f' => escaped.extend(c.escape_default()),
            _ => escaped += &format!("\\u{:04x}", u32::from(c)),
        }
    }
    Cow::Owned(escaped)
}

/// The first bytes of a file among which the tools leave their marks.
const MARKED: u64 = 4096;

/// Refuses to write over a file that the tools did not write: one that begins without this mark. An empty file, a pipe and a
/// device hold nothing to lose.
///
/// # Errors
/// [`Error::Io`] names the file.
pub fn keep_foreign(field: &str, output: &Path, mark: &str) -> Result<(), Error> {
    if !std::fs::metadata(output).is_ok_and(|file| file.is_file() && file.len() > 0) {
        return Ok(());
    }
    let mut begin = Vec::new();
    let read = artefact::open(output).and_then(|file| file.take(MARKED).read_to_end(&mut begin));
    read.map_err(Error::io(output, "read"))?;
    if String::from_utf8_lossy(&begin).contains(mark) {
        return Ok(());
    }
    let why = format!(
        "another program wrote it, and it would be lost; move it, or give another place with --{field}"
    );
    Err(Error::io(output, "write")(io::Error::other(why)))
}

/// Refuses to write over a file that the command reads, or has written.
///
/// # Errors
/// [`Error::Parameter`] names the file.
pub fn keep_inputs(field: &'static str, output: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    let place = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    let expected = "a file that this command does not read, nor write for something else";
    let same = inputs.iter().find(|input| place(input) == place(output));
    same.map_or(Ok(()), |input| Err(Error::parameter(field, expected, input.display())))
}
