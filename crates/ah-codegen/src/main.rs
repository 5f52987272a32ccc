//! The command `ah-codegen`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ah_codegen::tool::main()
}
