//! Reads and writes logs: PyTorch's, ours, and malformed ones.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ah_model::{Context, Cpu, Device, Error, Feature, RowNumber, Schema};
use ah_types::TimingPolicy;
use ah_types::log::{self, Collection, LogWriter, Metadata, ReadOptions};
use proptest::prelude::*;

const HEAD: &str = r#"{"shared_memory": 166912, "device_capa": [8, 0], "name": "toy", "numerical_features": ["m", "k"], "categorical_features": ["dtype"]}"#;

/// A log of these rows.
fn with(rows: &str) -> String {
    format!("{HEAD}\nm,dtype,k,choice,feedback\n{rows}")
}

fn write(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("train.txt");
    std::fs::write(&path, text).unwrap();
    path
}

fn schema() -> Schema {
    Schema::new([Feature::numerical("m"), Feature::categorical("dtype"), Feature::numerical("k")]).unwrap()
}

fn metadata(seed: u64) -> Metadata {
    let collection = Collection {
        format: 1,
        device: Some(Device::Cpu(Cpu {
            model: "test".into(),
            cores: 2,
            caches: vec![32 << 10],
            instruction_sets: vec!["avx2".into()],
        })),
        timing: Some(TimingPolicy::default()),
        seed,
        tool: "test 1".into(),
        ..Collection::default()
    };
    Metadata::new("toy", &schema(), vec!["a".into(), "b,\"c\"".into()], collection)
}

#[test]
fn reads_what_pytorch_writes() {
    let folder = tempfile::tempdir().unwrap();
    // The header has another order than the metadata; there is a blank line, a failure and a choice without
    // rows.
    let text = with("1,x,2,b,0.5\n\n1,x,2,a,inf\n3,y,4,b,0.25\n1,x,2,b,0.75\n");
    let log = log::read(&[write(folder.path(), &text)]).unwrap();
    assert_eq!(log.choices, ["a", "b"]);
    assert_eq!(log.irregularities.blank_lines, 1);
    assert_eq!(log.inputs.len(), 2);
    assert_eq!(&*log.inputs[0].text, "1,x,2");
    assert_eq!(log.context(1).to_string(), "m=3 dtype=y k=4");
    let samples: Vec<_> =
        log.samples.iter().map(|s| (s.input, log.choice_name(s.choice), s.feedback)).collect();
    assert_eq!(samples, [(0, "b", 0.5), (0, "a", f64::INFINITY), (1, "b", 0.25), (0, "b", 0.75)]);
}

