//! Malicious logs: they are refused in one sentence, or cost no more than their size.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ah_model::{Context, Feature, Schema};
use ah_types::log::{self, LogWriter, Metadata, ReadOptions};

fn head(numerical: &str, categorical: &str, rest: &str) -> String {
    format!(
        r#"{{"name": "x", "device_capa": [8, 0], "numerical_features": [{numerical}], "categorical_features": [{categorical}]{rest}}}"#
    )
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn error(text: &str) -> String {
    let read = log::read_bytes(Path::new("train.txt"), text.as_bytes(), ReadOptions::default());
    read.expect_err("malformed").to_string()
}

#[test]
fn a_name_that_two_columns_would_have_is_refused() {
    let cases = [
        (r#""choice", "m""#, "", r#"a feature named "choice", which is the name of another column"#),
        ("", r#""feedback""#, r#"a feature named "feedback""#),
        (r#""m", "m""#, "", r#"the feature "m" twice"#),
        (r#""m""#, r#""m""#, r#"the feature "m" twice"#),
    ];
    for (numerical, categorical, expected) in cases {
        let error = error(&format!("{}\nm,choice,feedback\n1,a,1\n", head(numerical, categorical, "")));
        assert!(error.starts_with("train.txt:1: expected distinct features, found"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_log_that_nobody_could_read_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    let schema = Schema::new([Feature::numerical("choice")]).unwrap();
    let metadata: Metadata = serde_json::from_str(&head(r#""choice""#, "", "")).unwrap();
    let error = LogWriter::open(&path, &metadata, &schema, None, "write to another file (-o)")
        .unwrap_err()
        .to_string();
    assert!(error.contains(r#"a feature named "choice""#), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

#[test]
fn errors_give_the_reason_and_little_of_the_line() {
    let missing = head(r#""m""#, "", "").replace("\"name\"", "\"nam\"");
    assert!(error(&missing).contains("(missing field `name`)"), "{}", error(&missing));
    let mistyped = head("7", "", "");
    assert!(
        error(&mistyped).contains("invalid type: integer `7`, expected a string"),
        "{}",
        error(&mistyped)
    );
    // Two megabytes on one line, at each place where a line can be wrong.
    let long = "\u{1b}9".repeat(1 << 20);
    let rows = |row: &str| format!("{}\nm,choice,feedback\n{row}\n", head(r#""m""#, "", ""));
    let texts = [
        long.clone(),
        head(&long, "", ""),
        format!("{}\n{long},choice,feedback\n", head(r#""m""#, "", "")),
        rows(&format!("{long},a,1")),
        rows(&format!("1,a,{long}")),
        rows(&format!("1,\"{long},1")),
    ];
    for text in texts {
        let error = error(&text);
        assert!(error.len() < 1000, "{} bytes", error.len());
        assert!(!error.contains(char::is_control), "{error:?}");
    }
    let expression = ah_model::expr::parse(&"9".repeat(1 << 20)).unwrap_err().to_string();
    assert!(expression.len() < 1000, "{} bytes", expression.len());
}

#[test]
fn gzip_that_is_made_to_fill_memory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.txt");
    let file = std::fs::File::create(&path).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    writeln!(gzip, "{}\nm,choice,feedback", head(r#""m""#, "", "")).unwrap();
    let rows = "1,a,1.5\n".repeat(1 << 17);
    for _ in 0..80 {
        gzip.write_all(rows.as_bytes()).unwrap();
    }
    gzip.finish().unwrap();
    let error = log::read(&[&path]).unwrap_err().to_string();
    assert!(error.contains("bomb.txt: cannot read: line "), "{error}");
    assert!(error.contains("unpacks to more than 128 times its size"), "{error}");
}

#[test]
fn the_same_bytes_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{}\nm,choice,feedback\n1,a,1\n\n1,b,2\n2,a,1\n", head(r#""m""#, "", ""));
    let a = write(folder.path(), "a.txt", &text);
    let b = write(folder.path(), "b.txt", &text);
    let other = write(folder.path(), "c.txt", &text.replace("2,a,1", "2,a,3"));
    let log = log::read(&[&a, &b, &other]).unwrap();
    assert_eq!(log.irregularities.repeated, [b]);
    assert_eq!((log.samples.len(), log.irregularities.blank_lines), (6, 2));
    assert_eq!(log.sources.iter().map(|s| s.rows).collect::<Vec<_>>(), [3, 0, 3]);
}

#[test]
fn choices_that_the_metadata_do_not_list_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        |choices: &str, rows: &str| format!("{}\nm,choice,feedback\n{rows}", head(r#""m""#, "", choices));
    let listing =
        write(folder.path(), "a.txt", &text(r#", "choices": ["a", "b"]"#, "1,a,1\n1,orgi,2\n1,z,3\n"));
    let more = write(folder.path(), "b.txt", &text(r#", "choices": ["a", "z"]"#, "2,a,1\n"));
    let silent = write(folder.path(), "c.txt", &text("", "3,a,1\n"));
    let unlisted = |paths: &[&PathBuf]| log::read(paths).unwrap().irregularities.unlisted;
    assert_eq!(unlisted(&[&listing]), ["orgi", "z"]);
    assert_eq!(unlisted(&[&listing, &more]), ["orgi"]);
    assert_eq!(unlisted(&[&listing, &silent]), [""; 0]);
}

/// A tenth of the columns took 1.2 s when each was searched among all, and all of them 114 s.
#[test]
fn a_hundred_thousand_columns_are_read_in_seconds() {
    let names: Vec<String> = (0..100_000).map(|i| format!("f{i}")).collect();
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let values = vec!["1"; names.len()].join(",");
    let text =
        format!("{}\n{},choice,feedback\n{values},a,1\n", head(&quoted.join(","), "", ""), names.join(","));
    let begin = Instant::now();
    let log = log::read_bytes(Path::new("train.txt"), text.as_bytes(), ReadOptions::default()).unwrap();
    let context: Context = log.context(0);
    assert_eq!((log.schema.len(), context.iter().count()), (100_000, 100_000));
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}
