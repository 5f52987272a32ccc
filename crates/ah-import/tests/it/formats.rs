//! The formats of tables, and the results of benchmark tools.

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
    ] {
        let mut params = folder.table(name, bytes);
        params.output = folder.path(&format!("{name}.txt"));
        assert_eq!(folder.log(&params), expected, "{name}");
    }
}

/// `timings.py` wrote both files with pandas.
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
    (params.tables, params.output) = (vec![sample("timings.parquet")], folder.path("parquet.txt"));
    if cfg!(feature = "parquet") {
        assert_eq!(folder.log(&params), expected);
    } else {
        assert!(folder.error(&params).ends_with(
            "timings.parquet: expected a build of ah-train with the feature parquet, found one without; build with \
             `--features parquet`, or write the table as CSV"
        ));
        eprintln!("skipped: timings.parquet; it needs the feature parquet");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_broken_parquet_file_is_one_sentence() {
    let folder = Folder::new();
    let whole = std::fs::read(sample("timings.parquet")).unwrap();
    for length in [0, 3, whole.len() / 2, whole.len() - 1] {
        let error = folder.error(&folder.table("broken.parquet", &whole[..length]));
        assert!(error.starts_with("broken.parquet: expected a Parquet file, found "), "{length}: {error}");
    }
    // A spoilt byte gives an error or another table, never a panic. All 4909 bytes take 8 s.
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let mut params = folder.table("broken.parquet", bytes);
        (params.features, params.choice) = (names("M,dtype"), names("BLOCK_M,stages"));
        let _ = import(&params);
    }
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

#[test]
fn a_cache_that_contradicts_itself_is_refused() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(sample("kernel_tuner_4096.json")).unwrap();
    let params = folder.table(
        "cache.json",
        text.replace(r#"{"block_size_x": 64, "vector": 2"#, r#"{"block_size_x": 32, "vector": 2"#),
    );
    assert_snapshot!(folder.error(&params), @r#"cache.json: expected a cache of Kernel Tuner with the values of block_size_x, vector in the entry "64,2", found "32,2"; mend the file, or name its format with --format"#);
}

#[test]
fn t4_results_take_their_problem_size_from_a_flag() {
    let folder = Folder::new();
    let mut params = folder.table("unused.csv", "");
    params.tables = vec![sample("t4.json")];
    (params.features, params.choice, params.time) = (Vec::new(), Vec::new(), Vec::new());
    assert_snapshot!(folder.error(&params).replace(env!("CARGO_MANIFEST_DIR"), ""), @r#"--features: expected the columns that are known when choosing (or --set), found none; the columns of /tests/tables/t4.json are time, block_size_x, vector, runtimes"#);
    params.set = vec!["n=4096".to_owned()];
    let text = folder.log(&params);
    let expected = "4096,block_size_x=64_vector=1,0.03\n4096,block_size_x=64_vector=1,0.015\n4096,block_size_x=128_vector=1,0.0125\n4096,block_size_x=256_vector=1,inf\n";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn google_benchmark_and_hyperfine() {
    let folder = Folder::new();
    let mut params = folder.table("unused.csv", "");
    params.tables = vec![sample("google_benchmark.json")];
    (params.features, params.choice, params.time) = (names("n"), names("arg0"), Vec::new());
    let text = folder.log(&params);
    assert!(
        text.ends_with("\n1024,std,0.0025\n1024,std,0.0026\n1024,radix,0.0015\n1024,gpu,inf\n"),
        "{text}"
    );
    params.tables = vec![sample("hyperfine.json")];
    (params.features, params.choice) = (names("file"), Vec::new());
    params.output = folder.path("hyperfine.txt");
    let text = folder.log(&params);
    let expected = "\na.txt,threads=1,500\na.txt,threads=1,500\na.txt,threads=2,250\na.txt,threads=2,250\na.txt,threads=4,inf\n";
    assert!(text.ends_with(expected), "{text}");
}
