//! Merging the logs of several machines: nothing twice, nothing lost, and every misfit is named.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ah_types::log;
use ah_types::log::merge::{Disagreement, MergeError, MergeOptions, MergeReport, merge};
use proptest::prelude::*;

struct Folder(tempfile::TempDir);

const HEAD: &str = r#"{"name":"x","shared_memory":0,"device_capa":[0,0],"numerical_features":["m"],"categorical_features":["kind"],"choices":["a","b"],"autoheuristic_rs":{"format":1,"device":{"kind":"cuda","name":"GPU 1","capability":[9,0],"multiprocessors":8,"shared_memory":1,"l2":1,"memory":1,"clock_khz":1000,"memory_clock_khz":1,"driver":"1","runtime":"1"},"seed":1,"tool":"ah-collect 1"}}"#;

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A log with this head and these lines.
    fn log(&self, name: &str, head: &str, rows: &str) -> PathBuf {
        std::fs::write(self.path(name), format!("{head}\nm,kind,choice,feedback\n{rows}")).unwrap();
        self.path(name)
    }

    fn merge(&self, logs: &[PathBuf], options: MergeOptions) -> Result<MergeReport, MergeError> {
        merge(logs, &self.path("all.txt"), "test", options)
    }

    fn merged(&self, logs: &[PathBuf]) -> MergeReport {
        self.merge(logs, MergeOptions::default()).unwrap()
    }

    fn refused(&self, logs: &[PathBuf]) -> String {
        let error = self.merge(logs, MergeOptions::default()).unwrap_err().to_string();
        assert!(!self.path("all.txt").exists(), "a refused merge writes nothing");
        error.replace(&format!("{}/", self.0.path().display()), "")
    }

    /// The rows of the merged log.
    fn rows(&self) -> String {
        let text = std::fs::read_to_string(self.path("all.txt")).unwrap();
        text.splitn(3, '\n').nth(2).unwrap().to_owned()
    }

    /// A report without the folder's name.
    fn shown(&self, report: &MergeReport) -> String {
        report.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn options(disagreement: Disagreement) -> MergeOptions {
    MergeOptions { disagreement, ..MergeOptions::default() }
}

#[test]
fn inputs_keep_their_text_and_their_first_log() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,\"x,y\",a,0.50\n1,\"x,y\",b,inf\n2,z,a,1e-3\n");
    let b = folder.log("b.txt", HEAD, "2,z,a,9\n2,z,b,9\n3,z,a,1\n");
    let report = folder.merged(&[a, b]);
    // Times are written in their shortest form.
    assert_eq!(folder.rows(), "1,\"x,y\",a,0.5\n1,\"x,y\",b,inf\n2,z,a,0.001\n3,z,a,1\n");
    assert_eq!((report.inputs(), report.rows()), (3, 4));
    assert_eq!((report.logs[1].repeated_inputs, report.logs[1].repeated_rows), (1, 2));
    let log = log::read(&[folder.path("all.txt")]).unwrap();
    assert_eq!(log.metadata.collection.unwrap().tool, "test, merged from 2 logs");
}

#[test]
fn a_torn_last_line_is_left_out_and_reported() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n\n1,z,b,2.12");
    let b = folder.log("b.txt", HEAD, "2,z,a,1\n2,z");
    let report = folder.merged(&[a, b]);
    assert_eq!(folder.rows(), "1,z,a,1\n2,z,a,1\n");
    let shown = folder.shown(&report);
    assert!(
        shown.contains("a.txt: 1 inputs, 1 rows; left out 1 blank lines; left out the last line (5)"),
        "{shown}"
    );
    assert!(shown.contains("b.txt: 1 inputs, 1 rows; left out the last line (4)"), "{shown}");
}

#[test]
fn a_torn_line_in_the_middle_is_refused_or_left_out() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n");
    let b = folder.log("b.txt", HEAD, "2,z,a,1\n2,z,b,4,z,a,1\n2,z,b,2\n");
    let message = folder.refused(&[a.clone(), b.clone()]);
    assert!(message.starts_with("b.txt:4: expected 4 fields, found 7"), "{message}");
    let report =
        folder.merge(&[a, b], MergeOptions { skip_bad_rows: true, ..MergeOptions::default() }).unwrap();
    assert_eq!(folder.rows(), "1,z,a,1\n2,z,a,1\n2,z,b,2\n");
    assert_eq!(report.logs[1].bad_rows, 1);
}