#[test]
fn other_orders_of_columns_and_gzip_give_the_same_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let a = write(folder.path(), &with("1,x,2,b,0.5\n"));
    let b = folder.path().join("other.gz");
    let file = std::fs::File::create(&b).unwrap();
    let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    write!(gz, "{HEAD}\nfeedback,k,choice,m,dtype\n0.75,2,b,1,x\n1.5,2,b,9,x\n").unwrap();
    gz.finish().unwrap();
    let log = log::read(&[a, b]).unwrap();
    assert_eq!(log.inputs.len(), 2);
    assert_eq!(log.samples.iter().map(|s| s.input).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(log.sources.iter().map(|s| s.rows).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn an_empty_number_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let text = with("1,x,,b,0.5\n1,x,nan,b,0.5\n,,2,b,0.5\n");
    let log = log::read(&[write(folder.path(), &text)]).unwrap();
    let values = |input: usize, slot: usize| log.inputs[input].values[slot].as_scalar();
    assert_eq!(log.inputs.len(), 2);
    assert_eq!(values(0, 0).number(), Some(1.0));
    assert!(values(0, 2).number().is_some_and(f64::is_nan));
    assert!(values(1, 0).number().is_some_and(f64::is_nan));
    assert_eq!(values(1, 1).category(), Some(""));
}

#[test]
fn every_bad_log_gets_one_clear_sentence() {
    let cases = [
        ("empty", String::new()),
        ("not JSON", "m,k,choice,feedback\n".into()),
        ("binary", "\u{0}\u{1}\u{2}".into()),
        ("no header", HEAD.into()),
        ("header only", with("")),
        ("unknown column", format!("{HEAD}\nm,dtype,k,q,choice,feedback\n")),
        ("missing column", format!("{HEAD}\nm,dtype,choice,feedback\n")),
        ("NaN", with("1,x,2,b,nan\n")),
        ("negative time", with("1,x,2,b,0.5\n1,x,2,a,-1\n")),
        ("zero time", with("1,x,2,b,0\n")),
        ("torn last line", with("1,x,2,b,0.5\n1,x,2,a")),
        ("text for a number", with("one,x,2,b,0.5\n")),
        ("infinite", with("-inf,x,2,b,0.5\n")),
        ("too large", with("1,x,1e400,b,0.5\n")),
        (
            "newer",
            with("1,x,2,b,0.5\n").replacen(
                "\"categorical",
                "\"autoheuristic_rs\":{\"format\":99,\"seed\":\"new\"},\"categorical",
                1,
            ),
        ),
        ("too many fields", with("1,x,2,7,b,0.5\n")),
        ("open quote", with("1,\"x,2,b,0.5\n")),
        ("no choice", with("1,x,2,,0.5\n")),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for (name, content) in cases {
        let path = write(folder.path(), &content);
        let error = log::read(&[&path]).expect_err(name).to_string();
        let _ = writeln!(text, "{name}: {}", error.replace(&format!("{}/", folder.path().display()), ""));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn bad_rows_can_be_passed_over_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &with("1,x,2,b,0.5\n1,x,2,a,-1\nz\n1,x,2,a,2\n1,x,2,a,0\n"));
    let log = log::read_with(&[path], ReadOptions { skip_bad_rows: true, ..ReadOptions::default() }).unwrap();
    let bad_rows = log.irregularities.bad_rows;
    assert_eq!((log.samples.len(), bad_rows.count()), (2, 3));
    assert!(
        bad_rows.to_string().contains(
            "found \"-1\"; fix the row, or skip such rows (ah-train --skip-bad-rows) (2 such rows); "
        )
    );
}

#[test]
fn logs_of_different_devices_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let a = write(folder.path(), &with("1,x,2,b,0.5\n"));
    let b = folder.path().join("b.txt");
    std::fs::write(&b, with("1,x,2,b,0.5\n").replace("[8, 0]", "[9, 0]")).unwrap();
    let error = log::read(&[a, b]).unwrap_err();
    let Error::Metadata { differences, .. } = &error else { panic!("{error}") };
    assert_eq!(differences.len(), 1);
    assert_eq!(differences[0].to_string(), "device_capa (log: [8,0], other: [9,0])");
}

#[test]
fn machines_of_one_kind_are_one_log() {
    let folder = tempfile::tempdir().unwrap();
    let log_of = |name: &str, driver: &str, model: &str| {
        let path = folder.path().join(name);
        let device = format!(
            r#"{{"kind":"cuda","name":"{model}","capability":[9,0],"multiprocessors":132,"shared_memory":232448,"l2":1,"memory":1,"clock_khz":1,"memory_clock_khz":1,"driver":"{driver}","runtime":""}}"#
        );
        let head = format!(
            r#"{{"name":"toy","shared_memory":232448,"device_capa":[9,0],"numerical_features":["m"],"categorical_features":[],"autoheuristic_rs":{{"device":{device}}}}}"#
        );
        std::fs::write(&path, format!("{head}\nm,choice,feedback\n{driver},a,1\n")).unwrap();
        path
    };
    let [a, b, c] = [log_of("a", "580", "H200"), log_of("b", "570", "H200"), log_of("c", "580", "H100")];
    assert_eq!(log::read(&[&a, &b]).unwrap().inputs.len(), 2);
    let error = log::read(&[&a, &c]).unwrap_err();
    let Error::Metadata { differences, .. } = &error else { panic!("{error}") };
    assert_eq!(differences[0].key, "autoheuristic_rs.device.name");
}

fn context(m: u32) -> Context {
    Context::new().with("k", 2.5).with("m", m).with("dtype", "a \"quoted\", name")
}

#[test]
fn what_is_appended_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deeper/train.txt");
    let (mut writer, cut) =
        LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    assert!(cut.is_none() && writer.read().unwrap().is_none());
    writer.append_input(&context(1), [("a", 0.1), ("b,\"c\"", f64::INFINITY)]).unwrap();
    drop(writer);
    let (mut writer, _) =
        LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    assert_eq!(*writer.read().unwrap().unwrap().inputs[0].text, *log::context_text(&context(1), &schema()));
    writer.append_input(&context(2), [("a", 1.0 / 3.0)]).unwrap();
    let log = log::read(&[path]).unwrap();
    assert_eq!(log.metadata, metadata(1));
    assert_eq!(log.context(0).row(&log.schema), context(1).row(&log.schema));
    assert_eq!(log.samples[1].feedback, f64::INFINITY);
    assert_eq!(log.samples[2].feedback, 1.0 / 3.0);
    assert_eq!(log.choices, ["a", "b,\"c\""]);
}

