//! Random models with hostile names, and the shipped ones: every target decides as the model does, and declines where it declines.
//!
//! The inputs have every threshold and its neighbours, integers beyond 2^53, NaN, and categories that training never saw.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ah_codegen::{C, GO, Generator, INDUCTOR, PYTHON, PYTORCH, RUST, Request, TRITON, WriteMode, generate};
use ah_model::{Error, FeatureKind, Model, Value};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use crate::{models, reference, skipped};

/// A model, inputs as lines of text, and for each input the choice, the choice among the offered ones, and the ranking.
struct Case {
    model: Model,
    /// Whether its code ranks choices; else it has nothing but the choice.
    ranked: bool,
    input: String,
    expected: Vec<String>,
}

fn case(rng: &mut Pcg64, model: Model, inputs: &[Vec<Value>]) -> Case {
    let (mut input, mut expected) = (String::new(), Vec::new());
    for values in inputs {
        for (value, feature) in values.iter().zip(model.features.base().features()) {
            match value {
                // The f64 of i64::MAX is 2^63, and saturation makes it i64::MAX again.
                Value::Number(x) if feature.integer => write!(input, "{}\t", *x as i64).unwrap(),
                Value::Number(x) => write!(input, "{:016x}\t", x.to_bits()).unwrap(),
                Value::Category(text) => {
                    text.bytes().for_each(|byte| write!(input, "{byte:02x}").unwrap());
                    input.push('\t');
                }
            }
        }
        let offered: Vec<bool> = model.choices.iter().map(|_| rng.random_bool(0.5)).collect();
        offered.iter().for_each(|is_offered| input.push(if *is_offered { '1' } else { '0' }));
        input.push('\n');
        let shown =
            |choice: Option<ah_model::ChoiceId>| choice.map_or("-".to_owned(), |id| id.index().to_string());
        let all = shown(reference::choose(&model, values).ok());
        let among = shown(reference::decide(&model, values, |id| offered[id.index()]).ok());
        let is_in = |ranked: &ah_model::Ranked| {
            ranked.allowed || Some(ranked.choice) == model.fallback.map(|id| id.0)
        };
        let ranking = reference::ranking(&model, values).unwrap_or_default();
        let ranking: Vec<String> =
            ranking.iter().filter(|r| is_in(r)).map(|r| r.choice.to_string()).collect();
        expected.push(format!("{all} {among} {}", ranking.join(",")));
    }
    Case { model, ranked: true, input, expected }
}

/// Adds code without rankings of every second model and of those with a cost formula, which it prints as a loop.
fn with_plain(mut cases: Vec<Case>) -> Vec<Case> {
    for number in 0..cases.len() {
        let Case { model, input, expected, .. } = &cases[number];
        if number % 2 == 0 || model.costs.is_some() {
            let model = Model { heuristic: format!("Plain{number}"), ..model.clone() };
            let expected = expected.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
            let plain = Case { model, ranked: false, input: input.clone(), expected };
            cases.push(plain);
        }
    }
    cases
}

/// Random models, and the shipped ones. `AH_CASES=N` makes N times as many, with other seeds.
fn cases(seed: u64, count: usize) -> Vec<Case> {
    let times = std::env::var("AH_CASES").map_or(1, |n| n.parse().expect("AH_CASES is a number"));
    let mut rng = Pcg64::seed_from_u64(seed + 1000 * (times as u64 - 1));
    let mut cases = Vec::new();
    while cases.len() < count * times {
        let (depth, nodes) = match cases.len() % 4 {
            0 => (rng.random_range(0..4), 40),
            1 | 2 => (rng.random_range(4..13), 120),
            _ => (rng.random_range(13..41), 700),
        };
        let model = models::model(&mut rng, &format!("Random{}", cases.len()), depth, nodes);
        // Names that callers could not tell apart are refused.
        let targets: [&Generator; 4] = [&RUST, &C, &GO, &PYTHON];
        let try_it =
            Request { mode: WriteMode::Check, ..Request::new(&model, &targets, Path::new("nowhere")) };
        match generate(&try_it) {
            Err(Error::Invalid(why)) if why.contains("tell them apart") => continue,
            other => drop(other.unwrap()),
        }
        let inputs = models::contexts(&mut rng, &model, 200);
        cases.push(case(&mut rng, model, &inputs));
    }
    // `scripts/check_equality.sh` learns many.
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../generated");
    let folder = std::env::var_os("AH_MODELS").map_or(shipped, PathBuf::from);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    for path in paths {
        let mut model =
            Model::read(&path).unwrap_or_else(|e| panic!("{e}; learn it again (scripts/generate.sh)"));
        model.heuristic = format!("Shipped{}", cases.len());
        let inputs = plausible(&mut rng, &model);
        cases.push(case(&mut rng, model, &inputs));
    }
    cases
}

