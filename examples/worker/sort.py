"""A worker: three ways to sort, measured by ah-collect. The protocol is in docs/workers.md."""
import heapq, json, random, sys, time


def insertion(numbers):
    done = []
    for x in numbers:
        at = len(done)
        while at and done[at - 1] > x:
            at -= 1
        done.insert(at, x)
    return done


CHOICES = {"builtin": sorted, "smallest": lambda numbers: heapq.nsmallest(len(numbers), numbers), "insertion": insertion}
numbers = []


def milliseconds(sort, runs):
    start = time.perf_counter()
    for _ in range(runs):
        sort(numbers)
    return (time.perf_counter() - start) * 1e3 / runs


for line in sys.stdin:
    request = json.loads(line)

    def answer(**fields):
        print(json.dumps({"id": request["id"], **fields}), flush=True)

    if request["request"] == "describe":
        answer(protocol=1, name="python_sort", choices=list(CHOICES), fallback=["builtin"], can=["check"],
               features=[{"name": "length", "kind": "numerical", "integer": True}],
               inputs={"length": {"from": 1, "to": 300}})
    elif request["request"] == "prepare":
        generator = random.Random(str(request["seed"]))
        numbers = [generator.random() for _ in range(request["context"]["length"])]
        answer()
    elif request["request"] == "check":
        for at, cell in enumerate(request["cells"]):
            wrong = {} if CHOICES[cell["choice"]](numbers) == sorted(numbers) else {"failed": "not sorted"}
            answer(cell=at, **wrong)
    elif request["request"] == "time":
        for at, cell in enumerate(request["cells"]):
            answer(cell=at, ms=[milliseconds(CHOICES[cell["choice"]], cell["runs"]) for _ in range(cell["samples"])])
