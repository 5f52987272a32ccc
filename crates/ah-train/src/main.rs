//! `ah-train`: the command line is [`ah_train::tool`].

#[global_allocator]
static MEMORY: ah_cli::Memory = ah_cli::Memory::new();

fn main() -> std::process::ExitCode {
    ah_train::tool::main()
}
