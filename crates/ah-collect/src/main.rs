//! `ah-collect`: see `ah-collect --help` and the library's documentation.

use std::process::ExitCode;

#[global_allocator]
static MEMORY: ah_cli::Memory = ah_cli::Memory::new();

fn main() -> ExitCode {
    ah_collect::main_of_the_tool(|| MEMORY.let_callers_handle_it())
}
