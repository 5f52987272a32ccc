"""Reads contexts, one a line, and prints what a Python module decides for them."""
import importlib.util
import json
import struct
import sys

spec = importlib.util.spec_from_file_location("module", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
model = json.load(open(sys.argv[2], encoding="utf-8"))
index = {name: i for i, name in enumerate(model["choices"])}
assert list(module.CHOICES) == model["choices"]
assert list(module.FEATURES) == [feature["name"] for feature in model["features"]]


def shown(name):
    return "-" if name is None else str(index[name])


for line in sys.stdin:
    *fields, bits = line.rstrip("\n").split("\t")
    values = []
    for feature, field in zip(model["features"], fields):
        if feature["kind"] == "categorical":
            name = bytes.fromhex(field).decode()
            is_missing = name == "" and "" in model["categories"].get(feature["name"], [])
            values.append(None if is_missing else name)
        elif feature.get("integer"):
            values.append(int(field))
        else:
            number = struct.unpack(">d", bytes.fromhex(field))[0]
            is_missing = number != number and feature["name"] in model.get("missing", [])
            values.append(None if is_missing else number)
    named = dict(zip(module.PARAMETERS, values))
    offered = {choice for choice, bit in zip(model["choices"], bits) if bit == "1"}
    all_offered, some_offered = module.decide(**named), module.decide(*values, offered=offered)
    assert module.choose(**named) == all_offered.choice
    assert module.choose_among(offered, *values) == some_offered.choice
    for decision in (all_offered, some_offered):
        assert (decision.name is None) == (decision.choice is None) == (decision.reason is not None)
    ranking = module.ranked(*values)
    assert module.explain(*values)
    shares = "".join(f"{index[r.name]}:{struct.pack('>d', r.share).hex()}," for r in ranking)
    print(shown(all_offered.name), shown(some_offered.name), shares)