/// Inputs such as programs have, with numbers around the thresholds.
fn plausible(rng: &mut Pcg64, model: &Model) -> Vec<Vec<Value>> {
    let mut inputs = models::contexts(rng, model, 100);
    for _ in 0..2000 {
        let value = |(slot, feature): (usize, &ah_model::Feature), rng: &mut Pcg64| {
            if feature.kind == FeatureKind::Categorical {
                let known = &model.categories[slot];
                return Value::from(known[rng.random_range(0..known.len())].as_str());
            }
            let size = 2.0_f64.powf(rng.random_range(0.0..17.0)).round();
            Value::Number(size + f64::from(rng.random_range(-1_i32..2)))
        };
        inputs.push(model.features.base().features().iter().enumerate().map(|f| value(f, rng)).collect());
    }
    inputs
}

fn run(command: &mut Command, input: &str, what: &str) -> Vec<String> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    drop(writer.join().unwrap());
    assert!(output.status.success(), "{what} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Whether a category of an input, as hexadecimal digits, holds a NUL: no text in C does.
fn has_nul(case: &Case, input: &str) -> bool {
    let features = case.model.features.base().features();
    features.iter().zip(input.split('\t')).any(|(feature, digits)| {
        feature.kind == FeatureKind::Categorical && digits.as_bytes().chunks(2).any(|byte| byte == b"00")
    })
}

fn compare(case: &Case, found: &[String], what: &str) {
    assert_eq!(case.expected.len(), found.len(), "{what}");
    let is_c = ["gcc", "g++", "clang"].contains(&what);
    for ((expected, found), input) in case.expected.iter().zip(found).zip(case.input.lines()) {
        if is_c && has_nul(case, input) {
            continue;
        }
        assert_eq!(expected.trim_end(), found.trim_end(), "{what}: {input}\n{}", case.model.to_json());
    }
}

fn total(cases: &[Case]) -> String {
    let decided = |case: &Case| case.expected.iter().filter(|line| !line.starts_with('-')).count();
    let inputs: usize = cases.iter().map(|case| case.expected.len()).sum();
    format!(
        "{} models, {inputs} inputs, {} of them decided, 0 mismatches",
        cases.len(),
        cases.iter().map(decided).sum::<usize>()
    )
}

/// Writes one target, and returns its file and the features that a caller gives.
fn emit(case: &Case, target: &Generator, out: &Path, into: Option<&Path>) -> (PathBuf, Vec<(usize, String)>) {
    let targets = [target];
    let request =
        Request { ranked: case.ranked, into, force: true, ..Request::new(&case.model, &targets, out) };
    let mut report = generate(&request).unwrap();
    let generated = report.generated.remove(0);
    (generated.output.place, generated.output.signature)
}

const RUST_MAIN: &str = r#"
fn number(text: &str) -> f64 { f64::from_bits(u64::from_str_radix(text, 16).unwrap()) }
fn text(text: &str) -> String {
    let bytes = (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap());
    String::from_utf8(bytes.collect()).unwrap()
}
fn shown(choice: Option<usize>) -> String { choice.map_or("-".to_owned(), |at| at.to_string()) }
fn main() {
    let case: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let fields: Vec<&str> = line.split('\t').collect();
        println!("{}", CASES[case](&fields));
    }
}
"#;

