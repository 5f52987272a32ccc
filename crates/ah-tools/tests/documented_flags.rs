//! Every flag that a page, a comment or a message names beside a tool exists.
//!
//! A command is what follows a tool's name in a block or in a span of code, up to what ends a command of a shell. The
//! changelog and the laboratory tell of flags that are gone.

use std::path::{Path, PathBuf};

use clap::Command;

const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/laboratory.md"];

fn pages(root: &Path) -> Vec<PathBuf> {
    let listed = std::process::Command::new("git")
        .args(["ls-files", "*.md", "*.rs", "*.py", "*.tera"])
        .current_dir(root)
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.lines().filter(|page| !HISTORY.contains(page)).map(PathBuf::from).collect()
}

/// The lines of the blocks of code, continued lines joined, and the spans of code.
fn code(page: &str) -> Vec<String> {
    let page = page.replace("\\\n", " ");
    let mut code = Vec::new();
    let mut is_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            code.push(line.to_owned());
        } else {
            code.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    code
}

/// The words of each command of a tool in a line of code, without the tool's name.
fn commands<'a>(line: &'a str, tool: &str) -> Vec<Vec<&'a str>> {
    let is_end = |word: &&str| ["|", "||", "&&", ";", ">", "#", "//", "--"].contains(word);
    let words: Vec<&str> = line.split_whitespace().collect();
    // To Cargo a tool is a package.
    let of_cargo = words.iter().position(|word| *word == "cargo").unwrap_or(words.len());
    let starts = (0..of_cargo).filter(|at| words[*at] == tool);
    starts.map(|at| words[at + 1..].iter().take_while(|word| !is_end(word)).copied().collect()).collect()
}

fn unknown_flags(tool: &Command, words: &[&str]) -> Vec<String> {
    let part = words.first().and_then(|word| tool.find_subcommand(word)).unwrap_or(tool);
    let knows = |flag: &str| {
        let arguments =
            tool.get_arguments().filter(|argument| argument.is_global_set()).chain(part.get_arguments());
        ["help", "version"].contains(&flag)
            || arguments
                .flat_map(|a| a.get_long_and_visible_aliases().unwrap_or_default())
                .any(|long| long == flag)
    };
    let flags = words.iter().filter_map(|word| {
        let flag = word.trim_matches(['"', '\'', '(', ')', ',', '.', '[', ']']).strip_prefix("--")?;
        Some(flag.split('=').next().unwrap_or(flag))
    });
    flags.filter(|flag| !knows(flag)).map(|flag| format!("--{flag}")).collect()
}

#[test]
fn pages_name_flags_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut tools = [ah_collect::tool::command(), ah_train::tool::command(), ah_codegen::tool::command()];
    tools.iter_mut().for_each(Command::build);
    let mut found = 0;
    let mut wrong = Vec::new();
    for page in pages(&root) {
        let text = std::fs::read_to_string(root.join(&page)).unwrap();
        for line in code(&text) {
            for tool in &tools {
                for words in commands(&line, tool.get_name()) {
                    found += 1;
                    let unknown = unknown_flags(tool, &words);
                    wrong.extend(unknown.iter().map(|flag| format!("{}: {flag} of {line}", page.display())));
                }
            }
        }
    }
    assert!(found > 100, "{found} commands found");
    assert_eq!(wrong, Vec::<String>::new());
}
