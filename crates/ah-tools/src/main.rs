//! The tools in one program, so that the Python wheel holds their shared code once: 3 programs would take 3 times the space.
//!
//! The name by which it is started says which tool it is: `ah-collect`, `ah-train` or `ah-codegen`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match tool(&name) {
        Some(main) => main(),
        None => {
            ah_cli::error(&format!(
                "expected to be started as ah-collect, ah-train or ah-codegen, found {name:?}"
            ));
            ExitCode::from(ah_cli::exit::USAGE)
        }
    }
}

/// Returns the main function of a tool.
fn tool(name: &str) -> Option<fn() -> ExitCode> {
    match name {
        "ah-collect" => Some(ah_collect::tool::main),
        "ah-train" => Some(ah_train::tool::main),
        "ah-codegen" => Some(ah_codegen::tool::main),
        _ => None,
    }
}
