//! The environment sets folders and limits, and events reach the `log` crate.

use crate::common;
use crate::common::logger;
use crate::common::virtual_kernels;

use std::path::{Path, PathBuf};
use std::process::Command;

use ah_runtime::{AutoHeuristic, Environment, Role};
use ah_runtime::{Device, Model};
use virtual_kernels::*;

fn device() -> Device {
    let mut device = ah_model::this_cpu();
    if let Device::Cpu(cpu) = &mut device {
        cpu.model = "CPU/of Test".to_owned();
    }
    device
}

#[test]
fn logs_are_in_the_cache_folder_by_device_and_name_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let log = |variables: &[(&str, &Path)], cache: Option<&str>| {
        let auto = AutoHeuristic::builder("pad/mm").choices(["a"]).device(device());
        let cache_folder = cache.map(PathBuf::from);
        let mut environment = environment(variables);
        environment.cache_folder = cache_folder;
        auto.environment(environment).build().unwrap().log_path().map(Path::to_owned)
    };
    let (cache, usual) = (Some("/cache"), PathBuf::from("/cache/autoheuristic/CPU_of_Test/pad_mm.txt"));
    assert_eq!(log(&[], cache), Some(usual.clone()));
    assert_eq!(log(&[("AUTOHEURISTIC_LOG_PATH", Path::new("DEFAULT"))], cache), Some(usual));
    assert_eq!(log(&[], None), None);
    let file = folder.path().join("own.txt");
    assert_eq!(log(&[("AUTOHEURISTIC_LOG_PATH", &file)], cache), Some(file));
    let in_folder = folder.path().join("pad_mm.txt");
    assert_eq!(log(&[("AUTOHEURISTIC_LOG_PATH", folder.path())], None), Some(in_folder));
    let new = PathBuf::from("new/pad_mm.txt");
    assert_eq!(log(&[("AUTOHEURISTIC_LOG_PATH", Path::new("new/"))], None), Some(new));
}

/// Prints the cache folder of its process; does nothing unless a test below started it.
#[test]
fn the_cache_folder_of_a_process() {
    if std::env::var_os("AH_TEST_CHILD").is_some() {
        let folder = Environment::current().cache_folder.as_ref();
        println!("cache folder: {:?}", folder.map(|folder| folder.join("below")));
    }
}

#[cfg(unix)]
#[test]
fn a_user_without_a_home_has_no_shared_cache_folder() {
    let folder = |variables: &[(&str, &str)]| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["environment::the_cache_folder_of_a_process", "--exact", "--nocapture"])
            .env("AH_TEST_CHILD", "1");
        child.env_remove("HOME").env_remove("XDG_CACHE_HOME").envs(variables.iter().copied());
        let output = String::from_utf8(child.output().unwrap().stdout).unwrap();
        let (_, folder) = output.split_once("cache folder: ").unwrap_or_else(|| panic!("{output}"));
        folder.lines().next().unwrap().to_owned()
    };
    assert_eq!(folder(&[("XDG_CACHE_HOME", "/cache")]), "Some(\"/cache/below\")");
    assert_eq!(folder(&[("HOME", "/home/x")]), "Some(\"/home/x/.cache/below\")");
    // The home folder of the user database, or none; never the working folder or one that users share.
    for neither in [&[][..], &[("HOME", ""), ("XDG_CACHE_HOME", "relative")]] {
        let found = folder(neither);
        let shared = [std::env::temp_dir(), PathBuf::from("/var/tmp")].map(|f| f.display().to_string());
        assert!(found == "None" || found.ends_with("/.cache/below\")"), "{found}");
        assert!(!shared.iter().any(|shared| found.contains(shared.as_str())), "{found}");
    }
}

#[test]
fn without_a_cache_folder_nothing_is_stored_and_collecting_names_the_variable() {
    let multi = two(Environment::default()).build().unwrap();
    assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "pad");
    let auto = AutoHeuristic::builder("x").choices(["a"]).numerical("m").role(Role::Collect);
    let auto = auto.environment(Environment::default()).build().unwrap();
    let timing = || [("a", Ok(vec![1.0]))];
    let error = auto.record_timings(&[1.into()], timing()).unwrap_err().to_string();
    assert!(error.contains("AUTOHEURISTIC_LOG_PATH"), "{error}");
    assert!(auto.explain().contains("AUTOHEURISTIC_LOG_PATH"), "{}", auto.explain());
}

/// Asks `pad_mm` in the environment of its process; does nothing unless the test below started it.
#[test]
fn in_a_process_of_its_own() {
    if std::env::var_os("AH_TEST_CHILD").is_none() {
        return;
    }
    for name in ["pad_mm", "softmax"] {
        let auto = AutoHeuristic::builder(name).choices(["orig", "pad"]).numerical("m").build().unwrap();
        let answer = auto.choose_or_collect(&[7.into()], |choice| Ok(vec![choice.len() as f64]));
        assert_eq!((answer.choice, auto.collects()), ("orig", name == "pad_mm"));
    }
}

