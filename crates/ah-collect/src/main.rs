//! `ah-collect`: see `ah-collect --help` and the library's documentation.

fn main() -> std::process::ExitCode {
    ah_collect::tool::main()
}
