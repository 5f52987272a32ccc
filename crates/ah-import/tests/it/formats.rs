//! The formats of tables.

use ah_import::import;
use insta::assert_snapshot;

use crate::{Folder, TABLE, counts, names, sample};

#[test]
fn formats_with_the_same_rows_give_the_same_log() {
    let folder = Folder::new();
    let expected = folder.log(&folder.table("timings.csv", TABLE));
    let objects: Vec<String> = TABLE
        .lines()
        .skip(1)
        .map(|line| {
            let f: Vec<&str> = line.split(',').collect();
            let ms = if f[5].parse::<f64>().is_ok_and(|ms| !ms.is_nan()) { f[5] } else { "null" };
            format!(
                r#"{{"M":{},"N":{},"dtype":"{}","BLOCK_M":{},"num_warps":{},"ms":{ms}}}"#,
                f[0], f[1], f[2], f[3], f[4]
            )
        })
        .collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, TABLE.as_bytes()).unwrap();
    for (name, bytes) in [
        ("tabs.tsv", TABLE.replace(',', "\t").into_bytes()),
        ("semicolons.csv", TABLE.replace(',', ";").into_bytes()),
        ("windows.csv", format!("\u{feff}{}", TABLE.replace('\n', "\r\n")).into_bytes()),
        ("packed.csv.gz", gzip.finish().unwrap()),
        ("rows.jsonl", objects.join("\n\n").into_bytes()),
        ("rows.json", format!("[{}]", objects.join(",")).into_bytes()),
        ("windows.jsonl", format!("\u{feff}{}", objects.join("\r\n")).into_bytes()),
        ("windows.json", format!("\u{feff}[{}]", objects.join(",")).into_bytes()),
    ] {
        let mut params = folder.table(name, bytes);
        params.output = folder.path(&format!("{name}.txt"));
        assert_eq!(folder.log(&params), expected, "{name}");
    }
}

/// `timings.py` wrote the file with pandas.
#[test]
fn tables_that_pandas_wrote() {
    let folder = Folder::new();
    let mut params = folder.table("unused.csv", "");
    (params.features, params.choice) = (names("M,alpha,transposed,dtype"), names("BLOCK_M,stages"));
    params.tables = vec![sample("timings.csv")];
    let expected = folder.log(&params);
    assert_snapshot!(expected, @r#"
    {"name":"gemm","device_capa":[0,0],"numerical_features":["M","alpha"],"categorical_features":["transposed","dtype"]}
    M,alpha,transposed,dtype,choice,feedback
    64,0.5,True,float16,BLOCK_M=16_stages=2,0.5
    64,0.5,True,float16,BLOCK_M=16_stages=2,0.625
    64,0.5,True,float16,BLOCK_M=32,0.1
    128,1,False,float32,BLOCK_M=32,inf
    9007199254740992,0.0000001,False,"a, b",BLOCK_M=16_stages=2,0.001
    "#);
}

#[test]
fn kernel_tuner_caches_need_a_name_alone() {
    let folder = Folder::new();
    let mut params = folder.table("unused.csv", "");
    (params.features, params.choice, params.time) = (Vec::new(), Vec::new(), Vec::new());
    params.tables = vec![sample("kernel_tuner_4096.json"), sample("kernel_tuner_8192.json")];
    assert_eq!(counts(&import(&params).unwrap()), (6, 2, 4, 10, 2, 0));
    assert_snapshot!(std::fs::read_to_string(&params.output).unwrap(), @r#"
    {"name":"gemm","device_capa":[0,0],"numerical_features":["problem_size_x","problem_size_y"],"categorical_features":[]}
    problem_size_x,problem_size_y,choice,feedback
    4096,1,block_size_x=64_vector=1,0.03
    4096,1,block_size_x=64_vector=1,0.015
    4096,1,block_size_x=64_vector=1,0.015
    4096,1,block_size_x=64_vector=2,0.01
    4096,1,block_size_x=64_vector=2,0.01
    4096,1,block_size_x=64_vector=2,0.01
    4096,1,block_size_x=128_vector=1,inf
    4096,1,block_size_x=128_vector=2,0.025
    8192,1,block_size_x=64_vector=1,0.04
    8192,1,block_size_x=64_vector=1,0.04
    8192,1,block_size_x=64_vector=1,0.04
    8192,1,block_size_x=64_vector=2,inf
    "#);
    // A tunable parameter may be a property of the input.
    (params.features, params.output) = (names("problem_size_x,vector"), folder.path("other.txt"));
    let text = folder.log(&params);
    assert!(text.contains("\n4096,2,block_size_x=128,0.025\n"), "{text}");
}
