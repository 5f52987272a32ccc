//! Bad input gets one clear sentence and a documented exit code.

use crate::common;

use assert_cmd::Command;
use common::{Folder, fake, refused, skipped, succeed};

fn cpu() -> Command {
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.args(["--backend", "cpu", "--num-samples", "1"]);
    command
}

#[test]
fn an_unknown_optimization() {
    refused(cpu().args(["--name", "pad_mn"]), 3, &["unknown optimization \"pad_mn\"; built in: pad_mm, mm"]);
}

#[test]
#[cfg(unix)]
fn a_first_argument_that_is_not_unicode() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.arg(std::ffi::OsStr::from_bytes(b"\xff"));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn an_optimization_that_nothing_measures_here() {
    refused(
        cpu().args(["--name", "flex_attention"]),
        2,
        &["nothing measures flex_attention with --backend cpu"],
    );
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    std::fs::write(folder.path("file"), "").unwrap();
    let full = std::path::PathBuf::from("/dev/full");
    let mut outputs = vec![(folder.path(""), "directory"), (folder.path("file/train.txt"), "file")];
    if full.exists() {
        outputs.push((full, "No space left on device"));
    } else {
        skipped("no /dev/full here, so a full disk is not tried");
    }
    for (output, reason) in outputs {
        refused(fake(&folder).arg("-o").arg(&output), 4, &[reason, output.to_str().unwrap()]);
    }
}

#[test]
fn outputs_that_are_something_else() {
    let folder = Folder::new();
    for (name, bytes) in [
        ("garbage", &b"\x00\xff\x13garbage\n\xfe\n"[..]),
        ("text", b"this is no log\n"),
        ("other.json", b"{\"a\": 1}\nx\n"),
    ] {
        std::fs::write(folder.path(name), bytes).unwrap();
        refused(fake(&folder).arg("-o").arg(folder.path(name)), 3, &[name]);
        assert_eq!(std::fs::read(folder.path(name)).unwrap(), bytes, "{name} is left as it was");
    }
}

#[test]
fn a_log_that_has_only_a_head_is_continued() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "1"]));
    let text = folder.read("train.txt");
    let head: Vec<_> = text.lines().take(2).collect();
    std::fs::write(folder.log(), head.join("\n") + "\n").unwrap();
    succeed(fake(&folder).args(["--num-samples", "1"]));
    assert_eq!(folder.read("train.txt"), text);
    // A crash while the head was being written.
    std::fs::write(folder.log(), &text[..20]).unwrap();
    succeed(fake(&folder).args(["--num-samples", "1"]));
    assert_eq!(folder.read("train.txt"), text);
}

#[test]
fn bad_inputs_files_name_file_line_and_column() {
    let folder = Folder::new();
    let cases = [
        ("", "expected a column \"size\""),
        ("size\n3\n", "expected a column \"kind\""),
        ("size,kind\n", "expected at least one context"),
        (
            "size,kind\n1,pears\ntall,pears\n",
            "inputs.csv:3:1: expected a number for \"size\", found \"tall\"",
        ),
        // Windows ends lines with CRLF, and so does Python's csv module.
        (
            "size,kind\r\n1,pears\r\ntall,pears\r\n",
            "inputs.csv:3:1: expected a number for \"size\", found \"tall\"",
        ),
        ("size,kind\r\n1,pears\r\n1,pears,7\r\n", "inputs.csv:3: expected CSV"),
        ("size,kind\nNaN,pears\n", "inputs.csv:2:1: expected a number for \"size\", found \"NaN\""),
        // The log would hold its neighbour, 9007199254740992.
        (
            "size,kind\n9007199254740993,pears\n",
            "inputs.csv:2:1: expected a number for \"size\", found \"9007199254740993\"",
        ),
        ("size,kind\n1,pears,7\n", "inputs.csv:2: expected CSV"),
        ("size,kind\n0,pears\n", "inputs.csv:2: expected a context that fake can measure here"),
    ];
    for (text, expected) in cases {
        std::fs::write(folder.path("inputs.csv"), text).unwrap();
        refused(fake(&folder).args(["--inputs", "inputs.csv"]), 3, &[expected]);
    }
    refused(fake(&folder).args(["--inputs", "missing.csv"]), 4, &["missing.csv"]);
    assert!(!folder.log().exists(), "nothing is written before the inputs are known to be good");
}

#[test]
fn contexts_outside_the_domain() {
    let folder = Folder::new();
    let header = "m,k,n,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_dtype,mat2_dtype,mat1_iscontig,mat2_iscontig,using_tf32";
    for (row, expected) in [
        ("8,8,8,8,1,8,1,torch.float16,torch.float32,True,True,False", "mat1_dtype must be torch.float32"),
        (
            "8,8,8,9,1,8,1,torch.float32,torch.float32,True,True,False",
            "its strides must be (8, 1) or (1, 8), found (9, 1)",
        ),
        (
            "0,8,8,8,1,8,1,torch.float32,torch.float32,True,True,False",
            "m must be a whole number from 1 to 16777216, found 0",
        ),
    ] {
        std::fs::write(folder.path("inputs.csv"), format!("{header}\n{row}\n")).unwrap();
        refused(
            cpu()
                .args(["--name", "mm", "--inputs"])
                .arg(folder.path("inputs.csv"))
                .arg("-o")
                .arg(folder.log()),
            3,
            &["inputs.csv:2", expected],
        );
    }
}

#[test]
fn wrong_flags() {
    let folder = Folder::new();
    for args in [
        &["--shard", "0/4"][..],
        &["--shard", "5/4"],
        &["--shard", "half"],
        &["--num-samples", "0"],
        &["--max-seconds", "-1"],
        &["--num-reps", "0"],
    ] {
        refused(fake(&folder).args(args), 2, &[]);
    }
    refused(cpu().args(["--name", "mm", "--device", "3"]), 5, &["--device 3"]);
}
