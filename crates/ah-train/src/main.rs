//! `ah-train`: the command line is [`ah_train::tool`].

fn main() -> std::process::ExitCode {
    ah_train::tool::main()
}