#[test]
fn the_environment_of_the_process_collects_into_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["environment::in_a_process_of_its_own", "--exact"])
        .env("AH_TEST_CHILD", "1")
        .env("AUTOHEURISTIC_COLLECT", "pad_mm,mm")
        .env("AUTOHEURISTIC_LOG_PATH", folder.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let log = std::fs::read_to_string(folder.path().join("pad_mm.txt")).unwrap();
    let rows: Vec<&str> = log.lines().skip(1).collect();
    assert_eq!(rows, ["m,choice,feedback", "7,orig,4", "7,pad,3"]);
    assert!(!folder.path().join("softmax.txt").exists(), "it is not listed");
}

/// Collects or asks in the environment of its process; does nothing unless a test below started it.
#[test]
fn a_process_without_a_logger() {
    if std::env::var_os("AH_TEST_CHILD").is_none() {
        return;
    }
    let auto = decision().environment(Environment::current().clone()).choices(["orig", "pad"]);
    let auto = auto.build().unwrap();
    for k in [1000.0, 1001.0] {
        let measured = |_: &str| Ok(vec![1.0]);
        println!("answer: {}", auto.choose_or_collect(&values(64.0, k, "float32"), measured));
    }
}

/// The last answer of that process, and its warnings.
fn answer_and_warnings(variables: &[(&str, &Path)]) -> (String, Vec<String>) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["environment::a_process_without_a_logger", "--exact", "--nocapture"])
        .env("AH_TEST_CHILD", "1");
    let output = child.envs(variables.iter().copied()).output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let (_, answer) = stdout.rsplit_once("answer: ").unwrap_or_else(|| panic!("{stdout}{stderr}"));
    let warnings = stderr.lines().filter_map(|line| line.strip_prefix("ah-runtime: "));
    (answer.lines().next().unwrap().to_owned(), warnings.map(str::to_owned).collect())
}

