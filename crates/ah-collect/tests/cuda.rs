//! What a machine without an NVIDIA GPU says.

use assert_cmd::Command;

#[test]
fn without_a_gpu_one_sentence_says_what_is_missing() {
    if ah_collect::cuda::count().is_ok_and(|n| n > 0) {
        eprintln!("skipped: this machine has a GPU, so nothing is missing");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.txt");
    let output = Command::cargo_bin("ah-collect")
        .unwrap()
        .args(["--name", "pad_mm", "--backend", "cuda", "--num-samples", "1", "--output"])
        .arg(&log)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(ah_types::exit::DEVICE)), "{message}");
    assert!(message.starts_with("error: ") && message.trim_end().lines().count() == 1, "{message}");
    assert!(message.contains("libcuda.so") || message.contains("finds no GPU"), "{message}");
    assert!(!log.exists(), "nothing was measured, so there is no log");
}
