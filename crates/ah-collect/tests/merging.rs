//! `ah-collect merge`: the shards of one sequence as one log.

mod common;

use assert_cmd::Command;
use common::{Folder, collector_at_work, error, fake, inputs, refused, stdout, succeed};

/// Measures the first draws on every machine, then this machine's shard of all draws.
fn collect(folder: &Folder, log: &str, shard: &str) {
    succeed(fake(folder).args(["--draws", "60", "-o", log]));
    succeed(fake(folder).args(["--draws", "90", "--shard", shard, "-o", log]));
}

fn merge(folder: &Folder) -> Command {
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.current_dir(folder.path("")).arg("merge");
    command
}

#[test]
fn shards_and_a_shared_sample_are_the_log_of_one_machine() {
    let (whole, parts) = (Folder::new(), Folder::new());
    succeed(fake(&whole).args(["--draws", "90"]));
    for (log, shard) in [("a.txt", "1/3"), ("b.txt", "2/3"), ("c.txt", "3/3")] {
        collect(&parts, log, shard);
    }
    let report = stdout(merge(&parts).args(["a.txt", "b.txt", "c.txt", "-o", "train.txt"]));
    assert!(report.contains("2 other machines agree within 2.0 %"), "{report}");
    let (mut one, mut merged) = (inputs(&whole), inputs(&parts));
    one.sort();
    merged.sort();
    assert_eq!(merged, one);
    let sorted = |folder: &Folder| {
        let text = folder.read("train.txt");
        let mut rows: Vec<String> = text.lines().skip(2).map(str::to_owned).collect();
        rows.sort();
        rows
    };
    assert_eq!(sorted(&parts), sorted(&whole), "the rows too, every one once");
}

#[test]
fn a_machine_that_disagrees_is_refused_with_what_to_do() {
    let folder = Folder::new();
    collect(&folder, "a.txt", "1/2");
    collect(&folder, "b.txt", "2/2");
    // The second machine takes 10 % longer.
    let slower = |line: &str| match line.rsplit_once(',') {
        Some((front, ms)) if ms.parse::<f64>().is_ok_and(f64::is_finite) => {
            format!("{front},{}", 1.1 * ms.parse::<f64>().unwrap())
        }
        _ => line.to_owned(),
    };
    let text: Vec<String> = folder.read("b.txt").lines().map(slower).collect();
    std::fs::write(folder.path("b.txt"), text.join("\n") + "\n").unwrap();
    refused(
        merge(&folder).args(["a.txt", "b.txt", "-o", "all.txt", "--tolerance", "0.05"]),
        3,
        &["b.txt is 10.0 % slower on kernels", "--disagreement scale or keep"],
    );
    assert!(!folder.path("all.txt").exists());
    let kept = stdout(merge(&folder).args(["a.txt", "b.txt", "-o", "all.txt", "--disagreement", "keep"]));
    assert!(kept.contains("their times were kept as they are"), "{kept}");
}

#[test]
fn a_log_that_a_collector_still_writes_is_refused() {
    for shard in ["1/1", "1/2"] {
        let folder = Folder::new();
        let mut collector =
            collector_at_work(&folder, &["--num-samples", "100000", "--shard", shard], "500", 20);
        let (code, message) = error(merge(&folder).args(["train.txt", "-o", "all.txt"]));
        collector.kill().unwrap();
        collector.wait().unwrap();
        assert_eq!(code, 4);
        assert!(message.contains("a collector still measures into this log"), "{message}");
        // Killed, it leaves whole lines and no lock.
        stdout(merge(&folder).args(["train.txt", "-o", "all.txt"]));
    }
}

#[test]
fn wrong_flags_are_named() {
    let folder = Folder::new();
    for args in [
        &["-o", "all.txt"][..],
        &["a.txt"],
        &["a.txt", "-o", "all.txt", "--tolerance", "2"],
        &["a.txt", "-o", "all.txt", "--disagreement", "ignore"],
    ] {
        refused(merge(&folder).args(args), 2, &[]);
    }
    refused(fake(&folder).args(["--draws", "3", "--inputs", "x.csv"]), 2, &[]);
    refused(merge(&folder).args(["missing.txt", "-o", "all.txt"]), 4, &["missing.txt"]);
}