#[test]
fn a_run_that_was_asked_to_collect_and_cannot_warns_once_without_a_logger() {
    let folder = tempfile::tempdir().unwrap();
    let collect = |log: &Path| {
        answer_and_warnings(&[
            ("AUTOHEURISTIC_COLLECT", Path::new("pad_mm")),
            ("AUTOHEURISTIC_LOG_PATH", log),
        ])
    };
    let log = folder.path().join("log.txt");
    assert_eq!(collect(&log), ("orig (fallback: collecting)".to_owned(), Vec::new()));
    let other = folder.path().join("other.txt");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&other, text.replace(r#""fallback":["orig"]"#, r#""fallback":["pad"]"#)).unwrap();
    let [of_mm, packed] = ["mm.txt", "packed.txt"].map(|name| folder.path().join(name));
    std::fs::write(&of_mm, text.replacen("pad_mm", "mm", 1)).unwrap();
    std::fs::write(&packed, b"\x1f\x8b\x08").unwrap();
    for (path, reason) in [
        (of_mm, "this run measures pad_mm; set another AUTOHEURISTIC_LOG_PATH"),
        (packed, "unpack it, or set another AUTOHEURISTIC_LOG_PATH"),
        (
            other,
            r#"autoheuristic_rs.fallback (log: ["pad"], other: ["orig"]); set another AUTOHEURISTIC_LOG_PATH"#,
        ),
        (log.join("below.txt"), "below.txt: cannot"),
    ] {
        let (answer, warnings) = collect(&path);
        assert_eq!(answer, "orig (fallback: collecting)");
        let [warning] = warnings.as_slice() else { panic!("{warnings:#?}") };
        assert!(warning.starts_with("pad_mm: measurements are lost: "), "{warning}");
        assert!(warning.contains(reason), "{warning}");
    }
}

#[test]
fn a_run_that_was_asked_to_use_models_and_has_none_warns_once_without_a_logger() {
    let folder = tempfile::tempdir().unwrap();
    let [own, other, empty] = ["own", "other", "empty"].map(|name| folder.path().join(name));
    let model = common::pad_mm("Own", None);
    for (folder, optimization) in [(&own, "pad_mm"), (&other, "softmax")] {
        std::fs::create_dir(folder).unwrap();
        let model = Model { optimization: optimization.to_owned(), ..model.clone() };
        std::fs::write(folder.join("model.json"), model.to_json()).unwrap();
    }
    std::fs::create_dir(&empty).unwrap();
    let ask = |path: &Path| answer_and_warnings(&[("AUTOHEURISTIC_PATH", path)]);
    let learned = ("pad".to_owned(), Vec::new());
    assert_eq!(ask(&own), learned);
    assert_eq!(ask(&own.join("model.json")), learned, "one file");
    let packed = folder.path().join("packed");
    std::fs::create_dir(&packed).unwrap();
    model.write(&packed.join("model.json.gz")).unwrap();
    assert_eq!(ask(&packed), learned, "packed");
    let [spoilt, half] = ["spoilt", "half"].map(|name| folder.path().join(name));
    std::fs::create_dir(&half).unwrap();
    std::fs::write(&spoilt, "{\n  \"format\": 1").unwrap();
    std::fs::write(half.join("a.json"), &model.to_json()[..300]).unwrap();
    std::fs::copy(other.join("model.json"), half.join("b.json")).unwrap();
    for (path, reason) in [
        (other, "other decides softmax"),
        (empty, "empty has no model (*.json, *.json.gz) that can be read"),
        (folder.path().join("missing"), "missing: No such file"),
        (spoilt, "spoilt: not a valid model: line 2, column 13"),
        (half, "half decides softmax; "),
    ] {
        let (answer, warnings) = ask(&path);
        assert_eq!(answer, "orig (fallback: no heuristic)");
        let [warning] = warnings.as_slice() else { panic!("{warnings:#?}") };
        assert!(warning.starts_with("pad_mm: takes its fallback, because AUTOHEURISTIC_PATH"), "{warning}");
        assert!(warning.contains(reason), "{warning}");
    }
    // A decision point that is not in AUTOHEURISTIC_USE asks for no model.
    let off = [("AUTOHEURISTIC_PATH", folder.path()), ("AUTOHEURISTIC_USE", Path::new("softmax"))];
    assert_eq!(answer_and_warnings(&off), ("orig (fallback: not enabled)".to_owned(), Vec::new()));
}

#[test]
fn without_a_model_explaining_has_the_reason_or_the_advice() {
    let folder = tempfile::tempdir().unwrap();
    let spoilt = folder.path().join("model.json");
    std::fs::write(&spoilt, "{").unwrap();
    let explain = |environment| decision().environment(environment).choices(["a"]).build().unwrap().explain();
    let advised = explain(Environment::default());
    assert!(
        advised.ends_with("no heuristic found: register one, or put its folder into AUTOHEURISTIC_PATH"),
        "{advised}"
    );
    let found = explain(environment(&[("AUTOHEURISTIC_PATH", folder.path())]));
    assert!(found.contains(&format!("no heuristic found: {}: ", spoilt.display())), "{found}");
    assert!(!found.contains("AUTOHEURISTIC_PATH"), "{found}");
}

/// Measures kernels in the environment of its process; does nothing unless the test below started it.
#[test]
fn a_process_with_picks() {
    if std::env::var_os("AH_TEST_CHILD").is_none() {
        return;
    }
    let multi = two(Environment::current().clone()).build().unwrap();
    for k in [100.0, 1000.0] {
        measured(&multi, 64.0, k, "f32");
    }
}

#[test]
fn a_folder_for_picks_that_cannot_be_used_is_one_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let warnings = |variable: &str, path: &Path| {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["environment::a_process_with_picks", "--exact", "--nocapture"])
            .env("AH_TEST_CHILD", "1")
            .env_remove("AUTOHEURISTIC_CACHE_DIR")
            .env(variable, path)
            .output()
            .unwrap();
        let text = String::from_utf8(child.stderr).unwrap();
        assert!(child.status.success(), "{text}");
        text.lines()
            .filter_map(|line| line.strip_prefix("ah-runtime: "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let found = warnings("AUTOHEURISTIC_CACHE_DIR", file.path());
    let [warning] = found.as_slice() else { panic!("{found:#?}") };
    assert!(warning.starts_with(&file.path().display().to_string()), "{warning}");
    assert!(warning.ends_with("; only this process remembers new picks"), "{warning}");
    // Nobody asked for the default folder.
    assert_eq!(warnings("XDG_CACHE_HOME", file.path()), Vec::<String>::new());
}

#[test]
fn picks_are_in_the_cache_folder_by_device_by_default() {
    let folder = |variables: &[(&str, &Path)], cache: Option<&str>| {
        let cache_folder = cache.map(PathBuf::from);
        let mut environment = environment(variables);
        environment.cache_folder = cache_folder;
        environment.picks_folder(&device()).map(|folder| folder.display().to_string())
    };
    assert_eq!(folder(&[], Some("/cache")).unwrap(), "/cache/autoheuristic/picks/CPU_of_Test");
    let own = ("AUTOHEURISTIC_CACHE_DIR", Path::new("/picks"));
    assert_eq!(folder(&[own], Some("/cache")).unwrap(), "/picks/CPU_of_Test");
    assert_eq!(folder(&[("AUTOHEURISTIC_CACHE_DIR", Path::new("off"))], Some("/cache")), None);
    assert_eq!(folder(&[], None), None);
}

#[test]
fn paths_are_read() {
    let read =
        |name: &'static str, value: &'static str| Environment::read(|n| (n == name).then(|| value.into()));
    assert_eq!(
        read("AUTOHEURISTIC_PATH", "/a:/b::c").model_folders,
        ["/a", "/b", "c"].map(PathBuf::from),
        "as in PATH"
    );
}

#[test]
fn the_log_says_what_is_measured_and_what_is_not_trusted() {
    logger::start();
    let named = |name: &str| {
        let decision = AutoHeuristic::builder(name).numerical("m").environment(Environment::default());
        two_at(decision).no_cache()
    };
    let multi = named("told").build().unwrap();
    for m in [100.0, 1000.0] {
        multi.try_run(&[m.into()], |kernel| kernel(m), None).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let untrusted = || {
        let environment = Environment::read(|name| {
            (name == "AUTOHEURISTIC_CACHE_DIR").then(|| folder.path().as_os_str().into())
        });
        two_at(AutoHeuristic::builder("untrusted").numerical("m").environment(environment)).build().unwrap()
    };
    untrusted().try_run(&[100.into()], |kernel| kernel(100.0), None).unwrap();
    let device = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let picks = std::fs::read_dir(device).unwrap().next().unwrap().unwrap().path();
    std::fs::write(picks, "{").unwrap();
    untrusted();
    let logged = logger::LINES.lock().unwrap();
    for expected in [
        "INFO: told: measured [m=100]: orig wins with 320.3 µs",
        "INFO: told: measured [m=1000]: pad wins with 500.0 µs",
    ] {
        assert!(logged.iter().any(|line| line == expected), "{expected} is not in {logged:#?}");
    }
    let warned = |line: &String| {
        line.starts_with("WARN: untrusted: ") && line.contains("not the picks of this program")
    };
    assert!(logged.iter().any(warned), "{logged:#?}");
}

#[test]
fn a_multi_kernel_that_is_not_enabled_runs_the_fallback() {
    let off = Environment::read(|name| (name == "AUTOHEURISTIC_USE").then(|| "softmax".into()));
    let multi = two(off).no_cache().build().unwrap();
    for _ in 0..2 {
        assert_eq!(call(&multi, 64.0, 1000.0, "f32"), ["orig"]);
    }
    let explained = multi.explain();
    assert!(explained.starts_with("pad_mm: not enabled; fallback orig\n"), "{explained}");
    assert!(!explained.contains("forces"), "{explained}");
    let unknown =
        "AUTOHEURISTIC_USE names \"softmax\", expected one of this program's decision points, so far";
    assert!(explained.contains(unknown), "{explained}");
}

/// Makes two decision points with misspelt names in its environment; does nothing unless the test below started it.
#[test]
fn a_process_with_misspelt_names() {
    if std::env::var_os("AH_TEST_CHILD").is_none() {
        return;
    }
    for name in ["send", "hash", "send"] {
        two_at(AutoHeuristic::builder(name).numerical("m")).no_cache().build().unwrap();
    }
}

#[test]
fn a_misspelt_name_is_answered_once_with_the_known_ones() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["environment::a_process_with_misspelt_names", "--exact", "--nocapture"])
        .env("AH_TEST_CHILD", "1")
        .env("AUTOHEURISTIC_COLLECT", "sned")
        .env("AUTOHEURISTIC_FORCE_KERNEL", "hash9=1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let warnings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("ah-runtime: ")).collect();
    let expected = "expected one of this program's decision points, so far";
    assert_eq!(
        warnings,
        [
            format!("AUTOHEURISTIC_COLLECT names \"sned\", {expected} send"),
            format!("AUTOHEURISTIC_FORCE_KERNEL names \"hash9\", {expected} hash, send"),
        ]
    );
}

/// Loses measurements beside a logger that takes errors only; does nothing unless the test below started it.
#[test]
fn a_process_whose_logger_takes_errors_only() {
    if std::env::var_os("AH_TEST_CHILD").is_none() {
        return;
    }
    logger::start();
    log::set_max_level(log::LevelFilter::Error);
    let auto =
        decision().role(Role::Collect).log("/dev/null/below.txt").choices(["orig", "pad"]).build().unwrap();
    for k in [1000.0, 1001.0] {
        auto.choose_or_collect(&values(64.0, k, "float32"), |_| Ok(vec![1.0]));
    }
}

#[cfg(unix)]
#[test]
fn lost_measurements_are_printed_where_no_logger_takes_warnings() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["environment::a_process_whose_logger_takes_errors_only", "--exact", "--nocapture"])
        .env("AH_TEST_CHILD", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.matches("ah-runtime: pad_mm: measurements are lost: ").count(), 1, "{text}");
}
