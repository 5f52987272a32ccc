//! Optimizations whose choices are command lines.
#![cfg(unix)]

use crate::common;

use std::time::{Duration, Instant};

use ah_types::log::{self, Log};
use assert_cmd::Command;
use common::{Folder, error, inputs, refused, skipped, succeed};

const HEAD: &str =
    "name = \"programs\"\n[[feature]]\nname = \"size\"\nkind = \"numerical\"\ninteger = true\n";

/// `ah-collect` for an optimization with this table `[commands]`.
fn programs(folder: &Folder, commands: &str) -> Command {
    programs_to(folder, "collect", commands)
}

fn programs_to(folder: &Folder, mode: &str, commands: &str) -> Command {
    std::fs::write(folder.path("programs.toml"), format!("{HEAD}[commands]\n{commands}")).unwrap();
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.current_dir(folder.path("")).args([mode, "--optimization", "programs.toml"]);
    command
}

/// The feedback of a choice, over all inputs.
fn feedback(log: &Log, choice: &str) -> Vec<f64> {
    log.samples.iter().filter(|s| log.choice_name(s.choice) == choice).map(|s| s.feedback).collect()
}

#[test]
fn choices_are_measured_and_a_run_goes_on() {
    let folder = Folder::new();
    let commands = r#"
        setup = "cp programs.toml $folder/input"
        prepare = "cp $folder/input $folder/work"
        choices = { "gzip_$level" = "gzip -f -$level $folder/work", "cat" = "cat $folder/work" }
        check = "test -s $folder/input"
        cleanup = "rm $folder/input"
        parameters = { level = [1, 9] }
        inputs = { size = { from = 1, to = 1000 } }
    "#;
    succeed(programs(&folder, commands).args(["--num-samples", "2", "--num-reps", "2"]));
    let before = inputs(&folder);
    succeed(programs(&folder, commands).args(["--num-samples", "3", "--num-reps", "2"]));
    assert_eq!(inputs(&folder)[..2], before);
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(log.choices, ["cat", "gzip_1", "gzip_9"]);
    assert!(log.samples.iter().all(|s| s.feedback > 0.0 && s.feedback.is_finite()));
    // The log knows its commands: another check, say, gives other failures.
    let changed = commands.replace("test -s", "test -f");
    let mut command = programs(&folder, &changed);
    refused(command.args(["--num-samples", "4", "--num-reps", "2"]), 3, &["the commands have changed"]);
    let list = programs_to(&folder, "list", commands).output().unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().contains("    gzip_9"));
}

#[test]
fn bad_commands_cost_their_choice_and_nothing_else() {
    let folder = Folder::new();
    let start = Instant::now();
    let stderr = succeed(
        programs(
            &folder,
            r#"
            inputs = { size = [1, 2] }
            [commands.choices]
            good = "true"
            flooding = "head -c 50000000 /dev/zero"
            failing = "echo first >&2; echo 'the last word' >&2; exit 3"
            killed = "kill -9 $$"
            missing = "surely-not-a-program --fast"
            endless = "sleep 1000"
            endless_flood = "yes"
            unset = "echo $nothing"
            leaving_a_child = "sleep 1000 & exit 0"
            leaving_the_group = "setsid sleep 30 & exit 0"
            "#,
        )
        .args(["--num-reps", "1", "--hang-seconds", "1"]),
    );
    assert!(start.elapsed() < Duration::from_secs(120));
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(log.inputs.len(), 2);
    for good in ["good", "flooding", "leaving_a_child", "leaving_the_group"] {
        let times = feedback(&log, good);
        assert!(times.len() == 2 && times.iter().all(|ms| ms.is_finite()), "{good}: {times:?}");
    }
    for bad in ["failing", "killed", "endless", "endless_flood", "unset"] {
        assert_eq!(feedback(&log, bad), [f64::INFINITY; 2], "{bad}");
    }
    for reason in [
        "exit 3` ended with exit status: 3: the last word",
        "kill -9 $$` ended with signal: 9 (SIGKILL)",
        "not measured 2 times (missing): a program is not installed: ",
        "nothing: parameter not set",
        "`sleep 1000` did not end within 1 s",
        "`yes` did not end within 1 s",
    ] {
        assert!(stderr.contains(reason), "{reason} in {stderr}");
    }
}

