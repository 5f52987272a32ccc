//! Scenarios of ASlib.

use ah_import::{ImportParams, import};
use ah_types::log;
use insta::assert_snapshot;

use crate::Folder;

/// A scenario of our own: two solvers, three instances, a limit of 100 s.
fn scenario(folder: &Folder) -> ImportParams {
    let path = folder.path("OWN");
    std::fs::create_dir(&path).unwrap();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
    write("description.txt", "scenario_id: OWN\nalgorithm_cutoff_time: 1.0e+2\n");
    write(
        "algorithm_runs.arff",
        "@RELATION runs\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n@ATTRIBUTE algorithm STRING\n\
         @ATTRIBUTE runtime NUMERIC\n@ATTRIBUTE runstatus {ok, timeout, memout}\n@DATA\n\
         'a, b',1,fast,2.5,ok\nc,1,fast,100,timeout\nd,1,fast,7,memout\n\
         'a, b',1,sure,20,ok\nc,1,sure,250,ok\nd,1,sure,30,ok\n",
    );
    write(
        "feature_values.arff",
        "@RELATION values\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n@ATTRIBUTE 'n vars' NUMERIC\n\
         @ATTRIBUTE density NUMERIC\n@DATA\n'a, b',1,10,0.5\nc,1,20,?\nc,2,20,0.25\nd,1,30,inf\n",
    );
    ImportParams {
        tables: vec![path],
        name: "own".to_owned(),
        output: folder.path("train.txt"),
        ..ImportParams::default()
    }
}

#[test]
fn a_scenario_becomes_a_log_with_its_time_limit() {
    let folder = Folder::new();
    let params = scenario(&folder);
    assert_snapshot!(folder.log(&params), @r#"
    {"name":"own","device_capa":[0,0],"numerical_features":["n vars","density"],"categorical_features":[],"autoheuristic_rs":{"format":1,"seed":0,"timeout_ms":100000.0,"tool":"ah-train import 0.1.0"}}
    n vars,density,choice,feedback
    10,0.5,fast,2500
    10,0.5,sure,20000
    20,,fast,100000
    20,,sure,100000
    30,,fast,inf
    30,,sure,30000
    "#);
    let read = log::read(&[params.output]).unwrap();
    assert_eq!(read.metadata.timeout_ms(), Some(100_000.0));
}

#[test]
fn words_of_a_description_have_any_case() {
    for words in ["performance_type: Runtime\nmaximize: False", "maximize:\n    - FALSE", "maximize: No"] {
        let folder = Folder::new();
        let params = scenario(&folder);
        let description = format!("algorithm_cutoff_time: 100\n{words}\n");
        std::fs::write(params.tables[0].join("description.txt"), description).unwrap();
        import(&params).unwrap();
    }
}

#[test]
fn what_is_left_out_is_named() {
    let folder = Folder::new();
    let report = import(&scenario(&folder)).unwrap();
    for part in ["1 further rows of instances", "1 infinite values count as missing"] {
        assert!(
            report.warnings.iter().any(|warning| warning.contains(part)),
            "{part}: {:?}",
            report.warnings
        );
    }
}

#[test]
fn steps_that_compute_features_become_groups_with_times() {
    let folder = Folder::new();
    let params = scenario(&folder);
    let path = folder.path("OWN");
    let description = "algorithm_cutoff_time: 100\nfeature_steps:\n  walk:\n    provides:\n    - density\n    requires:\n    - \
                       read\n  read:\n    provides:\n    - n vars\n";
    std::fs::write(path.join("description.txt"), description).unwrap();
    std::fs::write(
        path.join("feature_costs.arff"),
        "@RELATION costs\n@ATTRIBUTE instance_id STRING\n@ATTRIBUTE repetition NUMERIC\n@ATTRIBUTE walk NUMERIC\n\
         @ATTRIBUTE read NUMERIC\n@DATA\n'a, b',1,2.5,0.5\nc,1,?,1.5\n",
    )
    .unwrap();
    import(&params).unwrap();
    let collection = log::read(&[params.output]).unwrap().metadata.collection.unwrap();
    assert_eq!(format!("{:?}", collection.feature_ms), r#"{"read": 1000.0, "walk": 2500.0}"#);
}

#[test]
fn mistakes_name_the_file() {
    for (file, from, to, expected) in [
        ("description.txt", "1.0e+2", "?", "description.txt: expected a line algorithm_cutoff_time"),
        (
            "description.txt",
            "scenario_id: OWN",
            "performance_type:\n    - solution_quality",
            "description.txt: expected performance_type runtime: only times of runs are learned from, found \"solution_quality\"",
        ),
        ("description.txt", "scenario_id: OWN", "maximize: true", "expected maximize false"),
        (
            "algorithm_runs.arff",
            "7,memout",
            "7,lost",
            "algorithm_runs.arff:10: column \"runstatus\": expected ok, timeout",
        ),
        ("algorithm_runs.arff", "2.5,ok", "?,ok", "column \"runtime\": expected seconds"),
        ("feature_values.arff", "@DATA", "", "feature_values.arff: expected ARFF with a line @data"),
    ] {
        let folder = Folder::new();
        let params = scenario(&folder);
        let path = params.tables[0].join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let error = folder.error(&params);
        assert!(error.contains(expected), "{error}");
    }
}
