//! Inputs that a log cannot hold: a feature that is no number, a name of two lines, a feature that panics. A
//! collecting program skips them. `tests/it/custom_functions.rs` runs it.

fn main() -> std::process::ExitCode {
    ah_collect::decision("unruly_inputs")
        .input(|rng| ah_collect::sampling::log_uniform(rng, 1, 1000))
        .feature("size", |size| *size)
        .feature("mean", |size| match size % 4 {
            1 => f64::NAN,
            2 => f64::NEG_INFINITY,
            _ => 1.0 / *size as f64,
        })
        .feature("name", |size| if size % 5 == 1 { "two\nlines" } else { "one" })
        .feature("rest", |size| 10 / (size % 7))
        .choice("steady", |size| *size += 1)
        .choice("other", |size| *size += 1)
        .check_agreement()
        .main()
}
