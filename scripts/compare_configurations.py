#!/usr/bin/env python3
"""Judges LightGBM on a dense log of many Triton configurations. A quarter of the shapes, drawn by the seed, is held out.

    pip install numpy lightgbm
    python3 scripts/compare_configurations.py LOG [--seed 0]

One row for each shape and configuration, the log slowdown as the target, with the numbers of the shape, the fields of the
configuration, and tile counts, their products and the fill of the last tile, which are given by hand.
"""

import argparse
import csv
import gzip
import json
import random
import re
import time

import lightgbm
import numpy as np

TILED = {"M": "BLOCK_M", "N": "BLOCK_N", "K": "BLOCK_K"}


def read(path):
    """Returns the shapes with their texts, the fields of the configurations, and the times of each of both."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        names = json.loads(file.readline())["numerical_features"]
        shapes, texts, choices, rows = {}, [], {}, []
        for row in csv.DictReader(file):
            shape = shapes.setdefault(tuple(float(row[name]) for name in names), len(shapes))
            if shape == len(texts):
                texts.append(",".join(row[name] for name in names))
            rows.append((shape, choices.setdefault(row["choice"], len(choices)), float(row["feedback"])))
    times = np.full((len(shapes), len(choices)), np.inf)
    for shape, choice, feedback in rows:
        times[shape, choice] = min(times[shape, choice], feedback)
    fields = [dict(re.findall(r"_?([A-Za-z_]+?)=(\d+)", choice)) for choice in choices]
    keys = sorted(fields[0])
    return names, np.array(list(shapes)), texts, {key: np.array([float(f[key]) for f in fields]) for key in keys}, times


def columns(names, shapes, fields):
    """Returns a row for each shape and configuration."""
    count = len(next(iter(fields.values())))
    shape = {name: np.repeat(shapes[:, at], count) for at, name in enumerate(names)}
    field = {key: np.tile(values, len(shapes)) for key, values in fields.items()}
    tiles = {name: np.ceil(shape[name] / field[key]) for name, key in TILED.items() if name in shape and key in field}
    fill = [shape[name] / (tiles[name] * field[TILED[name]]) for name in tiles]
    products = [tiles[a] * tiles[b] for a in tiles for b in tiles if a < b]
    products += [shape[a] * shape[b] for a in shape for b in shape if a < b]
    return np.stack([*shape.values(), *field.values(), *tiles.values(), *fill, *products], axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("log")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    names, shapes, texts, fields, times = read(args.log)
    order = sorted(texts)
    random.Random(args.seed).shuffle(order)
    held_out = np.isin(texts, order[: len(order) // 4])
    slowdown = np.log(times / times.min(axis=1, keepdims=True))
    start = time.time()
    target = 0.2 * (1 - np.exp(-slowdown[~held_out] / 0.2))
    model = lightgbm.LGBMRegressor(
        n_estimators=400, num_leaves=63, learning_rate=0.08, subsample=0.8, subsample_freq=1, colsample_bytree=0.7, verbose=-1
    )
    model.fit(columns(names, shapes[~held_out], fields), target.ravel())
    predicted = model.predict(columns(names, shapes[held_out], fields)).reshape(-1, times.shape[1])
    lost = slowdown[held_out, :][np.arange(held_out.sum()), predicted.argmin(axis=1)]
    best = slowdown[~held_out].mean(axis=0).argmin()
    print(f"LightGBM: {np.exp(lost.mean()):.4f} ({np.exp(lost.max()):.2f} at worst), {time.time() - start:.1f} s")
    print(f"best single: {np.exp(slowdown[held_out, best].mean()):.4f}")


if __name__ == "__main__":
    main()