#[test]
fn a_torn_line_is_cut_and_returned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    let (mut writer, _) =
        LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    writer.append_input(&context(1), [("a", 0.5)]).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut torn = whole.clone();
    torn.extend_from_slice(b"2,\"a \"\"qu");
    std::fs::write(&path, torn).unwrap();
    let (_, cut) =
        LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    assert_eq!(cut.as_deref(), Some("2,\"a \"\"qu"));
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

#[test]
fn a_line_torn_by_another_process_is_cut_before_the_next_append() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    let (mut writer, _) =
        LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    let mut other = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    other.write_all(b"2,\"a \"\"qu").unwrap();
    writer.append_input(&context(1), [("a", 0.5)]).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert_eq!(log::read(&[&path]).unwrap().inputs.len(), 1);
}

#[test]
fn no_log_is_an_error() {
    let error = log::read(&[] as &[&Path]).unwrap_err();
    assert_eq!(error.to_string(), "logs: expected at least one log, found none");
}

#[test]
fn appending_needs_agreeing_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    let mut other = metadata(2);
    other.collection.as_mut().unwrap().timing.as_mut().unwrap().max_samples = 7;
    other.collection.as_mut().unwrap().tool = "test 2".into();
    let error = LogWriter::open(&path, &other, &schema(), None, "write to another file (-o)").unwrap_err();
    let Error::Metadata { differences, .. } = &error else { panic!("{error}") };
    let keys: Vec<_> = differences.iter().map(ToString::to_string).collect();
    let timing = "autoheuristic_rs.timing.max_samples (log: 30, other: 7)";
    assert_eq!(keys, ["autoheuristic_rs.seed (log: 1, other: 2)", timing]);
}