#[test]
fn every_malformed_row_is_refused_with_its_place() {
    let folder = Folder::new();
    for (row, expected) in [
        ("x,z,a,1", "a.txt:4:1: expected a number for m, found \"x\""),
        ("1,z,a", "a.txt:4: expected 4 fields, found 3"),
        ("1,z,b,-1", "a.txt:4:7: expected a time in milliseconds above 0, or inf, found \"-1\""),
        ("1,z,,1", "a.txt:4:5: expected a choice's name, found nothing"),
        ("1,z,\"a,1", "a.txt:4:5: expected a closed quote, found \"\\\"a,1\""),
        ("2,\"z,a,1", "a.txt:4:3: expected a closed quote"),
    ] {
        let a = folder.log("a.txt", HEAD, &format!("1,z,a,1\n{row}\n"));
        let message = folder.refused(&[a]);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn what_may_differ_between_machines_is_reported() {
    let folder = Folder::new();
    let other = HEAD
        .replace("\"seed\":1", "\"seed\":2")
        .replace("ah-collect 1", "ah-collect 2")
        .replace("\"driver\":\"1\"", "\"driver\":\"2\"")
        .replace("\"clock_khz\":1000", "\"clock_khz\":900")
        .replace(r#"["a","b"]"#, r#"["b","c"]"#);
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n");
    let b = folder.log("b.txt", &other, "2,z,c,1\n");
    let report = folder.merged(&[a, b]);
    insta::assert_snapshot!(folder.shown(&report));
    let merged = log::read(&[folder.path("all.txt")]).unwrap();
    assert_eq!(merged.metadata.choices.unwrap(), ["a", "b", "c"]);
}

#[test]
fn what_may_not_differ_is_refused_with_both_values() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n");
    for (from, to, key) in [
        ("GPU 1", "GPU 2", "autoheuristic_rs.device.name (log: \"GPU 1\", other: \"GPU 2\")"),
        ("\"name\":\"x\"", "\"name\":\"y\"", "name (log: \"x\", other: \"y\")"),
        (r#""seed""#, r#""eligible":{"a":"m > 1"},"seed""#, "autoheuristic_rs.eligible (log: absent"),
        ("\"shared_memory\":0", "\"shared_memory\":7", "shared_memory (log: 0, other: 7)"),
    ] {
        let b = folder.log("b.txt", &HEAD.replacen(from, to, 1), "2,z,a,1\n");
        let message = folder.refused(&[a.clone(), b]);
        assert!(message.contains(key), "{message}");
    }
    let policy = |burst: u32| {
        let policy = ah_types::TimingPolicy { burst, ..ah_types::TimingPolicy::default() };
        HEAD.replace("\"seed\"", &format!("\"timing\":{},\"seed\"", serde_json::to_string(&policy).unwrap()))
    };
    let a = folder.log("a.txt", &policy(1), "1,z,a,1\n");
    let b = folder.log("b.txt", &policy(2), "2,z,a,1\n");
    let message = folder.refused(&[a, b]);
    assert!(message.contains("autoheuristic_rs.timing.burst (log: 1, other: 2)"), "{message}");
}

#[test]
fn columns_in_another_order_become_those_of_the_first_log() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n");
    std::fs::write(folder.path("b.txt"), format!("{HEAD}\nfeedback,kind,m,choice\n2,z,1,a\n1,y,2,a\n"))
        .unwrap();
    let report = folder.merged(&[a, folder.path("b.txt")]);
    assert_eq!(folder.rows(), "1,z,a,1\n2,y,a,1\n");
    assert_eq!((report.logs[1].repeated_inputs, report.logs[1].inputs), (1, 1));
}

#[test]
fn a_shard_twice_is_refused_in_any_order_of_rows() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n2,z,a,1\n");
    let b = folder.log("b.txt", HEAD, "2,z,a,1\n1,z,a,1\n");
    let expected = "it holds the same rows as a.txt; give each log once, and look for one that is missing";
    assert_eq!(folder.refused(&[a.clone(), a.clone()]), format!("a.txt: {expected}"));
    assert_eq!(folder.refused(&[a, b]), format!("b.txt: {expected}"));
}

#[test]
fn empty_shards() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n");
    let empty = folder.log("b.txt", HEAD, "");
    let report = folder.merged(&[empty.clone(), a.clone()]);
    assert!(folder.shown(&report).contains("b.txt: 0 inputs, 0 rows"));
    assert_eq!(folder.rows(), "1,z,a,1\n");
    std::fs::remove_file(folder.path("all.txt")).unwrap();
    assert_eq!(
        folder.refused(&[empty]),
        "b.txt: the log has no rows; measure some inputs first (ah-collect)"
    );
    std::fs::write(folder.path("c.txt"), "").unwrap();
    let message = folder.refused(&[a, folder.path("c.txt")]);
    assert!(
        message.starts_with("c.txt:1:1: expected a line of JSON metadata, found an empty file"),
        "{message}"
    );
}