/// A function that decides one line by the module of this case.
fn rust_case(number: usize, case: &Case, source: &str, signature: &[(usize, String)]) -> String {
    let model = &case.model;
    let features = model.features.base().features();
    let is_truth = |name: &str| source.contains(&format!("pub {name}: bool,"));
    let mut fields = String::new();
    let mut texts = String::new();
    for (slot, name) in signature {
        let value = match features[*slot].kind {
            FeatureKind::Numerical if features[*slot].integer => format!("fields[{slot}].parse().unwrap()"),
            FeatureKind::Numerical => format!("number(fields[{slot}])"),
            FeatureKind::Categorical if is_truth(name) => format!("text(fields[{slot}]) == \"True\""),
            FeatureKind::Categorical => {
                texts += &format!("    let text_{slot} = text(fields[{slot}]);\n");
                format!("&text_{slot}")
            }
        };
        fields += &format!("{name}: {value}, ");
    }
    let (context, c, c_only) = match signature {
        [] => (String::new(), "", ""),
        _ => (format!("    let c = case_{number}::Context {{ {fields} }};\n"), "&c, ", "&c"),
    };
    let choose = format!("case_{number}::choose({c_only})");
    if !case.ranked {
        return format!(
            "#[path = \"case_{number}.rs\"]\nmod case_{number};\nfn decide_{number}(fields: &[&str]) -> String {{\n    let _ = fields;\n{texts}{context}    \
             shown({choose}.map(|choice| choice as usize))\n}}\n"
        );
    }
    format!(
        "#[path = \"case_{number}.rs\"]\nmod case_{number};\nfn decide_{number}(fields: &[&str]) -> String {{\n    use case_{number}::Choice;\n{texts}{context}    let at = |choice: Choice| choice as \
         usize;\n    let offered: Vec<Choice> = fields.last().unwrap().bytes().zip(Choice::ALL).filter(|(bit, _)| *bit == b'1').map(|(_, choice)| choice).collect();\n    for choice in Choice::ALL {{ \
         assert!(choice.name().parse() == Ok(choice)); }}\n    let ranking: Vec<String> = case_{number}::ranked({c_only}).map(|choice| at(choice).to_string()).collect();\n    format!(\"{{}} {{}} \
         {{}}\", shown({choose}.map(at)), shown(case_{number}::choose_among({c}&offered).map(at)), ranking.join(\",\"))\n}}\n"
    )
}

#[test]
fn rust_decides_as_the_model_does() {
    let cases = with_plain(cases(1, 16));
    let folder = tempfile::tempdir().unwrap();
    let mut main = String::new();
    for (number, case) in cases.iter().enumerate() {
        let path = folder.path().join(format!("case_{number}.rs"));
        let (_, signature) = emit(case, &RUST, folder.path(), Some(&path));
        let source = fs::read_to_string(&path).unwrap();
        // Where the code of a condition is known, its branches are.
        let mut lines = source.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        let decided = lines.find(|line| {
            let is_constant = line.starts_with("let ") && !line.starts_with("let mut");
            is_constant && (line.ends_with("= true;") || line.ends_with("= false;"))
                || ["if true ", "if false ", "!true", "!false"].iter().any(|code| line.contains(code))
        });
        assert_eq!(decided, None, "case {number}");
        main += &rust_case(number, case, &source, &signature);
    }
    let all: Vec<String> = (0..cases.len()).map(|number| format!("decide_{number}")).collect();
    main += &format!(
        "static CASES: [fn(&[&str]) -> String; {}] = [{}];\n{RUST_MAIN}",
        cases.len(),
        all.join(", ")
    );
    let (source, program) = (folder.path().join("main.rs"), folder.path().join("program"));
    fs::write(&source, main).unwrap();
    let mut rustc = Command::new("rustc");
    rustc
        .args(["--edition", "2024", "-C", "opt-level=1", "-C", "overflow-checks=on", "-D", "warnings"])
        .arg(&source)
        .arg("-o")
        .arg(&program);
    let output = rustc.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<&str> = errors.split("\n\n").filter(|text| text.starts_with("error")).collect();
    assert!(output.status.success(), "{}", errors.join("\n\n").chars().take(4000).collect::<String>());
    for (number, case) in cases.iter().enumerate() {
        compare(case, &run(Command::new(&program).arg(number.to_string()), &case.input, "rust"), "rust");
    }
    println!("rust: {}", total(&cases));
}

const C_MAIN: &str = r#"
static char *next(char **line) {
    char *start = *line, *end = strchr(start, '\t');
    if (end) { *end = 0; *line = end + 1; }
    return start;
}
static double number(const char *text) {
    uint64_t bits = strtoull(text, NULL, 16);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static const char *text(char *hex) {
    size_t i, n = strlen(hex) / 2;
    for (i = 0; i < n; ++i) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        hex[i] = (char)strtoul(two, NULL, 16);
    }
    hex[n] = 0;
    return hex;
}
static void show(int choice) {
    if (choice < 0) printf("- "); else printf("%d ", choice);
}
int main(int n, char **v) {
    static char line[1 << 20];
    (void)n;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        switch (atoi(v[1])) {
CASES        }
    }
    return 0;
}
"#;

