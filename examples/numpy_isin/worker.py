"""A worker: the ways of numpy.isin, measured by ah-collect. The protocol is in docs/workers.md."""
import json
import sys
from timeit import repeat

from isin import ELIGIBLE, FEATURES, WAYS, arrays, draw, forced, milliseconds, np

# The milliseconds of `ar1.size`, as numpy's function reads it. It has the range of the tests already.
READ = min(repeat("a.size", "import numpy; a = numpy.zeros(1)", repeat=50, number=10_000)) / 10
functions = {way: forced(way) for way in WAYS}
data = ()

for line in sys.stdin:
    request = json.loads(line)

    def answer(**fields):
        print(json.dumps({"id": request["id"], **fields}), flush=True)

    if request["request"] == "describe":
        answer(protocol=1, name="isin", choices=WAYS, fallback=["today"], can=["draw", "check"],
               eligible=ELIGIBLE, feature_ms={name: 0.0 if name == "span" else READ for name in FEATURES},
               features=[{"name": name, "kind": "numerical", "integer": True} for name in FEATURES])
    elif request["request"] == "draw":
        answer(context=draw(np.random.default_rng(request["seed"])))
    elif request["request"] == "prepare":
        data = arrays(request["context"], np.random.default_rng(request["seed"]))
        answer()
    elif request["request"] == "check":
        expected = functions["today"](*data)
        for at, cell in enumerate(request["cells"]):
            same = np.array_equal(functions[cell["choice"]](*data), expected)
            answer(cell=at, **({} if same else {"failed": "another result than numpy's"}))
    elif request["request"] == "time":
        for at, cell in enumerate(request["cells"]):
            run = lambda: functions[cell["choice"]](*data)
            answer(cell=at, ms=[milliseconds(run, cell["runs"]) for _ in range(cell["samples"])])
