//! Turns the names of a model, which may be anything, into identifiers that a file uses safely.
//!
//! An identifier keeps the ASCII letters and digits of the name. The name itself is beside it as an escaped string. All identifiers
//! of a file come from one place, which knows the language's words, the names of the file itself, and what it gave before.

use std::collections::HashSet;

use ah_model::Model;
use ah_model::shown::quoted;

/// The case of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `arith_intensity`
    Snake,
    /// `ArithIntensity`
    Camel,
    /// `arithIntensity`
    Mixed,
    /// The name itself if it is an identifier; else its words joined by `_`.
    Kept,
}

/// Longer identifiers are cut. A structured choice can have a name of 100 characters, which should stay whole.
pub const LONGEST: usize = 160;
/// The most characters of a variable for a derived feature. Half of a formula would mislead, so longer ones only list what is in them.
const LONGEST_VARIABLE: usize = 24;

/// Hands out identifiers, each once.
#[derive(Clone, Debug)]
pub struct Namer {
    case: Case,
    reserved: HashSet<&'static str>,
    /// What stands before an identifier in a constant of C: `max` of the heuristic `Flt` would be FLT_MAX.
    prefix: Option<String>,
    taken: HashSet<String>,
}

impl Namer {
    /// Starts without identifiers. `reserved` are the language's words and the file's own names, separated by spaces.
    pub fn new(case: Case, reserved: &[&'static str]) -> Self {
        let words = reserved.iter().flat_map(|words| words.split_ascii_whitespace());
        Self { case, reserved: words.collect(), prefix: None, taken: HashSet::new() }
    }

    /// An identifier of at most `longest` characters. A word of the language gets `_` behind it, a taken one a number.
    pub fn give(&mut self, name: &str, stem: &str, longest: usize) -> String {
        let base = self.base(name, stem, longest);
        let is_apart =
            matches!(self.case, Case::Camel | Case::Mixed) && !base.ends_with(|c: char| c.is_ascii_digit());
        let separator = if is_apart { "" } else { "_" };
        let mut identifier = base.clone();
        let base = base.trim_end_matches('_');
        let mut number = 1;
        while !self.taken.insert(identifier.clone()) {
            number += 1;
            identifier = format!("{base}{separator}{number}");
        }
        identifier
    }

    /// Identifiers for names. A name that is an identifier stays itself, whatever the others are.
    pub fn give_all<'n>(&mut self, names: impl Iterator<Item = &'n str> + Clone, stem: &str) -> Vec<String> {
        let own: HashSet<&str> =
            names.clone().filter(|name| self.base(name, stem, LONGEST) == *name).collect();
        self.taken.extend(own.iter().map(|&name| name.to_owned()));
        let give =
            |name: &'n str| if own.contains(name) { name.to_owned() } else { self.give(name, stem, LONGEST) };
        names.map(give).collect()
    }

    fn base(&self, name: &str, stem: &str, longest: usize) -> String {
        let mut base = identifier(name, self.case, stem);
        if base.len() > longest {
            let cut = base[..longest].rfind('_').filter(|at| *at > longest / 2).unwrap_or(longest);
            base.truncate(cut);
        }
        // `part_1` and the like are for parts of expressions.
        let is_part = base.strip_prefix("part_").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
        let constant = |prefix: &String| format!("{prefix}_{base}").to_ascii_uppercase();
        let is_constant = self.prefix.as_ref().map(constant).is_some_and(|c| self.reserved.contains(&*c));
        if is_part || is_constant || self.reserved.contains(base.as_str()) {
            base.push('_');
        }
        base
    }
}

