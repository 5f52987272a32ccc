//! Writes the man pages and the completions of bash, zsh and fish for all tools below a folder such as `~/.local/share`.
//!
//! ```sh
//! cargo run -p ah-tools --example manual -- ~/.local/share
//! ```

use std::path::PathBuf;

use clap_complete::Shell;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "share".into()));
    let make = |name: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).map(|()| path)
    };
    for command in [ah_collect::tool::command(), ah_train::tool::command(), ah_codegen::tool::command()] {
        // A man page has all that `help COMMAND` prints.
        let mut command = command.disable_help_subcommand(true);
        let name = command.get_name().to_owned();
        for (shell, place) in [
            (Shell::Bash, "bash-completion/completions"),
            (Shell::Zsh, "zsh/site-functions"),
            (Shell::Fish, "fish/vendor_completions.d"),
        ] {
            clap_complete::generate_to(shell, &mut command, &name, make(place)?)?;
        }
        clap_mangen::generate_to(command, make("man/man1")?)?;
    }
    Ok(())
}