#[test]
fn a_torn_head_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    let whole = std::fs::read(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let (_, cut) =
            LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
        assert_eq!(cut.unwrap_or_default().as_bytes(), &whole[..length]);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn files_that_are_no_such_log_stay_unchanged() {
    let json = serde_json::to_string(&metadata(1)).unwrap();
    let cases: [(&str, Vec<u8>); 7] = [
        ("text", b"Dear diary,\ntoday".to_vec()),
        ("text of one line", b"Dear diary".to_vec()),
        ("gzip", [&[0x1f, 0x8b, 8][..], &[b'\n'; 9], &[7; 99]].concat()),
        ("another tool's table", b"m,k,choice,feedback\n1,2,a,0.5\n1,2".to_vec()),
        ("torn head of another run", serde_json::to_vec(&metadata(2)).unwrap()),
        ("header without its end", format!("{json}\nm,dtype,k,choice,feedback").into_bytes()),
        ("missing column", format!("{json}\nm,k,choice,feedback\n1,2,a,0.5\n1,2").into_bytes()),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    let mut text = String::new();
    for (name, content) in cases {
        std::fs::write(&path, &content).unwrap();
        // The features have another order than in the log, so that no case is merely a torn head.
        let own = Schema::new(schema().features().iter().rev().cloned()).unwrap();
        let error = LogWriter::open(&path, &metadata(1), &own, None, "write to another file (-o)")
            .expect_err(name)
            .to_string();
        assert_eq!(std::fs::read(&path).unwrap(), content, "{name}");
        let _ = writeln!(text, "{name}: {}", error.replace(&format!("{}/", folder.path().display()), ""));
    }
    let device = serde_json::to_string(metadata(1).device().unwrap()).unwrap();
    insta::assert_snapshot!(text.replace(&device, "…"));
}

#[test]
fn appending_keeps_the_order_of_columns_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let json = serde_json::to_string(&metadata(1)).unwrap();
    // The row in the middle is bad: only reading reports it.
    let path = write(folder.path(), &format!("{json}\nk,m,dtype,choice,feedback\n2,one,x,a,0.5\n"));
    let (mut writer, _) =
        LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    writer.append_input(&Context::new().with("m", 1).with("k", 2).with("dtype", "x"), [("a", 0.5)]).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("\n2,one,x,a,0.5\n2,1,x,a,0.5\n"));
    assert!(writer.read().is_err());
}

#[test]
fn opening_a_large_log_costs_no_more_than_a_small_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.txt");
    let (mut writer, _) =
        LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
    writer.append_input(&context(1), (0..20_000).map(|i| ("a", 1.0 + f64::from(i)))).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let (_, rows) = text.split_once("feedback\n").unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    while file.metadata().unwrap().len() < 100_000_000 {
        file.write_all(rows.as_bytes()).unwrap();
    }
    file.write_all(b"1,\"torn").unwrap();
    let timed = |work: &mut dyn FnMut()| {
        let start = std::time::Instant::now();
        work();
        start.elapsed()
    };
    let opening = timed(&mut || {
        let (_, cut) =
            LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
        assert_eq!(cut.as_deref(), Some("1,\"torn"));
    });
    let reading = timed(&mut || assert_eq!(log::read(&[&path]).unwrap().inputs.len(), 1));
    println!("a log of 100 MB: opened in {opening:?}, read in {reading:?}");
    assert!(opening * 10 < reading, "opening took {opening:?}, reading all of it {reading:?}");
}

#[test]
fn an_error_names_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    for (row, column) in
        [("1,größe,zwei,a,1", Some("k")), ("1,\"größe\",2,a,-1", Some("feedback")), ("1,größe,2,\"a,1", None)]
    {
        let path = write(folder.path(), &with(&format!("{row}\n")));
        let Error::Malformed(fault) = log::read(&[path]).unwrap_err() else { panic!("{row}") };
        let column = column.map_or_else(String::new, |name| format!(": column {name:?}"));
        assert_eq!((fault.row, fault.column), (Some(RowNumber::Line(3)), column), "{row}");
    }
}

#[test]
fn inputs_are_keyed_by_values_and_not_by_text() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "64,x,2,a,1\n64.0,x,2.0,b,1\n6.4e1,\"x\",2,a,2\n64.5,x,2,a,1\n64,x,,a,1\n64,x,nan,b,1\n";
    let log = log::read(&[write(folder.path(), &with(rows))]).unwrap();
    let texts: Vec<&str> = log.inputs.iter().map(|input| &*input.text).collect();
    assert_eq!(texts, ["64,x,2", "64.5,x,2", "64,x,"]);
    assert_eq!(log.samples.iter().map(|s| s.input).collect::<Vec<_>>(), [0, 0, 0, 1, 2, 2]);
    // Two numbers are never merged to one.
    let path = write(folder.path(), &with("9007199254740992,x,2,a,1\n9007199254740993,x,2,a,1\n"));
    let error = log::read(&[path]).unwrap_err().to_string();
    assert!(error.contains("train.txt:4: column \"m\": expected a number that 64-bit"), "{error}");
}