/// The identifier of a name before anything else of the file is looked at.
pub fn identifier(name: &str, case: Case, stem: &str) -> String {
    let kept = case == Case::Kept && is_identifier(name);
    let mut words = if kept { name.to_owned() } else { words(name) };
    match words.trim_start().chars().next() {
        None => {
            let codes = name.chars().take(LONGEST / 8).map(|c| format!(" u{:x}", u32::from(c)));
            words = format!("{stem}{}", codes.collect::<String>());
        }
        Some(first) if first.is_ascii_digit() => words = format!("{stem} {words}"),
        Some(_) => {}
    }
    let mut base = String::new();
    for word in words.split_ascii_whitespace() {
        let mut word = if case == Case::Kept { word.to_owned() } else { word.to_ascii_lowercase() };
        let is_digit = |c: char| c.is_ascii_digit();
        // `16_64` must not become `1664`.
        let are_numbers = base.ends_with(is_digit) && word.starts_with(is_digit);
        let is_joined = matches!(case, Case::Camel | Case::Mixed);
        if case == Case::Camel || case == Case::Mixed && !base.is_empty() {
            word[..1].make_ascii_uppercase();
        }
        if !base.is_empty() && (!is_joined || are_numbers) {
            base.push('_');
        }
        base += &word;
    }
    base.truncate(LONGEST);
    base.trim_end_matches('_').to_owned()
}

/// The name of a model's crate, module and C functions. A keyword, or a library of the language, is no name of a crate or
/// module that programs can read: `fn` becomes `fn_heuristic`.
pub fn package(model: &Model) -> String {
    let name = identifier(&model.heuristic, Case::Snake, "heuristic");
    let libraries = LIBRARIES.lines().filter(|line| !line.starts_with('#'));
    let mut reserved = libraries.chain([RUST_WORDS, PYTHON_WORDS]).flat_map(str::split_ascii_whitespace);
    if reserved.any(|word| word == name) { name + "_heuristic" } else { name }
}

/// Whether a name is an identifier in every language, without underscores at its ends: those are for the files' own names.
pub fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.ends_with('_')
}

/// The runs of ASCII letters and digits in a name, separated by spaces, and also where a capital follows a small letter.
/// Operators between them, as in names of derived features, become words.
fn words(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars().take(2 * LONGEST) {
        match c {
            'A'..='Z' if words.ends_with(|p: char| p.is_ascii_lowercase()) => words.extend([' ', c]),
            _ if c.is_ascii_alphanumeric() => words.push(c),
            '*' => words += " times ",
            '/' => words += " over ",
            '+' => words += " plus ",
            '%' => words += " mod ",
            _ if c.is_alphanumeric() => words += &format!(" u{:x} ", u32::from(c)),
            _ => words.push(' '),
        }
    }
    words
}

/// The identifiers of a model in one file.
#[derive(Clone, Debug)]
pub struct Names {
    /// What was typed, in snake case: the package, the module, the prefix of everything in C.
    pub package: String,
    /// By slot, logged features first; empty for a derived one that no code reads.
    features: Vec<String>,
    /// In the order of the choices.
    pub choices: Vec<String>,
}

