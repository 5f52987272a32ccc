//! Choices that panic, end the process, never end, print, and are wrong: a collecting program survives all
//! of them. `tests/it/custom_functions.rs` runs it.

fn main() -> std::process::ExitCode {
    println!("a program may print before it collects");
    ah_collect::decision("unruly")
        .input(|rng| ah_collect::sampling::log_uniform(rng, 1, 1000))
        .input_like(|context, _| context.number("size").map(|size| size as u64))
        .feature("size", |size| *size)
        .feature("even", |size| size % 2 == 0)
        .choice("steady", |size| *size += 1)
        .choice("printing", |size| {
            print!("half a line of {size}");
            *size += 1;
        })
        .choice("wrong", |size| *size += 2)
        .choice("panicking", |size| *size += [1][*size as usize % 2])
        .choice("exiting", |size| {
            if *size % 2 == 1 {
                std::process::exit(7);
            }
            *size += 1;
        })
        .choice("endless", |size| {
            if *size % 2 == 1 {
                loop {
                    std::thread::park();
                }
            }
            *size += 1;
        })
        .choice("for_small_sizes", |size| *size += 1)
        .eligible("size < 100")
        .check_agreement()
        .main()
}