#[test]
fn the_output_is_replaced_but_never_one_of_the_logs() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n");
    folder.merged(std::slice::from_ref(&a));
    folder.merged(std::slice::from_ref(&a));
    let all = folder.path("all.txt");
    let error = folder.merge(&[a, all.clone()], MergeOptions::default()).unwrap_err();
    // The merged log holds the same rows, which is found first.
    assert!(matches!(error, MergeError::Twice { .. }), "{error}");
    let error = folder.merge(&[all], MergeOptions::default()).unwrap_err();
    assert!(matches!(error, MergeError::OutputIsLog { .. }), "{error}");
    assert_eq!(folder.rows(), "1,z,a,1\n");
}

#[test]
fn clocks_that_disagree_change_nothing() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n");
    let b = folder.log("b.txt", HEAD, "2,z,a,1\n");
    folder.merged(&[a.clone(), b.clone()]);
    let before = folder.rows();
    let file = std::fs::File::options().append(true).open(&b).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(86_400)).unwrap();
    folder.merged(&[a, b]);
    assert_eq!(folder.rows(), before);
}

#[cfg(unix)]
#[test]
fn a_log_can_come_through_a_pipe() {
    use std::os::fd::AsRawFd;
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, "1,z,a,1\n");
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, format!("{HEAD}\nm,kind,choice,feedback\n2,z,a,1\n").as_bytes())
        .unwrap();
    drop(writer);
    folder.merged(&[a, PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()))]);
    assert_eq!(folder.rows(), "1,z,a,1\n2,z,a,1\n");
    let error = folder.merge(&[PathBuf::from("/dev/null")], MergeOptions::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("/dev/null:1:1: expected a line of JSON metadata, found an empty file"),
        "{error}"
    );
}

/// Twenty inputs that all machines measured, around 1 µs and around 1 ms, and one input of its own.
fn machine(own: u32, short: f64, long: f64) -> String {
    let mut rows = String::new();
    for m in 0..20 {
        for (choice, base) in [("a", 1e-3), ("b", 2e-3), ("c", 2.0), ("d", 3.0)] {
            let ratio = if base < 1.0 { short } else { long };
            // Noise of up to 1 %, the same in every run of the test.
            let noise = 1.0 + f64::from((m * 7 + own * 13) % 20) / 2000.0;
            let _ = writeln!(rows, "{m},z,{choice},{}", base * ratio * noise);
        }
    }
    let _ = writeln!(rows, "{},own,a,0.001\n{0},own,c,2", 100 + own);
    rows
}

#[test]
fn a_slower_machine_is_refused_kept_or_scaled() {
    let folder = Folder::new();
    let logs: Vec<_> = [(1.0, 1.0), (1.001, 0.999), (1.04, 1.0)]
        .iter()
        .zip(1..)
        .map(|((short, long), i)| folder.log(&format!("machine{i}.txt"), HEAD, &machine(i, *short, *long)))
        .collect();
    insta::assert_snapshot!("refused", folder.refused(&logs));
    let kept = folder.merge(&logs, options(Disagreement::Keep)).unwrap();
    insta::assert_snapshot!("kept", folder.shown(&kept));
    assert!(folder.rows().contains("103,own,a,0.001\n103,own,c,2\n"));

    let scaled = folder.merge(&logs, options(Disagreement::Scale)).unwrap();
    assert_eq!(scaled.scaled, [2]);
    assert!(folder.shown(&scaled).ends_with("their times were divided by these ratios"));
    let log = log::read(&[folder.path("all.txt")]).unwrap();
    assert_eq!(
        log.metadata.collection.clone().unwrap().tool,
        "test, merged from 3 logs, the times of 1 scaled"
    );
    let of = |input: &str, choice: &str| {
        let input = log.inputs.iter().position(|i| &*i.text == input).unwrap();
        let choice = log.choice_id(choice).unwrap();
        log.samples.iter().find(|s| s.input as usize == input && s.choice == choice).unwrap().feedback
    };
    assert!((of("103,own", "a") - 0.001 / 1.04).abs() < 5e-6, "{}", of("103,own", "a"));
    assert!((of("103,own", "c") - 2.0).abs() < 0.01, "{}", of("103,own", "c"));
    assert_eq!(of("102,own", "a"), 0.001);
}