/// What is missing may be installed later, so nothing is recorded for it.
#[test]
fn a_program_that_is_missing_is_measured_later() {
    let folder = Folder::new();
    let table = "choices = { a = \"./later\", b = \"./later --fast\" }\ninputs = { size = [1, 2] }";
    let missing =
        ["nothing has a time, and nothing is recorded: 2 inputs failed", "a program is not installed"];
    refused(programs(&folder, table).args(["--num-reps", "1"]), 6, &missing);
    assert_eq!(folder.read("train.txt.outcomes.jsonl"), "");
    let folder = Folder::new();
    let table = "choices = { a = \"true\", b = \"./later\" }\ninputs = { size = [1, 2] }";
    succeed(programs(&folder, table).args(["--num-reps", "1"]));
    std::fs::copy("/bin/true", folder.path("later")).unwrap();
    let stderr = succeed(programs(&folder, table).args(["--num-reps", "1"]));
    assert!(stderr.contains("measuring the missing choices of 2 inputs"), "{stderr}");
    assert_eq!(feedback(&log::read(&[folder.log()]).unwrap(), "b").len(), 2);
    // A check that cannot run is no wrong result.
    let folder = Folder::new();
    let table = "check = \"./later\"\nchoices = { a = \"true\", b = \"true\" }\ninputs = { size = [1, 2] }";
    refused(programs(&folder, table).args(["--num-reps", "1"]), 6, &["a program is not installed"]);
}

/// A heuristic is compared with the fallback, so a typo in its command is found out before hours of measuring.
#[test]
fn a_fallback_that_cannot_be_measured_ends_the_run() {
    let rest = "b = \"true\" }\ninputs = { size = { from = 1, to = 100000 } }";
    for (inputs, way, reason) in [
        ("3", "./typo", "a program is not installed"),
        ("20", "./typo", "a program is not installed"),
        ("20", "false", "exit status: 1"),
    ] {
        let folder = Folder::new();
        let table = format!("choices = {{ a = \"{way}\", {rest}");
        let text = format!("{}fallback = [\"a\"]\n", HEAD.split_inclusive('\n').next().unwrap());
        let mut command = programs(&folder, &table);
        let file = std::fs::read_to_string(folder.path("programs.toml")).unwrap();
        let begin = HEAD.split_inclusive('\n').next().unwrap();
        std::fs::write(folder.path("programs.toml"), file.replacen(begin, &text, 1)).unwrap();
        let last = if inputs == "3" { "3 inputs" } else { "10 inputs" };
        let parts = ["the fallback \"a\" could not be measured on the last", last, reason];
        refused(command.args(["--num-reps", "1", "--num-samples", inputs]), 5, &parts);
        assert_eq!(feedback(&log::read(&[folder.log()]).unwrap(), "b").len().to_string() + " inputs", last);
    }
}

#[test]
fn a_command_can_print_its_time() {
    let folder = Folder::new();
    let stderr = succeed(
        programs(
            &folder,
            r#"
            inputs = { size = [8] }
            time = "printed_milliseconds"
            [commands.choices]
            half = "printf 'some text\\n%s.5\\n\\n' $size"
            silent = "true"
            chatty = "echo took 7 ms"
            zero = "echo 0"
            flooding = "head -c 1000000 /dev/zero"
            "#,
        )
        .args(["--num-reps", "1"]),
    );
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(feedback(&log, "half"), [8.5]);
    for bad in ["silent", "chatty", "zero", "flooding"] {
        assert_eq!(feedback(&log, bad), [f64::INFINITY], "{bad}");
    }
    for found in ["found nothing", "found \"took 7 ms\"", "found \"0\""] {
        assert!(
            stderr.contains(&format!("the last line of its output should be its time, {found}")),
            "{stderr}"
        );
    }
}