#[test]
fn logs_of_several_devices_become_one_with_features_of_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let text = with("1,x,2,b,0.5\n1,x,2,a,0.25\n");
    let a = write(folder.path(), &text);
    let b = folder.path().join("b.txt");
    std::fs::write(
        &b,
        text.replace("[8, 0]", "[9, 0]").replace("m,dtype,k", "k,dtype,m").replace("1,x,2", "2,x,1"),
    )
    .unwrap();
    let read_all = |paths: &[&Path], wanted: &[&str]| {
        let options = ReadOptions { device_features: Some(wanted), ..ReadOptions::default() };
        log::read_with(paths, options).unwrap()
    };
    let read = |wanted: &[&str]| read_all(&[&a, &b], wanted);
    let log = read(&[]);
    let texts: Vec<&str> = log.inputs.iter().map(|input| &*input.text).collect();
    assert_eq!(texts, ["1,x,2,8", "1,x,2,9"]);
    assert_eq!((log.devices.len(), log.samples.len()), (2, 4));
    assert_eq!(log.metadata.numerical_features, ["m", "k", "capability"]);
    // One device, and a feature that a person wants.
    let log = read_all(&[&a], &["shared_memory"]);
    assert_eq!(&*log.inputs[0].text, "1,x,2,166912");
    // Shared memory is the same, so it tells nobody apart, and the two count as one device.
    assert_eq!(read(&["shared_memory"]).devices.len(), 1);
}

proptest! {
    /// Rows in the fast form and rows that are read in full give the same log.
    #[test]
    fn quotes_and_the_order_of_columns_do_not_matter(
        rows in prop::collection::vec((0..3_u8, prop::sample::select(vec!["x", "y,z", "q\"q"]), 0..4_u8, 0..4_u32), 1..60),
    ) {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut plain = with("");
        let mut other = format!("{HEAD}\nm,choice,dtype,feedback,k\n");
        for (m, dtype, choice, feedback) in rows {
            let (ms, name) = (f64::from(feedback) + 0.5, format!("c{choice}"));
            let dtype = log::quote(dtype);
            let _ = writeln!(plain, "{m},{dtype},7,{name},{ms}");
            let _ = writeln!(other, "{m}.0,{},{dtype}, {ms} ,7", quoted(&name));
        }
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&a, plain).unwrap();
        std::fs::write(&b, other).unwrap();
        let [plain, other] = [&a, &b].map(|path| log::read(&[path]).unwrap());
        prop_assert_eq!(&plain.samples, &other.samples);
        prop_assert_eq!(&plain.choices, &other.choices);
        let contexts = |log: &log::Log| (0..log.inputs.len()).map(|i| log.context(i).to_string()).collect::<std::collections::BTreeSet<_>>();
        prop_assert_eq!(contexts(&plain), contexts(&other));
        let both = log::read(&[a, b]).unwrap();
        prop_assert_eq!(both.inputs.len(), plain.inputs.len());
    }

    #[test]
    fn reading_never_panics(head in prop::bool::ANY, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut content = if head { with("").into_bytes() } else { vec![] };
        content.extend(bytes);
        std::fs::write(&path, content).unwrap();
        let _ = log::read(&[&path]);
        let _ = log::read_with(&[&path], ReadOptions { skip_bad_rows: true, ..ReadOptions::default() });
    }

    #[test]
    fn feedback_reads_back_to_the_same_bits(
        times in prop::collection::vec(any::<f64>().prop_map(f64::abs).prop_filter("above 0", |x| *x > 0.0), 1..60),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.txt");
        let (mut writer, _) = LogWriter::open(&path, &metadata(1), &schema(), None, "write to another file (-o)").unwrap();
        writer.append_input(&context(1), times.iter().map(|x| ("a", *x))).unwrap();
        let read = log::read(&[&path]).unwrap().samples;
        prop_assert_eq!(
            read.iter().map(|s| s.feedback.to_bits()).collect::<Vec<_>>(),
            times.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        );
    }
}

