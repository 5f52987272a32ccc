//! A feature that is not a number above `AH_LAST`: infinite, or missing with `AH_MISSING=1`; a truth value in a condition.
//! `tests/it/custom_functions.rs` runs it.

fn main() -> std::process::ExitCode {
    let last: u64 = std::env::var("AH_LAST").ok().and_then(|last| last.parse().ok()).unwrap_or(u64::MAX);
    let beyond = if std::env::var_os("AH_MISSING").is_some() { f64::NAN } else { f64::INFINITY };
    ah_collect::decision("odd_features")
        .input(|rng| ah_collect::sampling::log_uniform(rng, 1, 1_000_000))
        .feature("size", |size| *size)
        .feature("mean", move |size| if *size <= last { 1.0 } else { beyond })
        .feature("even", |size| size % 2 == 0)
        .choice("steady", |size| *size += 1)
        .choice("for_odd_sizes", |size| *size += 1)
        .eligible("not even and size > 1")
        .check_agreement()
        .main()
}