fn c_case(number: usize, case: &Case, source: &str, signature: &[(usize, String)]) -> String {
    let model = &case.model;
    let features = model.features.base().features();
    let package = source.split("enum ").nth(1).unwrap().split("_choice").next().unwrap();
    let mut text = format!(
        "static void decide_{number}(char *line) {{\n    char *fields[{}];\n    bool offered[{}];\n    int ranked[{}], i, count;\n",
        features.len() + 1,
        model.choices.len(),
        model.choices.len()
    );
    text += &format!(
        "    for (i = 0; i <= {}; ++i) fields[i] = next(&line);\n    for (i = 0; i < {}; ++i) offered[i] = fields[{}][i] == '1';\n",
        features.len(),
        model.choices.len(),
        features.len()
    );
    let (c, c_only) = if signature.is_empty() { ("", "") } else { ("&c, ", "&c") };
    if !signature.is_empty() {
        text += &format!("    struct {package}_context c;\n");
    }
    for (slot, name) in signature {
        let value = match features[*slot].kind {
            FeatureKind::Numerical if features[*slot].integer => {
                format!("(int64_t)strtoll(fields[{slot}], NULL, 10)")
            }
            FeatureKind::Numerical => format!("number(fields[{slot}])"),
            FeatureKind::Categorical if source.contains(&format!("    bool {name};")) => {
                format!("!strcmp(text(fields[{slot}]), \"True\")")
            }
            FeatureKind::Categorical => format!("text(fields[{slot}])"),
        };
        text += &format!("    c.{name} = {value};\n");
    }
    if !case.ranked {
        return text
            + &format!(
                "    (void)offered, (void)ranked, (void)count;\n    show({package}_choose({c_only}));\n    printf(\"\\n\");\n}}\n"
            );
    }
    text + &format!(
        "    show({package}_choose({c_only}));\n    show({package}_choose_among({c}offered));\n    count = {package}_ranked({c}ranked);\n    for (i = 0; i < count; ++i) printf(\"%s%d\", i ? \",\" : \"\", \
         ranked[i]);\n    printf(\"\\n\");\n}}\n"
    )
}

#[test]
fn c_decides_as_the_model_does() {
    let cases = with_plain(cases(3, 16));
    let folder = tempfile::tempdir().unwrap();
    let (mut includes, mut functions, mut arms) = (
        String::from("#include <stdio.h>\n#include <stdlib.h>\n#include <complex.h>\n"),
        String::new(),
        String::new(),
    );
    for (number, case) in cases.iter().enumerate() {
        let (place, signature) = emit(case, &C, folder.path(), None);
        let name = place.file_name().unwrap().to_str().unwrap();
        includes += &format!("#include \"{name}\"\n");
        functions += &c_case(number, case, &fs::read_to_string(&place).unwrap(), &signature);
        arms += &format!("        case {number}: decide_{number}(line); break;\n");
    }
    let (head, tail) = C_MAIN.split_once("int main").unwrap();
    let main = format!("{includes}{head}{functions}int main{}", tail.replace("CASES", &arms));
    let (source, program) = (folder.path().join("main.c"), folder.path().join("program"));
    fs::write(&source, main).unwrap();
    // Random names are longer than C99 compilers must support.
    let warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-overlength-strings"];
    let compilers: [(&str, &str, &[&str]); 6] = [
        ("gcc", "c", &["-std=c99", "-O1"]),
        // Products and sums that a compiler fuses would decide otherwise.
        ("gcc", "c", &["-std=gnu11", "-O2", "-march=native", "-ffp-contract=fast"]),
        ("g++", "c++", &["-std=c++17", "-O1"]),
        ("g++", "c++", &["-std=c++20", "-O1"]),
        ("clang", "c", &["-std=c99", "-O1"]),
        ("clang", "c", &["-std=c11", "-O2"]),
    ];
    for (compiler, language, options) in compilers {
        if Command::new(compiler).arg("--version").output().is_err() {
            skipped(&format!("there is no {compiler}, so generated C was not compiled by it"));
            continue;
        }
        let mut command = Command::new(compiler);
        command.args(options).args(warnings).args(["-x", language]).arg(&source);
        let output = command.args(["-x", "none", "-lm", "-o"]).arg(&program).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let errors: Vec<String> = errors
            .lines()
            .filter(|line| line.contains("error:"))
            .map(|line| line.chars().take(300).collect())
            .collect();
        assert!(output.status.success(), "{compiler} {options:?}: {errors:#?}");
        for (number, case) in cases.iter().enumerate() {
            compare(
                case,
                &run(Command::new(&program).arg(number.to_string()), &case.input, compiler),
                compiler,
            );
        }
        println!("{compiler} {}: {}", options.join(" "), total(&cases));
    }
}

