//! The commands of the book work as they are written, and print what it shows.
//!
//! The blocks of a page become one script, so that `cd` and `export` last:
//! - `sh` runs. `console` runs the lines that begin with `$ `; each other line must be printed, where `…` stands for
//!   anything and all numbers are alike.
//! - `file=PATH` (any language) is written to that file.
//! - `in=FOLDER` runs in a copy of that folder of the repository.
//! - `from=PATH`: its lines, without their comments, are in that file, which other tests compile or read.
//! - `python` compiles, and runs with `run`; `toml` is an optimization; other `rust` is a doctest of a crate.
//! - `needs=PROGRAM` is skipped where the program is missing, `skip=REASON` always. Both are printed.
//!
//! Measuring is cut to two seconds and eight draws. `cargo run --example` starts the example that the tests have
//! built; every other cargo command does nothing. `BOOK=tutorial.md cargo test --test book -- --nocapture` runs a page as
//! a reader does: with the real cargo, and in full length.
#![cfg(unix)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages whose commands need what tests do not have.
const SKIPPED: [(&str, &str); 2] = [("cuda.md", "GPU"), ("triton.md", "GPU")];

const CARGO: &str = r#"#!/bin/sh
[ "$1" = run ] || { [ "$1" = new ] && mkdir -p "$3/src" "$3/examples"; exit 0; }
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  [ "$1" = --example ] && name=$2
  shift
done
[ $# -gt 0 ] && shift
[ "$name" = measure ] && name=distinct
exec "$BINARIES/examples/$name" "$@"
"#;

struct Block<'a> {
    line: usize,
    info: Vec<&'a str>,
    text: String,
}

impl Block<'_> {
    fn attribute(&self, key: &str) -> Option<&str> {
        self.info.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// The reason not to run the block.
    fn skipped(&self) -> Option<String> {
        let missing = |program: &&str| Command::new(program).arg("--version").output().is_err();
        let always = self.attribute("skip").map(str::to_owned);
        always.or_else(|| Some(format!("{} is missing", self.attribute("needs").filter(missing)?)))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    // A block in a list is indented.
    let mut indent = "";
    for (at, line) in page.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => _ = writeln!(block.text, "{}", line.strip_prefix(indent).unwrap_or(line)),
            (None, Some(info)) => {
                indent = &line[..line.len() - line.trim_start().len()];
                open =
                    Some(Block { line: at + 1, info: info.split([' ', ',']).collect(), text: String::new() });
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The script of a page, and the expected lines by the number of the command that prints them.
fn script(page: &str, text: &str, in_full: bool) -> (String, Vec<Vec<String>>) {
    let mut script = "set -eu\n".to_owned();
    let mut expected: Vec<Vec<String>> = Vec::new();
    for block in blocks(text) {
        let runs = ["sh", "console"].contains(&block.info[0]);
        let file = block.attribute("file");
        if !runs && file.is_none() {
            continue;
        }
        if let Some(reason) = block.skipped() {
            report(&format!("skipped: {page}, line {}: {reason}", block.line));
            continue;
        }
        _ = writeln!(script, "echo '== {page}, line {}' >&2", block.line);
        let commands = cut(&block.text, in_full);
        match (file, block.attribute("in")) {
            (Some(file), _) => {
                let text = &block.text;
                _ = writeln!(script, "mkdir -p \"$(dirname {file})\"; cat > {file} << 'BLOCK'\n{text}BLOCK");
            }
            (None, Some(folder)) => {
                _ = write!(script, "(cp -rL {folder} \"$SCRATCH/copy\"; cd \"$SCRATCH/copy\"\n{commands})\n");
            }
            (None, None) if block.info[0] == "sh" => script += &commands,
            (None, None) => {
                for line in commands.lines() {
                    match line.strip_prefix("$ ") {
                        Some(command) => {
                            let number = expected.len();
                            _ = writeln!(script, "{{ {command}\n}} > \"$SCRATCH/out.{number}\" 2>&1");
                            expected.push(Vec::new());
                        }
                        None => expected.last_mut().expect("a command").push(line.to_owned()),
                    }
                }
            }
        }
    }
    (script, expected)
}

/// Commands that measure for a short time only.
fn cut(commands: &str, in_full: bool) -> String {
    if in_full {
        return commands.to_owned();
    }
    let short = |line: &str| {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for at in 1..words.len() {
            match words[at - 1].as_str() {
                "--max-seconds" => words[at] = "2".to_owned(),
                "--draws" | "--num-samples" => words[at] = "8".to_owned(),
                _ => {}
            }
        }
        words.join(" ") + "\n"
    };
    commands.lines().map(short).collect()
}

/// Fills a folder that looks like the repository and can be written to.
fn checkout(folder: &Path) {
    let link = |from: &Path, to: &Path| std::os::unix::fs::symlink(from, to).unwrap();
    for name in ["crates", "data", "docs", "examples", "python", "scripts"] {
        link(&root().join(name), &folder.join(name));
    }
    std::fs::create_dir(folder.join("generated")).unwrap();
    for entry in root().join("generated").read_dir().unwrap() {
        let entry = entry.unwrap();
        link(&entry.path(), &folder.join("generated").join(entry.file_name()));
    }
}

/// The text with every number replaced by 0.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            '.' if out.ends_with('0') => {}
            c => out.push(c),
        }
    }
    out
}