impl Names {
    /// Gives identifiers to the features that the caller gives or the code may read, and to the choices, logged features, derived ones and choices each in their case. `reserved` are the words
    /// of the language and the names of the file; features that are fields (`has_fields`) meet only the former.
    ///
    /// # Errors
    /// A sentence if two logged features would have one identifier.
    pub fn new(
        model: &Model,
        cases: [Case; 3],
        reserved: &[&'static str; 2],
        has_fields: bool,
    ) -> Result<Self, String> {
        let used = model.reads();
        let mut namer = Namer::new(cases[1], reserved);
        let mut logged = has_fields.then(|| Namer::new(cases[0], &reserved[..1]));
        let base = model.features.base().len();
        let mut features: Vec<String> = Vec::new();
        for (slot, feature) in model.features.all().features().iter().enumerate() {
            let of_logged = logged.as_mut().unwrap_or(&mut namer);
            let name = of_logged.base(&feature.name, "feature", LONGEST);
            features.push(if slot >= base && !used.contains(&slot) {
                String::new()
            } else if slot >= base {
                let listed = feature.name.replace(['*', '/', '+', '-', '%'], " ");
                let is_whole = name.len() <= LONGEST_VARIABLE;
                namer.give(if is_whole { &feature.name } else { &listed }, "feature", LONGEST_VARIABLE)
            } else if of_logged.taken.insert(name.clone()) {
                name
            } else {
                let first = features.iter().position(|other| *other == name).unwrap_or(slot);
                let [a, b] = [first, slot].map(|slot| quoted(&model.features.all().features()[slot].name));
                return Err(format!(
                    "the features {a} and {b} would both be `{name}` in code, so callers could not tell them apart; rename one of \
                     them in the log"
                ));
            });
        }
        let package = package(model);
        let mut namer = Namer { prefix: Some(package.clone()), ..Namer::new(cases[2], reserved) };
        let choices = namer.give_all(model.choices.iter().map(String::as_str), "choice");
        Ok(Self { package, features, choices })
    }

    /// The identifier of a feature.
    pub fn feature(&self, slot: usize) -> &str {
        &self.features[slot]
    }
}

/// Keywords of C, C++ and CUDA, names that their compilers define, and the macros without parameters of all standard headers of C: those
/// of glibc with its extensions, read as C and as C++, and a few of other systems. A macro takes the place of a field or a variable.
pub const C_WORDS: &str = concat!(
    "\
    alignas alignof and and_eq asm atomic_cancel atomic_commit auto bitand bitor bool break case catch char char8_t char16_t \
    char32_t class co_await co_return co_yield compl complex concept const const_cast consteval constexpr constinit continue \
    decltype default delete do double dynamic_cast else enum errno explicit export extern false final float for friend goto if \
    imaginary import inline int I i386 int16_t int32_t int64_t int8_t isfinite isinf isnan linux long main module mutable namespace \
    new noexcept noreturn not not_eq nullptr operator or or_eq override private protected public reflexpr register \
    reinterpret_cast requires restrict return short signed sizeof size_t static static_assert static_cast stderr stdin stdout struct \
    switch synchronized template this thread_local throw true try typedef typeid typename typeof typeof_unqual uint16_t \
    uint32_t uint64_t uint8_t union unix unsigned using virtual void volatile wchar_t while xor xor_eq j0 j1 jn y0 y1 yn ",
    include_str!("c_macros.txt")
);

/// Variables of C functions, the functions of headers that they call, and what stands behind the prefix in macros and constants.
pub const C_NAMES: &str = "c v fabs ceil floor fmod h count unused api api_data";

/// Keywords of every edition of Rust.
pub const RUST_WORDS: &str = "\
    abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in let \
    loop macro match mod move mut override priv pub ref return self Self static struct super trait true try type typeof unsafe \
    unsized use virtual where while yield union raw safe";

/// The names of standard libraries, and of others that programs have: `numpy.py` would stand before the library. Lines with `#` are
/// comments.
const LIBRARIES: &str = include_str!("libraries.txt");

/// Names of the Rust file itself.
pub const RUST_NAMES: &str = "\
    c f64 i64 i16 i8 u8 u16 u32 u64 usize bool str None Some Ok Err Option floor ceil log2 ctz divide modulo min max choose \
    choose_among picked ranked ranked_ leaf columns decide device_mismatch register runtime core alloc ah_runtime is_eligible ranking";

/// Keywords and builtins of Python, and names of the generated functions that have features as parameters.
pub const PYTHON_WORDS: &str = "\
    and as assert async await break class continue def del elif else except finally for from global if import in is lambda \
    nonlocal not or pass raise return try while with yield match case type math str float int bool None True False abs min max set \
    len range sorted zip TypeError ValueError OverflowError bisect_left offered ranking ineligible expected names at cost costs \
    factors scores row CHOICES CONFIGS FALLBACK";

#[cfg(test)]
mod tests {
    use super::*;

