//! The commands of `docs/tables.md` work as they are written.

use std::path::Path;

use assert_cmd::Command;

#[test]
fn the_commands_on_importing_tables() {
    let folder = tempfile::tempdir().unwrap();
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for table in crate_folder.join("tests/tables").read_dir().unwrap() {
        let table = table.unwrap();
        std::fs::copy(table.path(), folder.path().join(table.file_name())).unwrap();
    }
    let page = std::fs::read_to_string(crate_folder.join("../../docs/tables.md")).unwrap();
    let commands: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("ah-train ")).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        Command::cargo_bin("ah-train")
            .unwrap()
            .current_dir(folder.path())
            .args(command.split_whitespace())
            .assert()
            .success();
    }
}
