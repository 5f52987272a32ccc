"""A worker that misbehaves as its first argument says; the second one is the most cells of a request."""
import json, os, subprocess, sys, time

MODE, BATCH = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
CHOICES = ["good", "bad", "late", "slow"]
DESCRIPTION = {
    "protocol": 1, "name": "fake_worker", "choices": CHOICES, "fallback": ["good"], "batch": BATCH, "simulated": True,
    "features": [{"name": "size", "kind": "numerical", "integer": True}, {"name": "kind", "kind": "categorical"}],
    "inputs": {"size": {"from": 1, "to": 100000}, "kind": ["a", "b"]}, "can": ["check", "release"],
    "timing": {"max_samples": 6, "target_relative_error": 0.0, "early_stop_ratio": 5.0},
}
CHANGES = {
    "100000 choices": {"choices": [f"BLOCK={i}_warps=x{i}" for i in range(100000)]},
    "one choice": {"choices": ["good"]},
    "twins": {"choices": ["good", "good"]},
    "choices of two lines": {"choices": ["good", "b\nad"]},
    "no features": {"features": [], "inputs": {}},
    "feature twins": {"features": [{"name": "size", "kind": "numerical"}] * 2},
    "features of text": {"features": "size"},
    "an unknown kind": {"features": [{"name": "size", "kind": "integer"}]},
    "an unknown fallback": {"fallback": ["best"]},
    "an unreadable condition": {"eligible": {"bad": "size <"}},
    "timing of text": {"timing": {"max_samples": "many"}},
    "timing of nothing": {"timing": {"max_samples": 0}},
    "inputs of another feature": {"inputs": {"length": [1]}},
    "version 2": {"protocol": 2},
    "no inputs": {"inputs": {}},
    "more choices": {"choices": CHOICES + ["more"]},
    "impossible times": {"simulated": False},
    "impossible times of two threads": {"simulated": False, "threads": 2},
    "two threads": {"simulated": False, "threads": 2},
    "two threads on the wall clock": {"simulated": False},
    "stops the best": {"timing": {"early_stop_ratio": 0.5}},
    "many die": {"choices": CHOICES + [f"bad{i}" for i in range(55)]},
    "a negative feature_ms": {"feature_ms": {"size": -1.0}},
    "an unknown feature_ms": {"feature_ms": {"length": 1.0}},
    "a feature called choice": {"features": [{"name": "choice", "kind": "numerical"}], "inputs": {}},
    "changed commands": {"commands_hash": "2"},
    "well": {"commands_hash": "1", "decision_ns": {"python": 210.0}},
    "copies": {"simulated": False},
    "jumps": {"simulated": False},
    "seconds": {"simulated": False},
    "fields": {"choices": ["BLOCK=64_warps=4", "BLOCK=x_warps=inf", "BLOCK=_warps=1e400", "good"], "fallback": ["good"]},
}
if MODE == "contexts of text":
    DESCRIPTION.update(inputs={}, can=["draw"])
if MODE in ("draws by the process", "draws by the clock", "draws by its count", "draws a fraction"):
    DESCRIPTION.update(inputs={}, can=["draw", "check"])
if MODE == "describes itself anew":
    DESCRIPTION["description"] = f"process {os.getpid()}"
if MODE == "choices by the device" and os.environ.get("CUDA_VISIBLE_DEVICES") == "1":
    DESCRIPTION["choices"] = CHOICES[::-1]
if MODE == "records":
    DESCRIPTION["can"] = ["check", "compile", "release", "accept"]
DESCRIPTION.update(CHANGES.get(MODE, {}))


def say(text, end="\n"):
    sys.stdout.write(text + end)
    sys.stdout.flush()


def restarted():
    """Whether a process before this one died."""
    if os.path.exists("died"):
        return True
    open("died", "w").close()
    return False


