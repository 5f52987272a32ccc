"""A worker: scikit-learn's algorithms for nearest neighbors, measured by ah-collect. The protocol is in docs/workers.md."""
import json
import sys

from neighbors import ALGORITHMS, FEATURES, draw, milliseconds, np, points, search

context, data, expected = {}, (), None

for line in sys.stdin:
    request = json.loads(line)

    def answer(**fields):
        print(json.dumps({"id": request["id"], **fields}), flush=True)

    if request["request"] == "describe":
        answer(protocol=1, name="nearest_neighbors", choices=ALGORITHMS, fallback=["auto"], can=["draw", "check"],
               features=[{"name": name, "kind": "numerical", "integer": True} for name in FEATURES])
    elif request["request"] == "draw":
        answer(context=draw(np.random.default_rng(request["seed"])))
    elif request["request"] == "prepare":
        context, expected = request["context"], None
        data = points(context, np.random.default_rng(request["seed"]))
        answer()
    elif request["request"] == "check":
        for at, cell in enumerate(request["cells"]):
            found = search(cell["choice"], context, data)[0]
            expected = found if expected is None else expected
            near = np.allclose(found, expected, rtol=1e-6, atol=1e-5)
            answer(cell=at, **({} if near else {"failed": "other distances than auto's"}))
    elif request["request"] == "time":
        for at, cell in enumerate(request["cells"]):
            run = lambda: search(cell["choice"], context, data)
            answer(cell=at, ms=[milliseconds(run, cell["runs"]) for _ in range(cell["samples"])])