#[test]
fn two_machines_that_disagree_are_compared_with_the_first() {
    let folder = Folder::new();
    let a = folder.log("a.txt", HEAD, &machine(1, 1.0, 1.0));
    let b = folder.log("b.txt", HEAD, &machine(1, 1.0, 0.9));
    let message = folder.refused(&[a, b]);
    assert!(message.contains("b.txt is 10.0 % faster on kernels from 1 to 10 ms"), "{message}");
}

#[test]
fn machines_that_share_nothing_are_named() {
    let folder = Folder::new();
    let logs = [
        folder.log("a.txt", HEAD, &machine(1, 1.0, 1.0)),
        folder.log("b.txt", HEAD, &machine(2, 1.0, 1.0)),
        folder.log("c.txt", HEAD, "77,z,a,1\n"),
    ];
    let shown = folder.shown(&folder.merged(&logs));
    assert!(
        shown.ends_with(
            "1 other machine agrees within 2.0 %\n  not compared, because they share no measured input: c.txt"
        ),
        "{shown}"
    );
    let shown = folder.shown(&folder.merged(&logs[1..]));
    assert!(shown.contains("no input is in two logs"), "{shown}");
}

#[test]
fn gzip_is_read() {
    use std::io::Write as _;
    let folder = Folder::new();
    let plain = folder.log("a.txt", HEAD, "1,z,a,1\n");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(&std::fs::read(folder.log("b.txt", HEAD, "2,z,a,1\n")).unwrap()).unwrap();
    std::fs::write(folder.path("b.gz"), packed.finish().unwrap()).unwrap();
    folder.merged(&[plain, folder.path("b.gz")]);
    assert_eq!(folder.rows(), "1,z,a,1\n2,z,a,1\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_input_is_in_the_merged_log_exactly_once(
        logs in prop::collection::vec(prop::collection::vec((0_u32..12, 1_u32..4), 0..12), 1..6),
    ) {
        let folder = Folder::new();
        let mut paths = Vec::new();
        for (i, runs) in logs.iter().enumerate() {
            let mut rows = String::new();
            for (run, (m, repeats)) in runs.iter().enumerate() {
                for repeat in 0..*repeats {
                    let _ = writeln!(rows, "{m},z,log{i}_run{run},{}", repeat + 1);
                }
            }
            paths.push(folder.log(&format!("{i}.txt"), HEAD, &rows));
        }
        let options = options(Disagreement::Keep);
        prop_assume!(logs.iter().any(|runs| !runs.is_empty()));
        let report = match folder.merge(&paths, options) {
            Ok(report) => report,
            Err(e) => return Err(TestCaseError::fail(e.to_string())),
        };
        let merged = log::read(&[folder.path("all.txt")]).unwrap();
        let wanted: BTreeSet<u32> = logs.iter().flatten().map(|(m, _)| *m).collect();
        let found: Vec<String> = merged.inputs.iter().map(|i| i.text.to_string()).collect();
        prop_assert_eq!(found.len(), wanted.len());
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted.iter().map(|m| format!("{m},z")).collect());
        prop_assert_eq!(report.inputs(), wanted.len() as u64);
        // All rows of an input come from the first log that holds it, and none is lost.
        let mut rows = 0;
        for m in &wanted {
            let owner = logs.iter().position(|runs| runs.iter().any(|(other, _)| other == m)).unwrap();
            rows += logs[owner].iter().filter(|(other, _)| other == m).map(|(_, repeats)| u64::from(*repeats)).sum::<u64>();
            let input = merged.inputs.iter().position(|i| *i.text == *format!("{m},z")).unwrap();
            for sample in merged.samples.iter().filter(|s| s.input as usize == input) {
                let of_owner = merged.choice_name(sample.choice).starts_with(&format!("log{owner}_"));
                prop_assert!(of_owner);
            }
        }
        prop_assert_eq!((report.rows(), merged.samples.len() as u64), (rows, rows));
    }
}