const PYTHON_DRIVER: &str = r#"
import importlib.util, json, struct, sys, types

def stand_in(name, **names):
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module

class Context:
    def __init__(self, values):
        self.context_dict = values

class Decision:
    pass

if sys.argv[1] == "pytorch":
    stand_in("torch")
    stand_in("torch._inductor")
    stand_in("torch._inductor.autoheuristic")
    stand_in("torch._inductor.autoheuristic.autoheuristic_utils", AHContext=Context, AHMetadata=object, Choice=str)
    stand_in("torch._inductor.autoheuristic.learnedheuristic_interface", LearnedHeuristicDecision=Decision)
def load(path):
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

module, plain = load(sys.argv[2]), load(sys.argv[4])
model = json.load(open(sys.argv[3], encoding="utf-8"))
index = {name: i for i, name in enumerate(model["choices"])}
configs = getattr(module, "CONFIGS", None)
names = {json.dumps(config): name for name, config in (configs or {}).items()}
assert list(module.CHOICES) == model["choices"]

def shown(name):
    return "-" if name is None else str(index[name])

def name_of(choice):
    return choice if choice is None or configs is None else names[json.dumps(choice)]

for line in sys.stdin:
    *fields, bits = line.rstrip("\n").split("\t")
    values = {}
    for feature, field in zip(model["features"], fields):
        if feature["kind"] == "categorical":
            text = bytes.fromhex(field).decode()
            is_missing = text == "" and "" in model["categories"].get(feature["name"], [])
            values[feature["name"]] = None if is_missing else text
        elif feature.get("integer"):
            values[feature["name"]] = int(field)
        else:
            number = struct.unpack(">d", bytes.fromhex(field))[0]
            is_missing = number != number and feature["name"] in model.get("missing", [])
            values[feature["name"]] = None if is_missing else number
    offered = [choice for choice, bit in zip(model["choices"], bits) if bit == "1"]
    if sys.argv[1] == "pytorch":
        (heuristic,) = [c() for c in vars(module).values() if isinstance(c, type) and issubclass(c, Decision) and c is not Decision]
        context = Context({name: "" if value is None and module.FEATURES and isinstance(value, str) else value for name, value in values.items()})
        print("*", shown(heuristic.get_decision(context, offered)), "*")
        continue
    given = [values[name] for name in module.FEATURES]
    ranking = ",".join(str(index[name]) for name in module.ranked(*given))
    assert plain.choose(*[values[name] for name in plain.FEATURES]) == module.choose(*given), "without rankings"
    print(shown(name_of(module.choose(*given))), shown(module.choose_among(offered, *given)), ranking)
"#;

fn python(target: &Generator, seed: u64, count: usize) {
    if Command::new("python3").arg("--version").output().is_err() {
        return skipped("there is no python3, so generated Python was not run");
    }
    let cases = cases(seed, count);
    let folder = tempfile::tempdir().unwrap();
    let (driver, json) = (folder.path().join("driver.py"), folder.path().join("model.json"));
    fs::write(&driver, PYTHON_DRIVER).unwrap();
    for case in &cases {
        let (place, _) = emit(case, target, folder.path(), None);
        case.model.write(&json).unwrap();
        // The module that a user gets who asks for no rankings.
        let plain = folder.path().join("plain");
        let request = Request { force: true, ..Request::new(&case.model, &[&PYTHON], &plain) };
        let plain = generate(&request).unwrap().generated.remove(0).output.place;
        let mut command = Command::new("python3");
        command.arg("-B").arg(&driver).arg(target.target.name()).arg(&place).arg(&json).arg(&plain);
        let mut found = run(&mut command, &case.input, target.target.name());
        // PyTorch always lists the choices that it offers, and its rankings have its own form.
        for (line, expected) in found.iter_mut().zip(&case.expected) {
            if line.starts_with('*') {
                let mut words: Vec<&str> = expected.split(' ').collect();
                words[1] = line.split(' ').nth(1).unwrap();
                *line = words.join(" ");
            }
        }
        compare(case, &found, target.target.name());
    }
    println!("{}: {}", target.target.name(), total(&cases));
}

const GO_MAIN: &str = r#"
func number(text string) float64 {
	bits, _ := strconv.ParseUint(text, 16, 64)
	return math.Float64frombits(bits)
}

func whole(text string) int64 {
	x, _ := strconv.ParseInt(text, 10, 64)
	return x
}

func text(digits string) string {
	bytes, _ := hex.DecodeString(digits)
	return string(bytes)
}