#[test]
fn a_value_from_a_file_is_one_argument() {
    let folder = Folder::new();
    let evil = "a b; touch gone $(touch gone) 'x'";
    std::fs::write(folder.path(evil), "contents").unwrap();
    std::fs::write(folder.path("inputs.csv"), format!("size,file\n8,\"{evil}\"\n")).unwrap();
    for (name, copy) in [("quoted", "cp \"$file\" copy"), ("piped", "cat \"$file\" > copy; test -s copy")] {
        let table = format!("check = 'cmp copy \"$file\"'\nchoices = {{ a = '{copy}', b = \"true\" }}");
        let mut command = programs(&folder, &table);
        let stderr = succeed(command.args(["--inputs", "inputs.csv", "-o", &format!("{name}.txt")]));
        assert!(!stderr.contains("failed"), "{stderr}");
        assert_eq!(std::fs::read_to_string(folder.path("copy")).unwrap(), "contents");
        assert!(!folder.path("gone").exists());
    }
    let log = log::read(&[folder.path("piped.txt")]).unwrap();
    assert_eq!(log.inputs[0].text.as_ref(), "8", "the file is not a feature");
}

/// A shell takes a carriage return for text.
#[test]
fn a_file_with_crlf_measures() {
    let folder = Folder::new();
    let commands =
        "inputs = { size = [1] }\nchoices.a = '''\nif true; then\n  true\nfi\n'''\nchoices.b = 'true'\n";
    succeed(programs(&folder, &commands.replace('\n', "\r\n")).args(["--num-samples", "1"]));
    let times = feedback(&log::read(&[folder.log()]).unwrap(), "a");
    assert!(!times.is_empty() && times.iter().all(|time| time.is_finite()));
}

#[test]
fn mistakes_in_the_file_are_named() {
    let folder = Folder::new();
    for (table, part) in [
        ("choices = { a = \"true\" }", "expected 2 to 10000 choices, found 1"),
        ("choices = { a = \"true\", \"b=$x\" = \"true\" }", "$x is none of the parameters"),
        (
            "choices = { a = \"true\", b = \"true\" }\nparameters = { \"a-b\" = [1] }",
            "no name of a shell's variable",
        ),
        ("choices = { a = \"true\", b = \"sleep $t\" }\nparameters = { t = [1, 2] }", "so the name must too"),
        ("choices = { a = \"true\", b = \"true\" }\nparameters = { size = [1, 2] }", "\"size\" is a feature"),
        ("choices = { a = \"true\", b = \"true\" }\ninputs = { sise = [1] }", "\"sise\" is not a feature"),
        ("choices = { a = \"true\", b = \"true\" }\ninputs = { size = [\"x\"] }", "the feature is numerical"),
        (
            "choices = { a = \"true\", b = \"true\" }\ninputs = { size = { from = 9, to = 1 } }",
            "expected 1 <= from <= to",
        ),
        ("choises = { a = \"true\", b = \"true\" }", "TOML parse error at line 7"),
    ] {
        refused(&mut programs(&folder, table), 3, &["programs.toml", part]);
    }
    for (table, part) in [
        ("choices = { a = 1, b = \"true\" }", "expected a string"),
        (
            "choices = { a = \"true\", b = \"true\" }\ninputs = { size = { from = -1, to = 9 } }",
            "expected a list of values, or { from = 1, to = 9 }",
        ),
    ] {
        let output = programs(&folder, table).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(part), "{table}: {message}");
    }
    let rule = "choices = { a = \"true\", b = \"true\" }\n[eligible]\n\"c\" = \"size > 1\"";
    let (_, message) = error(&mut programs(&folder, rule));
    assert!(message.contains("\"c\" is none of the choices: a, b"), "{message}");
    let rule = rule.replace("\"c\"", "\"b\"").replace("size >", "sise >") + "\n";
    let (_, message) = error(programs(&folder, &rule).args(["--num-samples", "1"]));
    assert!(message.contains("the choice \"b\" is eligible where \"sise > 1\""), "{message}");
    let two = "choices = { a = \"true\", b = \"true\" }";
    refused(&mut programs(&folder, two), 5, &["the feature \"size\" has no range"]);
    let (_, message) = error(programs(&folder, two).args(["--name", "other"]));
    assert!(message.contains("cannot be used with '--name <NAME>'"), "{message}");
}

