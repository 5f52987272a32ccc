"""Reads contexts, one a line, and prints what a PyTorch artifact says of them.

PyTorch itself is not needed: its two modules that an artifact imports are stood in for.
"""
import importlib.util
import json
import struct
import sys
import types


class Context:
    def __init__(self, values):
        self.values = values

    def get_value(self, name):
        return self.values[name]


def stand_in(name, **names):
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module


class Decision:
    def __init__(self):
        pass


stand_in("torch")
stand_in("torch._inductor")
stand_in("torch._inductor.autoheuristic")
stand_in("torch._inductor.autoheuristic.autoheuristic_utils", AHContext=Context, AHMetadata=object, Choice=str)
stand_in("torch._inductor.autoheuristic.learnedheuristic_interface", LearnedHeuristicDecision=Decision)

spec = importlib.util.spec_from_file_location("artifact", sys.argv[1])
artifact = importlib.util.module_from_spec(spec)
spec.loader.exec_module(artifact)
classes = [c for c in vars(artifact).values() if isinstance(c, type) and issubclass(c, Decision) and c is not Decision]
(heuristic,) = [c() for c in classes]
model = json.load(open(sys.argv[2], encoding="utf-8"))
index = {name: i for i, name in enumerate(model["choices"])}
assert heuristic.choices == model["choices"]
for line in sys.stdin:
    *fields, bits = line.rstrip("\n").split("\t")
    values = {}
    for feature, field in zip(model["features"], fields, strict=True):
        if feature["kind"] == "categorical":
            value = bytes.fromhex(field).decode()
        elif feature.get("integer"):
            value = int(field)
        else:
            value = struct.unpack(">d", bytes.fromhex(field))[0]
        values[feature["name"]] = value
    context = Context(values)
    shown = []
    for offered in (model["choices"], [c for c, bit in zip(model["choices"], bits) if bit == "1"]):
        choice = heuristic.get_decision(context, offered)
        shown.append("-" if choice is None else str(index[choice]))
    ranking = heuristic.get_best_choices(context) or []
    print(*shown, "".join(f"{i}:{struct.pack('>d', p).hex()}," for p, i in ranking))