fn matches(expected: &str, line: &str) -> bool {
    let mut rest = line;
    without_numbers(expected).split('…').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

fn report(text: &str) {
    // Past the test harness, which hides what passing tests print.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{text}\n"));
}

fn run(page: &str, text: &str, in_full: bool) {
    let (script, expected) = script(page, text, in_full);
    if !script.contains("== ") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let work = scratch.path().join("checkout");
    std::fs::create_dir(&work).unwrap();
    checkout(&work);
    let binaries = assert_cmd::cargo::cargo_bin("ah-train").parent().unwrap().to_owned();
    for tool in ["ah-collect", "ah-codegen", "examples/distinct"] {
        if !binaries.join(tool).exists() {
            report(&format!("skipped: {page}: {tool} is not built (cargo build --bins --examples)"));
            return;
        }
    }
    let mut path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    if !in_full {
        let shim = scratch.path().join("bin");
        std::fs::create_dir(&shim).unwrap();
        std::fs::write(shim.join("cargo"), CARGO).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(shim.join("cargo"), executable).unwrap();
        path = format!("{}:{path}", shim.display());
    }
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(&work)
        .envs([("PATH", path.as_str()), ("BINARIES", binaries.to_str().unwrap())])
        .env("SCRATCH", scratch.path())
        .env("AUTOHEURISTIC", root())
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    if in_full {
        report(&messages);
    }
    let outputs = |number: usize| {
        std::fs::read_to_string(scratch.path().join(format!("out.{number}"))).unwrap_or_default()
    };
    let last = outputs(expected.len().saturating_sub(1));
    assert!(output.status.success(), "{page} does not run: {script}\n{messages}\n{last}");
    for (number, lines) in expected.iter().enumerate() {
        let printed = outputs(number);
        for line in lines.iter().filter(|line| !line.trim().is_empty()) {
            let found = printed.lines().any(|printed| matches(line, &without_numbers(printed)));
            assert!(found, "{page} shows {line:?}, which command {number} does not print:\n{printed}");
        }
    }
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        root().join("docs").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.push(root().join("README.md"));
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

#[test]
fn the_commands_of_the_book_run() {
    let only = std::env::var("BOOK").ok();
    for page in pages() {
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        if let Some((_, reason)) = SKIPPED.iter().find(|(skipped, _)| page.ends_with(skipped)) {
            report(&format!("skipped: {name}: {reason}"));
        } else if only.as_deref().is_none_or(|only| page.ends_with(only)) {
            run(&name, &std::fs::read_to_string(&page).unwrap(), only.is_some());
        }
    }
}

/// Checks a snippet and returns how, or the fault.
fn check_snippet(page: &str, block: &Block<'_>, doctests: &str) -> Result<String, String> {
    if let Some(reason) = block.attribute("skip") {
        return Ok(format!("skipped: {reason}"));
    }
    if let Some(source) = block.attribute("from") {
        let code =
            |line: &str| line.split("  //").next().unwrap().split("  #").next().unwrap().trim().to_owned();
        let text = std::fs::read_to_string(root().join(source)).map_err(|e| format!("{source}: {e}"))?;
        let lines: Vec<String> = text.lines().map(code).collect();
        let missing = block.text.lines().map(code).find(|line| !lines.contains(line));
        return missing.map_or(Ok(format!("its lines are in {source}")), |line| {
            Err(format!("{source} lacks {line:?}"))
        });
    }
    if block.attribute("file").is_some() {
        return Ok("runs".to_owned());
    }
    let of_package = page.starts_with("crates/") || page.starts_with("python/");
    let included = format!("/{}\")]", if of_package { "README.md" } else { page });
    let device = SKIPPED.iter().find(|(skipped, _)| page.ends_with(skipped));
    match block.info[0] {
        "sh" | "console" if of_package => Err("is not run".to_owned()),
        "sh" | "console" => Ok(device.map_or("runs".to_owned(), |(_, reason)| format!("skipped: {reason}"))),
        "rust" if block.info.contains(&"ignore") => Err("is not compiled".to_owned()),
        "rust" if doctests.contains(&included) => Ok("a doctest".to_owned()),
        "toml" => match ah_types::Optimization::parse(&block.text, "book.toml".as_ref()) {
            Ok(_) => Ok("is an optimization".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        "python" => {
            let run = block.info.contains(&"run");
            let program = if run { "exec(sys.argv[1])" } else { "compile(sys.argv[1], 'snippet', 'exec')" };
            let scratch = tempfile::tempdir().unwrap();
            let mut python = Command::new("python3");
            python.args(["-B", "-c", &format!("import sys; {program}"), &block.text]);
            match python.current_dir(&scratch).env("PYTHONPATH", root().join("python")).output() {
                Ok(output) if output.status.success() => Ok(if run { "runs" } else { "compiles" }.to_owned()),
                Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
                Err(_) => Ok("skipped: python3 is missing".to_owned()),
            }
        }
        _ => Err("has no check".to_owned()),
    }
}

/// `cargo test --workspace --test book every_snippet -- --nocapture` lists how each is checked.
#[test]
fn every_snippet_is_compiled_or_run() {
    let mut faults = Vec::new();
    let crates =
        root().join("crates").read_dir().unwrap().map(|entry| entry.unwrap().path().join("README.md"));
    let readmes = crates.filter(|page| page.exists()).chain([root().join("python/README.md")]);
    for page in pages().into_iter().chain(readmes) {
        let text = std::fs::read_to_string(&page).unwrap();
        let owner = if page.ends_with("README.md") {
            page.with_file_name("src/lib.rs")
        } else {
            root().join("crates/ah-runtime/src/lib.rs")
        };
        let doctests = std::fs::read_to_string(owner).unwrap_or_default();
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        for block in blocks(&text).into_iter().filter(|block| !["", "text", "json"].contains(&block.info[0]))
        {
            let place = format!("{name}, line {}: {}", block.line, block.info[0]);
            match check_snippet(&name, &block, &doctests) {
                Ok(how) => println!("{place}: {how}"),
                Err(fault) => faults.push(format!("{place}: {fault}")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_tutorials_code_is_the_example_that_is_compiled() {
    let page = std::fs::read_to_string(root().join("docs/tutorial.md")).unwrap();
    let code = |file: &str| {
        let block = blocks(&page).into_iter().find(|block| block.attribute("file") == Some(file));
        block.unwrap_or_else(|| panic!("docs/tutorial.md has no {file}")).text
    };
    let example = root().join("crates/ah-collect/examples/distinct");
    let read = |name: &str| std::fs::read_to_string(example.join(name)).unwrap();
    assert!(read("distinct.rs").ends_with(&code("src/lib.rs")), "distinct.rs differs from docs/tutorial.md");
    assert!(read("main.rs").ends_with(&code("examples/measure.rs")), "main.rs differs from docs/tutorial.md");
}

#[test]
fn output_is_compared_without_its_numbers() {
    let printed = |text: &str| without_numbers(text);
    assert!(matches(
        "Loses 0.25 % to the best choice (always …: 6.76 %)",
        &printed("Loses 1 % to the best choice (always pad: 16.7 %)")
    ));
    assert!(!matches("Loses 0.25 % to the best", &printed("Loses 3 % to the worst")));
}

#[test]
fn the_book_builds() {
    let folder = tempfile::tempdir().unwrap();
    let mut mdbook = Command::new("mdbook");
    match mdbook.args(["build", "--dest-dir"]).arg(folder.path()).arg(root().join("docs")).output() {
        Ok(output) => {
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !messages.contains("WARN"), "{messages}");
        }
        Err(_) => report("skipped: mdbook is missing (cargo install mdbook), so the book is not built"),
    }
}

/// mdBook turns a link to a page outside of the book, such as `../data/README.md`, into one to a missing HTML file: link
/// to the folder instead.
#[test]
fn the_links_of_the_book_lead_somewhere() {
    for page in pages().into_iter().filter(|page| page.starts_with(root().join("docs"))) {
        let text = std::fs::read_to_string(&page).unwrap();
        // Code between fences has no links.
        let prose: String = text.split("```").step_by(2).collect();
        for link in prose.split("](").skip(1).map(|rest| rest.split([')', '#']).next().unwrap()) {
            let place = format!("{}: {link}", page.display());
            if !link.is_empty() && !link.contains(':') {
                assert!(page.with_file_name(link).exists(), "{place} does not exist");
                assert!(!(link.starts_with("..") && link.ends_with(".md")), "{place} is dead in the book");
            }
        }
    }
}

#[test]
fn the_summary_lists_every_page() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for entry in root().join("docs").read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") && name != "SUMMARY.md" {
            assert!(summary.contains(&format!("({name})")), "docs/SUMMARY.md does not list {name}");
        }
    }
}