def misbehave(ask, at):
    """Fields of the answer, or does something worse."""
    answer = lambda **fields: say(json.dumps({"id": ask["id"], **fields}))
    if MODE in ("dies once", "dies once and then has another fallback", "dies for good"):
        if not restarted():
            os._exit(7)
    if MODE == "many die" and size % 2 == 1:
        os._exit(7)
    if MODE == "always fails":
        return {"failed": f"no, size {size}"}
    if MODE == "counts its starts":
        os._exit(7)
    if MODE in ("unmeasured", "memory is held"):
        return {"unmeasured": "the card is throttled"}
    if MODE == "a time and a failure":
        return {"ms": [1.0] * ask["cells"][at]["samples"], "failed": "no"}
    if MODE == "a key twice":
        say('{"id": %d, "cell": %d, "cell": %d, "ms": [1.0]}' % (ask["id"], at, at))
    if MODE in ("copies", "jumps", "seconds"):
        count = ask["cells"][at]["samples"]
        time.sleep(0.03 if count > 1 else 0.001)
        if count == 1:
            return {"ms": [1e-6]}
        ms = [(1e-6 if MODE == "seconds" else 1e-4) * (1 + 0.01 * i) for i in range(count)]
        if MODE == "jumps":
            ms = [x / 100 if i % 2 else x for i, x in enumerate(ms)]
        return {"ms": [1e-4] * count if MODE == "copies" else ms}
    if MODE == "dies":
        sys.stderr.write("first words\nlast words\n")
        sys.stderr.flush()
        os._exit(7)
    if MODE == "leaves a process":
        subprocess.Popen(["sleep", "30"], start_new_session=True)
        os._exit(7)
    if MODE == "dies once and then offers other choices":
        restarted()
        os._exit(7)
    if MODE == "closes its output":
        os.close(1)
        time.sleep(1000)
    if MODE == "hangs and says who":
        with open("pid.new", "w") as file:
            file.write(str(os.getpid()))
        os.rename("pid.new", "pid")
    if MODE in ("hangs", "hangs and says who"):
        time.sleep(1000)
    if MODE == "hangs after half a line":
        say('half a line {"id": 1', end="")
        time.sleep(1000)
    if MODE == "garbage":
        say('{"id": nonsense')
    if MODE == "half a line":
        say('{"id": ' + str(ask["id"]), end="")
        os._exit(0)
    if MODE == "a long line":
        say('{"id": "' + "x" * (17 << 20))
    if MODE == "another id":
        say(json.dumps({"id": ask["id"] - 1, "cell": at, "ms": [1.0]}))
    if MODE == "no id":
        say(json.dumps({"cell": at, "ms": [1.0]}))
    if MODE == "another cell":
        answer(cell=99, ms=[1.0])
    if MODE == "no cell":
        answer(ms=[1.0])
    if MODE == "another answer":
        return {"context": {"size": 1}}
    if MODE == "too few times":
        return {"ms": []}
    if MODE == "times of text":
        return {"ms": ["fast"] * 9}
    if MODE == "a negative time":
        return {"ms": [-1.0] * ask["cells"][at]["samples"]}
    if MODE == "not a number":
        return {"ms": [float("nan")]}
    if MODE.startswith("two threads"):
        time.sleep(0.003)
        return {"ms": [3.0 * 1.6 / ask["cells"][at]["samples"]] * ask["cells"][at]["samples"]}
    if MODE == "works for ever":
        while True:
            time.sleep(0.01)
            answer(working="still")
    if MODE == "a long reason":
        return {"failed": "x" * 3_000_000}
    if MODE.startswith("impossible times"):
        return {"ms": [1e9] * ask["cells"][at]["samples"]}
    if MODE == "lost":
        return {"lost": "an illegal address"}
    if MODE == "floods standard output":
        for i in range(5000):
            say(f"noise {i}")
        say("half a line ", end="\n")
    if MODE == "floods standard error":
        sys.stderr.write("x" * (20 << 20))
    if MODE == "works for long":
        for i in range(8):
            time.sleep(0.1)
            answer(working=f"{i} of 8")
    if MODE == "says for long that it is alive" and not os.path.exists("said"):
        open("said", "w").close()
        for _ in range(52):
            time.sleep(0.1)
            answer(working="")
    return None


size, requests, draws = 0.0, 0, 0
for line in sys.stdin:
    ask = json.loads(line)
    name = ask["request"]

    def answer(**fields):
        say(json.dumps({"id": ask["id"], **fields}))

    if MODE == "records" and name in ("compile", "prepare"):
        with open("requests.jsonl", "a") as file:
            file.write(line)
    if name == "describe":
        if MODE == "says nothing":
            sys.exit(3)
        if MODE == "counts its starts":
            with open("starts", "a") as file:
                file.write("x")
        if MODE == "describes a key twice":
            say(f'{{"id": {ask["id"]}, "fallback": [], {json.dumps(DESCRIPTION)[1:]}')
            continue
        if MODE == "cannot begin":
            answer(failed="no device")
            continue
        if MODE == "dies for good" and os.path.exists("died"):
            sys.exit(3)
        if MODE == "dies once and then has another fallback" and os.path.exists("died"):
            DESCRIPTION["fallback"] = ["slow"]
        if MODE == "dies once and then offers other choices" and os.path.exists("died"):
            DESCRIPTION["choices"] = CHOICES[::-1]
        answer(**DESCRIPTION)
    elif name == "draw":
        draws += 1
        drawn = {"draws by the process": os.getpid() * 1000 + ask["seed"][1], "draws a fraction": 1.5 + ask["seed"][1],
                 "draws by the clock": time.time_ns() // 1000, "draws by its count": draws}
        answer(context={"size": drawn.get(MODE, "large"), "kind": "a"})
    elif name == "prepare":
        size = ask["context"]["size"]
        if MODE == "always dies":
            os._exit(1)
        if MODE == "prepares for ever":
            while True:
                time.sleep(0.01)
                answer(working="still")
        if MODE == "memory is held" and size % 2 == 0:
            answer(unmeasured="another program holds the memory")
            continue
        if MODE == "skips inputs" and size % 2 == 0:
            answer(skipped="even")
        else:
            answer()
    elif name == "check":
        for at, cell in enumerate(ask["cells"]):
            answer(cell=at, **({"failed": "wrong result"} if cell["choice"] == "late" and MODE == "wrong" else {}))
    elif name == "time":
        requests += 1
        if MODE == "dies and starts slowly" and requests <= 2:
            time.sleep(0.3)
        for at, cell in enumerate(ask["cells"]):
            if MODE == "dies and starts slowly" and cell["choice"] == "slow":
                os._exit(7)
            fields = misbehave(ask, at) if cell["choice"].startswith("bad") or MODE == "always fails" else None
            factor = {"slow": 10.0, "late": 1.5}.get(cell["choice"], 1.0)
            honest = 1e-6 if not DESCRIPTION["simulated"] else size * factor * 1e-3
            answer(cell=at, **(fields or {"ms": [honest] * cell["samples"]}))
    else:
        answer()
