//! The exit codes that all command-line tools of this workspace share.
//!
//! | code | name | meaning |
//! | --- | --- | --- |
//! | 0 | [`SUCCESS`] | done |
//! | 1 | [`CHECK_FAILED`] | the work was done, and what it judged did not hold (a stale file under `--mode check`, say) |
//! | 2 | [`USAGE`] | the command line is wrong |
//! | 3 | [`BAD_INPUT`] | a log, model, optimization or expression is not what it should be |
//! | 4 | [`IO`] | reading or writing failed: no such file, no permission, disk full |
//! | 5 | [`DEVICE`] | the device or backend asked for is not there or does not work |
//! | 6 | [`TOO_LITTLE`] | the input is well-formed but too small or too poor for what was asked |
//! | 130 | [`INTERRUPTED`] | ended by SIGINT, after the input in hand |

/// Done.
pub const SUCCESS: u8 = 0;
/// What was judged did not hold.
pub const CHECK_FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// A log, model, optimization or expression is malformed.
pub const BAD_INPUT: u8 = 3;
/// Reading or writing failed.
pub const IO: u8 = 4;
/// The device or backend asked for is not there or does not work.
pub const DEVICE: u8 = 5;
/// The input is well-formed but too small or too poor for what was asked.
pub const TOO_LITTLE: u8 = 6;
/// Ended by SIGINT, after the input in hand.
pub const INTERRUPTED: u8 = 130;
