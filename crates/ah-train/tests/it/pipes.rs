//! A pipe without a writer, in the place of any file that the command line names, is refused after five seconds.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common;

use ah_cli::exit;
use common::{Run, log};

/// Much longer than the patience for a writer.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn no_file_blocks() {
    let run = Run::new();
    run.write("a.txt", log(60)).write("t.csv", "n,c,ms\n1,a,2\n");
    run.learns(&["a.txt"]);
    assert!(Command::new("mkfifo").arg(run.path("pipe")).status().unwrap().success());
    let commands = [
        "pipe --heuristic-name T",
        "a.txt --heuristic-name T --weights pipe",
        "a.txt --heuristic-name T --optimization pipe",
        "evaluate pipe a.txt",
        "evaluate model.json pipe",
        "explain pipe m=1",
        "report model.json pipe",
        "import pipe --format csv --name x --features n --choice c --time ms -o b.txt",
        "import pipe --format jsonl --name x --features n --choice c --time ms -o b.txt",
        "import pipe --format json --name x --features n --choice c --time ms -o b.txt",
        "import t.csv --device pipe --name x --features n --choice c --time ms -o b.txt",
    ];
    // All at once, as each waits five seconds.
    let children = commands.map(|arguments| {
        Command::new(assert_cmd::cargo::cargo_bin("ah-train"))
            .args(arguments.split(' '))
            .current_dir(run.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let begin = Instant::now();
    for (arguments, mut child) in commands.into_iter().zip(children) {
        while child.try_wait().unwrap().is_none() {
            if begin.elapsed() > SOON {
                let _ = child.kill();
                panic!("ah-train {arguments} blocks");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("it is a pipe that no program writes to"), "{arguments}: {stderr}");
        assert_eq!(output.status.code(), Some(i32::from(exit::IO)), "{arguments}: {stderr}");
    }
}