func shown(choice int, ok bool) string {
	if ok {
		return strconv.Itoa(choice)
	}
	return "-"
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		switch os.Args[1] {
CASES		}
	}
}
"#;

/// The function that decides one line by the package of this case.
fn go_case(number: usize, case: &Case, source: &str, signature: &[(usize, String)]) -> String {
    let model = &case.model;
    let features = model.features.base().features();
    let value = |(slot, name): &(usize, String)| {
        let value = match features[*slot].kind {
            FeatureKind::Numerical if features[*slot].integer => format!("whole(fields[{slot}])"),
            FeatureKind::Numerical => format!("number(fields[{slot}])"),
            FeatureKind::Categorical
                if source.lines().any(|line| line.trim().starts_with(&format!("{name} bool"))) =>
            {
                format!("text(fields[{slot}]) == \"True\"")
            }
            FeatureKind::Categorical => format!("text(fields[{slot}])"),
        };
        format!("{name}: {value}, ")
    };
    let fields: String = signature.iter().map(value).collect();
    let package = format!("case{number}");
    if !case.ranked {
        return format!(
            "func decide{number}(fields []string) string {{\n\tc := {package}.Context{{{fields}}}\n\tall, decides := {package}.Choose(&c)\n\treturn \
             shown(int(all), decides)\n}}\n\n"
        );
    }
    format!(
        "func decide{number}(fields []string) string {{\n\tc := {package}.Context{{{fields}}}\n\toffered := []{package}.Choice{{}}\n\tfor at, \
         bit := range fields[len(fields)-1] {{\n\t\tif bit == '1' {{\n\t\t\toffered = append(offered, {package}.Choice(at))\n\t\t}}\n\t}}\n\tall, \
         decides := {package}.Choose(&c)\n\tamong, isOffered := {package}.ChooseAmong(&c, offered)\n\tranking := []string{{}}\n\tfor _, choice := \
         range {package}.Ranked(&c) {{\n\t\tranking = append(ranking, strconv.Itoa(int(choice)))\n\t}}\n\treturn shown(int(all), decides) + \" \" + \
         shown(int(among), isOffered) + \" \" + strings.Join(ranking, \",\")\n}}\n\n"
    )
}

#[test]
fn go_decides_as_the_model_does() {
    if Command::new("go").arg("version").output().is_err() {
        return skipped("there is no go, so its packages were not compiled");
    }
    let cases = with_plain(cases(8, 16));
    let folder = tempfile::tempdir().unwrap();
    let (mut imports, mut functions, mut arms) = (String::new(), String::new(), String::new());
    for (number, case) in cases.iter().enumerate() {
        let path = folder.path().join(format!("case{number}/heuristic.go"));
        let (_, signature) = emit(case, &GO, folder.path(), Some(&path));
        imports += &format!("\t\"program/case{number}\"\n");
        functions += &go_case(number, case, &fs::read_to_string(&path).unwrap(), &signature);
        arms += &format!("\t\tcase \"{number}\":\n\t\t\tfmt.Fprintln(out, decide{number}(fields))\n");
    }
    let library = ["bufio", "encoding/hex", "fmt", "math", "os", "strconv", "strings"];
    let library: String = library.iter().map(|name| format!("\t\"{name}\"\n")).collect();
    let main = format!(
        "package main\n\nimport (\n{library}{imports})\n\n{functions}{}",
        GO_MAIN.replace("CASES", &arms)
    );
    fs::write(folder.path().join("main.go"), main).unwrap();
    fs::write(folder.path().join("go.mod"), "module program\n\ngo 1.18\n").unwrap();
    let mut go = Command::new("go");
    go.args(["build", "-o", "program", "."]).current_dir(folder.path()).env("GOPROXY", "off");
    let output = go.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}", errors.chars().take(4000).collect::<String>());
    for (number, case) in cases.iter().enumerate() {
        let program = folder.path().join("program");
        compare(case, &run(Command::new(&program).arg(number.to_string()), &case.input, "go"), "go");
    }
    println!("go: {}", total(&cases));
}

#[test]
fn python_decides_as_the_model_does() {
    python(&PYTHON, 2, 24);
}

#[test]
fn pytorch_decides_as_the_model_does() {
    python(&PYTORCH, 5, 12);
}

#[test]
fn triton_decides_as_the_model_does() {
    python(&TRITON, 6, 12);
}

#[test]
fn inductor_decides_as_the_model_does() {
    python(&INDUCTOR, 7, 12);
}
