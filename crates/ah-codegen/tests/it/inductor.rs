//! The target Inductor: its function leaves only the kernels that the heuristic ranks first.

use std::path::Path;
use std::process::Command;

use ah_codegen::{INDUCTOR, Request, generate};
use ah_model::Model;

use crate::skipped;

fn python(code: &str) -> Option<String> {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../generated/mm_h200.model.json");
    let folder = tempfile::tempdir().unwrap();
    let model = Model::read(&model).unwrap();
    generate(&Request { force: true, ..Request::new(&model, &[&INDUCTOR], folder.path()) }).unwrap();
    std::fs::write(folder.path().join("driver.py"), code).unwrap();
    let python = std::env::var("AUTOHEURISTIC_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python).arg("-B").arg("driver.py").current_dir(folder.path()).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The parts of PyTorch 2.11 that the plug-in uses (`ChoiceCaller`, `MMKernelInputs`), without PyTorch.
const FAKE: &str = r#"
import sys, types

torch = types.ModuleType("torch")
torch.float32, torch.bfloat16 = "torch.float32", "torch.bfloat16"
torch.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(fp32_precision="ieee")))
algorithm = types.ModuleType("torch._inductor.select_algorithm")
registered = []
algorithm.add_preprocessing_fn = registered.append
sys.modules.update({"torch": torch, "torch._inductor": types.ModuleType("torch._inductor"), algorithm.__name__: algorithm})

import mm_h200_inductor as module


class Node:
    def __init__(self, *size):
        self.size = size
    def get_size(self):
        return self.size
    def get_dtype(self):
        return dtype
    def get_layout(self):
        return types.SimpleNamespace(is_contiguous=lambda: True)


class Inputs:
    def __init__(self, *nodes):
        self.of = nodes
    def nodes(self):
        return list(self.of)
    def mnk_hinted(self):
        return self.of[0].size[0], self.of[1].size[1], self.of[0].size[1]
    def strides_hinted(self):
        return tuple((node.size[1], 1) for node in self.of)
    def dtype(self):
        return dtype


class Choice:
    def __init__(self, name, inputs):
        self.name, self.annotations = name, {"ktc": types.SimpleNamespace(inputs=inputs)} if inputs else {}
    def autoheuristic_id(self):
        assert self.annotations, "asked only of a product of two matrices"
        return self.name


def choices(*nodes, names=module.CHOICES):
    return [Choice(name, Inputs(*nodes)) for name in names]


seen = set()
shapes = [(m, n, k) for m in (16, 300, 4096) for n in (64, 1000, 5440) for k in (64, 10752)]
for m, n, k, dtype in [(*shape, dtype) for shape in shapes for dtype in (torch.float32, torch.bfloat16)]:
    all = choices(Node(m, k), Node(k, n))
    values = dict(m=m, n=n, k=k, mat1_stride_0=k, mat1_stride_1=1, mat2_stride_0=n, mat2_stride_1=1, mat1_dtype=dtype,
                  mat2_dtype=dtype, mat1_iscontig=True, mat2_iscontig=True,
                  using_tf32=False if dtype == torch.float32 else "not_float_32")
    given = [values[name] for name in module.FEATURES]
    pick = module.choose_among(module.CHOICES, *given)
    kept = [choice.name for choice in module.keep(all)]
    assert kept == ([pick] if pick else list(module.CHOICES)), (kept, pick)
    three = [choice.name for choice in module.keep(all, top=3)]
    first = [pick] + [name for name in module.ranked(*given) if name != pick]
    assert pick is None or three == sorted(first[:3], key=module.CHOICES.index), (three, first)
    seen.add(pick)
assert len(seen) > 1, seen
# Products with a bias, batched ones, other operations, and choices that the heuristic does not know.
bias = choices(Node(16), Node(16, 64), Node(64, 64))
assert module.keep(bias) == bias
batched = choices(Node(2, 16, 64), Node(2, 64, 64))
assert module.keep(batched) == batched
other = [Choice("convolution", None)]
assert module.keep(other) == other and module.keep([]) == []
unknown = choices(Node(16, 64), Node(64, 64), names=["unsupported_choice"])
assert module.keep(unknown) == unknown
module.register()
assert len(registered) == 1 and registered[0](other) == other
print("kept")
"#;

#[test]
fn only_the_kernels_that_the_heuristic_ranks_first_are_kept() {
    match python(FAKE) {
        Some(output) => assert_eq!(output, "kept\n"),
        None => skipped("there is no python3, so the target inductor was not run"),
    }
}

/// PyTorch itself, on a processor: it asks about the nodes of its own graph. The compilation ends there, because compiling C++
/// takes minutes.
const REAL: &str = r#"
import copy

try:
    import torch
except ImportError:
    raise SystemExit(print("SKIPPED: there is no PyTorch, so it did not load the plug-in"))
from torch._inductor import config, select_algorithm
import mm_h200_inductor as module


class Stop(Exception):
    pass


def last(choices):
    seen.append([choice.autoheuristic_id() for choice in choices])
    raise Stop


def imitate(choices):
    # A processor offers one kernel; the second one has the name of a GPU's.
    other = copy.copy(choices[0])
    other.autoheuristic_id = lambda: next(name for name in module.CHOICES if name != "extern_mm")
    seen.append([choice.autoheuristic_id() for choice in [*choices, other]])
    return [*choices, other]


seen, features, original = [], [], module._features
module._features = lambda inputs: features.append(original(inputs)) or features[-1]
select_algorithm.add_preprocessing_fn(imitate)
module.register()
select_algorithm.add_preprocessing_fn(last)
config.force_disable_caches = True
try:
    torch.compile(torch.mm, mode="max-autotune")(torch.randn(96, 256), torch.randn(256, 4096))
    raise AssertionError("not asked")
except Exception as e:
    assert "Stop" in repr(e) + repr(e.__cause__), repr(e)
before, after = seen
assert len(before) == 2 and after == [module.choose_among(before, *(features[0][name] for name in module.FEATURES))]
assert set(module.FEATURES) <= set(features[0]), features
assert (features[0]["m"], features[0]["k"], features[0]["n"], features[0]["mat2_stride_0"]) == (96, 256, 4096, 4096)
print(torch.__version__, before, after)
"#;

#[test]
fn pytorch_asks_the_plug_in() {
    println!("{}", python(REAL).unwrap_or_default());
}