#[test]
fn reads_the_published_logs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !folder.is_dir() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("skipped: without the published logs, reading real logs stays untested\n"),
        );
        return;
    }
    for (file, choices, repeats) in [("pad_mm_a100", 2, 3), ("mixedmm_h100", 54, 3)] {
        let log = log::read(&[folder.join(format!("{file}.txt.gz"))]).unwrap();
        assert_eq!(log.choices.len(), choices, "{file}");
        assert!(log.inputs.len() > 1000 && log.samples.len() > repeats * log.inputs.len(), "{file}");
        let is_number = |f: &Feature| log.metadata.numerical_features.contains(&f.name);
        let mut features = log.schema.features().iter();
        assert!(features.all(|f| is_number(f) == (f.kind == ah_model::FeatureKind::Numerical)));
    }
}

#[test]
fn a_log_names_its_fallback() {
    let named = |fallback: &[&str]| {
        let mut metadata = metadata(0);
        metadata.collection.as_mut().unwrap().fallback = fallback.iter().map(|&name| name.into()).collect();
        metadata
    };
    let optimization = ah_types::Optimization::from_log(&named(&["a"]), &schema());
    assert_eq!(optimization.fallback, ["a"]);
    assert_eq!(log::differences(&named(&[]), &named(&["a"])), [], "a log of an earlier version has none");
    let found = log::differences(&named(&["a"]), &named(&["c"]));
    assert_eq!(found[0].to_string(), r#"autoheuristic_rs.fallback (log: ["a"], other: ["c"])"#);
}

#[test]
fn a_timing_policy_that_one_side_lacks_does_not_keep_logs_apart() {
    let mut of_a_program = metadata(1);
    of_a_program.collection.as_mut().unwrap().timing = None;
    assert_eq!(log::differences(&metadata(1), &of_a_program), []);
    assert_eq!(log::differences(&of_a_program, &metadata(1)), []);
}

#[test]
fn a_log_written_by_hand_may_leave_out_keys_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let head = |ours: &str| {
        let keys = r#""numerical_features":["m","k"],"categorical_features":["dtype"]"#;
        format!(r#"{{"name":"toy","device_capa":[0,0],{keys},"autoheuristic_rs":{ours}}}"#)
    };
    let rows = "m,dtype,k,choice,feedback\n1,x,2,old,0.5\n1,x,2,new,0.25\n";
    let read = |ours: &str| log::read(&[write(folder.path(), &format!("{}\n{rows}", head(ours)))]);
    for ours in [r#"{"format":1,"fallback":["old"]}"#, r#"{"fallback":["old"]}"#] {
        let metadata = read(ours).unwrap().metadata;
        assert_eq!(metadata.device(), None);
        assert_eq!(metadata.collection.unwrap().fallback, ["old"]);
    }
    let error = read(r#"{"device":{"kind":"cpu","cores":2}}"#).unwrap_err().to_string();
    let parts = ["expected under autoheuristic_rs", "missing field `model`", "docs/log-format.md"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn a_log_says_which_features_are_integers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.txt");
    let features = [Feature { integer: true, ..Feature::numerical("n") }, Feature::numerical("load")];
    let schema = Schema::new(features).unwrap();
    let metadata = Metadata::new("toy", &schema, vec!["a".into(), "b".into()], Collection::default());
    let (mut writer, _) =
        LogWriter::open(&path, &metadata, &schema, None, "write to another file (-o)").unwrap();
    writer.append_input(&Context::new().with("n", 3).with("load", 2.0), [("a", 1.0)]).unwrap();
    let log = log::read(&[path]).unwrap();
    assert_eq!(log.schema.features().iter().map(|f| f.integer).collect::<Vec<_>>(), [true, false]);
    // A log of an older tool lacks it, and is continued.
    let older = Metadata { collection: Some(Collection::default()), ..metadata.clone() };
    assert_eq!(log::differences(&older, &metadata), []);
}
