//! The command `ah-codegen`.

use std::process::ExitCode;

#[global_allocator]
static MEMORY: ah_cli::Memory = ah_cli::Memory::new();

fn main() -> ExitCode {
    ah_codegen::tool::main()
}
