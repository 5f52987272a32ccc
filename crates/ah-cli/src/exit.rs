//! The exit codes that all command-line tools of this workspace share.

/// Done.
pub const SUCCESS: u8 = 0;
/// The work was done, and a check failed: a stale file under `--mode check`, say.
pub const CHECK_FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// A log, model, optimization or expression is malformed.
pub const BAD_INPUT: u8 = 3;
/// Reading or writing failed: no such file, no permission, disk full.
pub const IO: u8 = 4;
/// The requested device or backend is missing or does not work.
pub const DEVICE: u8 = 5;
/// The input is well-formed but too small or too poor for the request.
pub const TOO_LITTLE: u8 = 6;
/// Ended by a signal, after the input in progress.
pub const INTERRUPTED: u8 = 130;
