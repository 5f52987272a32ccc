#!/usr/bin/env python3
"""Hours until a large fleet has measured everything: one static shard a device, and shards that free devices claim.

    scripts/fleet_simulation.py

1,000 devices in nodes of 8, and 8 hours of work for each device. 1 % of the nodes are lost in an hour and come back
after one hour; 5 % of the devices take three times as long. A shard of a lost node goes on from the lines that it sent:
a static one when its node is back, a claimed one on the next free device.
"""

import heapq
import random
import statistics

DEVICES, PER_NODE, HOURS = 1000, 8, 8.0
LOST_PER_HOUR, BACK_AFTER = 0.01, 1.0
SLOW_SHARE, SLOWER = 0.05, 3.0


def simulate(shards: int, seed: int, static: bool) -> tuple[float, float]:
    """The hours until all shards are done, and the share of device hours that did nothing until then."""
    rng = random.Random(seed)
    pace = [SLOWER if rng.random() < SLOW_SHARE else 1.0 for _ in range(DEVICES)]
    # Events in order of time: (hour, serial number, device, what happens).
    events: list[tuple[float, int, int, str]] = []
    serial = iter(range(1 << 60))
    at = lambda hour, device, what: heapq.heappush(events, (hour, next(serial), device, what))  # noqa: E731
    for node in range(0, DEVICES, PER_NODE):
        at(rng.expovariate(LOST_PER_HOUR), node, "lost")
    queue = [DEVICES * HOURS / shards] * shards  # Hours left of each shard, on a device of the usual pace.
    running: dict[int, tuple[float, float]] = {}  # device: (start, hours left)
    kept: dict[int, float] = {}  # Static: the shard of a device waits for its node.
    up = [True] * DEVICES
    done, worked = 0, 0.0

    def start(device: int, hour: float) -> None:
        left = kept.pop(device, None) if static else None
        if left is None and queue and not (static and (hour > 0.0)):
            left = queue.pop()
        if left is not None:
            running[device] = (hour, left)
            at(hour + left * pace[device], device, f"done {hour}")

    for device in range(DEVICES):
        start(device, 0.0)
    while True:
        hour, _, device, what = heapq.heappop(events)
        if what.startswith("done"):
            if device not in running or what != f"done {running[device][0]}":
                continue  # Of an attempt that was lost.
            began, _ = running.pop(device)
            worked, done = worked + hour - began, done + 1
            if done == shards:
                return hour, 1.0 - worked / (hour * DEVICES)
            start(device, hour)
        for member in range(device, min(device + PER_NODE, DEVICES)):
            if what == "lost":
                up[member] = False
                if member in running:
                    began, left = running.pop(member)
                    worked += hour - began
                    left -= (hour - began) / pace[member]
                    if static:
                        kept[member] = left
                    else:
                        queue.append(left)
            if what == "back":
                up[member] = True
                start(member, hour)
        if what == "lost":
            at(hour + BACK_AFTER, device, "back")
            at(hour + BACK_AFTER + rng.expovariate(LOST_PER_HOUR), device, "lost")
        # A lost shard goes to whoever is free.
        for free in range(DEVICES) if queue and not static and what in ("lost", "back") else ():
            if up[free] and free not in running and queue:
                start(free, hour)


def main() -> None:
    print(f"{'shards':>22}  {'hours, median':>13}  {'worst of 20':>11}  {'device hours idle':>17}")
    for shards, static in ((DEVICES, True), (DEVICES, False), (4 * DEVICES, False), (16 * DEVICES, False)):
        found = [simulate(shards, seed, static) for seed in range(20)]
        hours, idle = zip(*found)
        name = f"{shards} {'static' if static else 'claimed'}"
        print(f"{name:>22}  {statistics.median(hours):>13.1f}  {max(hours):>11.1f}  {statistics.mean(idle):>17.0%}")


if __name__ == "__main__":
    main()