#[test]
fn a_failed_setup_skips_the_input_and_a_failed_cleanup_ends_the_run() {
    let folder = Folder::new();
    let choices = "choices = { a = \"true\", b = \"true\" }\ninputs = { size = [1, 2, 3] }\n";
    let setup = format!("{choices}setup = \"test $size -ne 2\"");
    let stderr = succeed(programs(&folder, &setup).args(["--num-reps", "1"]));
    assert_eq!(inputs(&folder).len(), 2);
    assert!(stderr.contains("setup: `test $size -ne 2` ended with exit status: 1"), "{stderr}");
    let cleanup = format!("{choices}cleanup = \"false\"");
    refused(
        programs(&folder, &cleanup).args(["--num-reps", "1", "-o", "other.txt"]),
        5,
        &["cleanup: `false` ended with exit status: 1"],
    );
}

#[test]
fn ten_failed_setups_end_the_run_and_are_tried_again() {
    let folder = Folder::new();
    let table = "choices = { a = \"true\", b = \"true\" }\ninputs = { size = { from = 1, to = 100000 } }\n\
                 setup = \"echo $folder is full >&2; test -e go\"";
    refused(
        programs(&folder, table).args(["--num-reps", "1", "--num-samples", "20"]),
        6,
        &["10 inputs in a row failed", "nothing of them is recorded", "setup: `echo", "$folder is full"],
    );
    std::fs::write(folder.path("go"), "").unwrap();
    succeed(programs(&folder, table).args(["--num-reps", "1", "--num-samples", "3"]));
    assert_eq!(inputs(&folder).len(), 3);
    assert_eq!(folder.read("train.txt.outcomes.jsonl"), "", "no input was given up");
}

#[test]
fn without_a_temporary_folder_nothing_is_recorded() {
    let folder = Folder::new();
    let table = "choices = { a = \"true\", b = \"true\" }\ninputs = { size = [1, 2, 3] }";
    let mut command = programs(&folder, table);
    refused(command.env("TMPDIR", "/nonexistent").args(["--num-reps", "1"]), 6, &["no folder can be made"]);
    succeed(programs(&folder, table).args(["--num-reps", "1"]));
    assert_eq!(inputs(&folder).len(), 3);
}

#[test]
fn a_check_can_use_the_parameters_of_the_choice() {
    let folder = Folder::new();
    let table = r#"
        inputs = { size = [1] }
        parameters = { limit = [0, 2] }
        check = "test $size -lt $limit"
        choices = { "limit=$limit" = "true" }
    "#;
    succeed(programs(&folder, table).args(["--num-reps", "1"]));
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(feedback(&log, "limit=0"), [f64::INFINITY]);
    assert!(feedback(&log, "limit=2")[0].is_finite());
}

#[test]
fn the_example_of_the_book_measures() {
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = repository.join("examples/zstd/send.toml");
    if std::process::Command::new("zstd").arg("--version").output().is_err() {
        skipped("zstd is not installed, so the example of docs/commands.md is not run");
        return;
    }
    let folder = Folder::new();
    std::fs::write(folder.path("inputs.csv"), "size,link,content\n20000,100,log\n20000,100,base64\n")
        .unwrap();
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.current_dir(folder.path("")).arg("--optimization").arg(file);
    let stderr = succeed(command.args(["--inputs", "inputs.csv", "--num-reps", "1"]));
    let log = log::read(&[folder.log()]).unwrap();
    for level in [0, 1, 3, 9, 19] {
        let times = feedback(&log, &format!("level={level}"));
        // 20000 bytes take 0.32 ms, if at least a fifth is sent, over 100 megabits per second.
        let plausible = times.len() == 2 && times.iter().all(|ms| ms.is_finite() && *ms > 0.32);
        assert!(plausible, "{level}: {times:?} {stderr}");
    }
}

#[test]
fn flags_that_would_have_no_effect_or_disturb_the_times_are_refused() {
    let folder = Folder::new();
    let commands = "choices = { a = \"true\", b = \"true\" }\ninputs = { size = [1, 2] }\n";
    for (flags, expected) in [
        (["--backend", "cuda"], "[commands] runs on the processor, found --backend cuda"),
        (["--device", "0,0"], "--device: expected each device once, found 0 twice"),
    ] {
        refused(programs(&folder, commands).args(flags), 2, &[expected]);
    }
}