    /// A feature called `len` was a parameter beside a call of `len`.
    #[test]
    fn functions_that_a_python_file_calls_are_no_parameters() {
        let skeletons = [
            include_str!("../templates/python/module.py.tera"),
            include_str!("../templates/python/parts.py.tera"),
        ];
        // Tera's filters, and functions that are called where no feature is a parameter.
        let others = ["join", "filter", "bytes", "list", "tuple"];
        let known: HashSet<&str> = PYTHON_WORDS.split_ascii_whitespace().chain(others).collect();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for text in skeletons {
            let calls = text.match_indices('(').map(|(at, _)| {
                let name = text[..at].rsplit(|c| !is_part(c)).next().unwrap_or_default();
                (&text[..at - name.len()], name)
            });
            let is_own = |before: &str| before.ends_with("def ") || before.ends_with('.');
            let names = calls.filter(|(before, _)| !is_own(before)).map(|(_, name)| name);
            let free: Vec<&str> =
                names.filter(|name| !name.starts_with('_') && !known.contains(name)).collect();
            assert!(
                free.iter().all(|name| name.is_empty() || name.starts_with(char::is_uppercase)),
                "{free:?}"
            );
        }
    }

    #[test]
    fn identifiers_keep_what_they_can() {
        let snake = |name| Namer::new(Case::Snake, &["type row"]).give(name, "feature", LONGEST);
        assert_eq!(snake("mat1_stride_0"), "mat1_stride_0");
        assert_eq!(snake("k/(m*n)"), "k_over_m_times_n");
        assert_eq!(snake("1LEQmLEQ16"), "feature_1leqm_leq16");
        assert_eq!(snake("ctz(m)"), "ctz_m");
        assert_eq!(snake("type"), "type_");
        assert_eq!(snake("part_2"), "part_2_");
        assert_eq!(snake("мама"), "u43c_u430_u43c_u430");
        assert_eq!(snake(""), "feature");
        assert_eq!(snake("\""), "feature_u22");
        let camel = |name| Namer::new(Case::Camel, &["Self Other"]).give(name, "Choice", LONGEST);
        assert_eq!(camel("type=triton_BLOCK-M=16_BLOCK-K=64"), "TypeTritonBlockM16BlockK64");
        assert_eq!(camel("torch.bfloat16"), "TorchBfloat16");
        assert_eq!(camel("self"), "Self_");
        assert_eq!(camel("16_32"), "Choice16_32");
    }

    /// `gzip.py` would hide the library from everything in its folder, and `complex.h` the header.
    #[test]
    fn a_standard_library_keeps_its_name() {
        let named = |heuristic: &str| package(&Model { heuristic: heuristic.to_owned(), ..Model::default() });
        for name in ["Gzip", "Logging", "Threading", "Complex", "Limits", "Alloc", "Strings", "numpy"] {
            assert!(named(name).ends_with("_heuristic"), "{name}: {}", named(name));
        }
        assert_eq!([named("of"), named("Python"), named("PadMM")], ["of", "python", "pad_mm"]);
        let list = "import sys; print(*sys.stdlib_module_names)";
        match std::process::Command::new("python3").args(["-c", list]).output() {
            Ok(output) if output.status.success() => {
                let names = String::from_utf8(output.stdout).unwrap();
                let is_free = |name: &&str| !name.starts_with('_') && named(name) == **name;
                assert_eq!(names.split_whitespace().find(is_free), None);
            }
            _ => {
                let reason = "skipped: there is no Python from 3.10 on, so its list was not compared\n";
                _ = std::io::Write::write_all(&mut std::io::stderr(), reason.as_bytes());
            }
        }
    }

    #[test]
    fn an_identifier_stays_itself() {
        let names = ["a-b", "a_b", "a b", "a_b_2"];
        let given = Namer::new(Case::Kept, &[]).give_all(names.into_iter(), "choice");
        assert_eq!(given, ["a_b_3", "a_b", "a_b_4", "a_b_2"]);
        let long = "x".repeat(10_000);
        let given = Namer::new(Case::Camel, &[]).give_all([&long[..], &long[..9000]].into_iter(), "choice");
        assert!(given.iter().all(|g| g.len() <= LONGEST + 2) && given[0] != given[1], "{given:?}");
    }
}
