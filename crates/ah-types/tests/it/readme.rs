//! `crates/README.md` lists every source file with the first sentence of its header.
//! `UPDATE_README=1 cargo test -p ah-types --test it readme` rewrites the list.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The crates in the order of the data.
const CRATES: [&str; 11] = [
    "ah-model", "ah-types", "ah-joint", "ah-measure", "ah-kernels", "ah-collect", "ah-import", "ah-train",
    "ah-codegen", "ah-runtime", "ah-cli",
];

/// The line above the list.
const MARK: &str = "## All files\n";

/// The first sentence of a file's header, without its full stop.
fn headline(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a source file");
    let marker = if path.extension().is_some_and(|e| e == "rs") { "//!" } else { "//" };
    let paragraph = text.lines().map_while(|line| line.strip_prefix(marker)).map(str::trim);
    let paragraph: Vec<_> = paragraph.take_while(|line| !line.is_empty()).collect();
    assert!(!paragraph.is_empty(), "{} has no header", path.display());
    let paragraph = paragraph.join(" ");
    let sentence = paragraph.split(". ").next().unwrap_or_default().trim_end_matches(['.', ':']);
    // Links of rustdoc mean nothing here.
    sentence.replace("[`", "`").replace("`]", "`")
}

/// Appends the files of a folder, then its subfolders; the `mod.rs` of each introduces it.
fn list(crates: &Path, folder: &Path, depth: usize, out: &mut String) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort_by_key(|path| (path.is_dir(), !path.ends_with("lib.rs"), path.clone()));
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy();
        let source = if path.is_dir() { path.join("mod.rs") } else { path.clone() };
        let is_source = source.extension().is_some_and(|e| e == "rs" || e == "cu" || e == "cuh");
        if !is_source || !source.exists() || name == "mod.rs" {
            continue;
        }
        let slash = if path.is_dir() { "/" } else { "" };
        let link = source.strip_prefix(crates).unwrap().display().to_string();
        let indent = "  ".repeat(depth);
        writeln!(out, "{indent}- [`{name}{slash}`]({link}): {}", headline(&source)).unwrap();
        if path.is_dir() {
            list(crates, &path, depth + 1, out);
        }
    }
}

#[test]
fn the_list_of_files_is_current() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = crates.join("README.md");
    let text = std::fs::read_to_string(&readme).unwrap();
    let (head, found) = text.split_once(MARK).expect("the heading of the list");
    let mut expected = String::new();
    for name in CRATES {
        writeln!(expected, "\n### {name}\n").unwrap();
        list(&crates, &crates.join(name).join("src"), 0, &mut expected);
    }
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(&readme, format!("{head}{MARK}{expected}")).unwrap();
        return;
    }
    let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    let hint = "crates/README.md is stale; run `UPDATE_README=1 cargo test -p ah-types --test it readme`";
    assert!(found == expected, "{hint}\nfirst difference (found, expected): {differs:?}");
}
