#!/usr/bin/env python3
"""Makes the files of a program from a table of `ah-train table`, and reads them by the program's own reader.

    python3 scripts/read_tables.py fused_moe_table.json --reader vllm --source vllm-0.33.0 --given E=8 --given N=14336 --out configs
    python3 scripts/read_tables.py fused_moe_table.json --reader sglang --source sglang-0.5.9 --given E=8 --given N=14336 --out configs
    python3 scripts/read_tables.py a8w8_table.json --reader aiter --source amd_aiter-0.1.7 --given cu_num=304 --given N=1536 --given K=7168 --out configs

The source is the unpacked sdist or wheel; it need not be installed. The readers' own functions run as they stand there; only
the device that they ask for and the module's logger are replaced. Fails where a reader does not find a file, or reads
something else than is written.
"""

import argparse
import ast
import functools
import json
import os
import re
import shutil
import sys
import tempfile
import typing
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

NAME = re.compile(r"E=(\d+),N=(\d+),device_name=([^,]+)(?:,dtype=(\w+))?(?:,block_shape=\[(\d+), ?(\d+)\])?(,per_channel_quant=True)?")


def functions(source, path, names, **replaced):
    """Functions of a module without importing it."""
    (file,) = source.glob(f"**/{path}")
    body = ast.parse(file.read_text()).body
    found = [part for part in body if isinstance(part, ast.FunctionDef) and part.name in names]
    assert {part.name for part in found} == set(names), f"{file} has not all of {', '.join(names)}"
    space = {"functools": functools, "json": json, "os": os, "__file__": str(file), "logger": MagicMock(), **vars(typing)}
    space.update(replaced)
    exec(compile(ast.Module(found, []), str(file), "exec"), space)
    return space


def sizes(file):
    """The arguments that the file's name was made of, and the device."""
    e, n, device, dtype, rows, columns, per_channel = NAME.match(file.stem).groups()
    return [int(e), int(n), dtype, int(rows or 0), int(columns or 0)], bool(per_channel), device


def vllm(source, folder):
    for file in sorted(folder.glob("E=*.json")):
        arguments, _, device = sizes(file)
        reader = functions(
            source,
            "fused_moe/fused_moe.py",
            ["get_config_file_name", "get_moe_configs"],
            get_device_name_as_file_name=lambda device=device: device,
            envs=SimpleNamespace(VLLM_BATCH_INVARIANT=False, VLLM_TUNED_CONFIG_FOLDER=str(folder)),
        )
        yield file, reader["get_moe_configs"](*arguments), by_tokens(file)


def sglang(source, folder):
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder, Path(place, "configs", "triton_3_4_0"))
        os.environ["SGLANG_MOE_CONFIG_DIR"] = place
        for file in sorted(folder.glob("E=*.json")):
            arguments, per_channel, device = sizes(file)
            reader = functions(
                source,
                "fused_moe_triton/fused_moe_triton_config.py",
                ["get_config_file_name", "get_moe_configs"],
                get_device_name=lambda device=device: device.replace("_", " "),
                get_global_server_args=lambda: SimpleNamespace(enable_deterministic_inference=False),
                triton=SimpleNamespace(__version__="3.4.0"),
            )
            yield file, reader["get_moe_configs"](*arguments, per_channel), by_tokens(file)


def aiter(source, folder, cu_num):
    import pandas

    file = folder / "tuned_gemm.csv"
    reader = functions(
        source,
        "ops/gemm_op_a8w8.py",
        ["get_CKGEMM_config"],
        pd=pandas,
        get_cu_num=lambda: cu_num,
        get_padded_m=lambda m, n, k, level: m,
        _CKGEMM_CONFIG_CACHE=None,
        AITER_LOG_TUNED_CONFIG=False,
    )
    for row in pandas.read_csv(file).to_dict("records"):
        found = reader["get_CKGEMM_config"](row["M"], row["N"], row["K"], str(file)) or {}
        kernel = ("libtype", "kernelId", "splitK")
        yield f"{file}: M={row['M']}", {key: found.get(key) for key in kernel}, {key: row.get(key) for key in kernel}


def by_tokens(file):
    return {int(tokens): configuration for tokens, configuration in json.loads(file.read_text()).items()}


def write(reader, rows, given, out):
    """Writes the program's files."""
    tables = {}
    for row in rows:
        values = {**given, **{key.lower() if key not in "EMNK" else key: value for key, value in row["features"].items()}}
        size = {key: int(float(values[key])) for key in "EMNK" if key in values}
        if reader == "aiter":
            keys = [key for key in ("gfx", "cu_num", "M", "N", "K", "q_dtype_w") if key in values]
            kernel = {key: row["config"][key] for key in ("libtype", "kernelId", "splitK") if key in row["config"]}
            line = {**{key: size.get(key, values[key]) for key in keys}, **kernel, "us": f"{row['ms'] * 1e3:.4f}"}
            tables.setdefault("tuned_gemm.csv", []).append(line)
            continue
        device = values.get("device_name", "NVIDIA_H200").replace(" ", "_")
        name = f"E={size['E']},N={size['N']},device_name={device}"
        name += f",dtype={values['dtype']}" if "dtype" in values else ""
        if "block_shape" in values:
            shape = values["block_shape"].replace(" ", "")
            name += f",block_shape={shape if reader == 'vllm' else shape.replace(',', ', ')}"
        name += ",per_channel_quant=True" if reader == "sglang" and values.get("per_channel_quant") == "True" else ""
        tables.setdefault(f"{name}.json", {})[str(size["M"])] = row["config"]
    out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        if name.endswith(".csv"):
            lines = [",".join(table[0])] + [",".join(map(str, line.values())) for line in table]
            (out / name).write_text("\n".join(lines) + "\n")
        else:
            (out / name).write_text(json.dumps(table, indent=4) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="the file that ah-codegen wrote")
    parser.add_argument("--reader", required=True, choices=["vllm", "sglang", "aiter"])
    parser.add_argument("--source", type=Path, help="the unpacked source of the program; without it the files are only written")
    parser.add_argument("--given", action="append", default=[], help="COLUMN=VALUE that the log does not have; may be repeated")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the program's files")
    options = parser.parse_args()
    given = dict(pair.split("=", 1) for pair in options.given)
    write(options.reader, json.loads(options.table.read_text())["rows"], given, options.out)
    if options.source is None:
        return 0
    more = [int(given["cu_num"])] if options.reader == "aiter" else []
    seen = list({"vllm": vllm, "sglang": sglang, "aiter": aiter}[options.reader](options.source, options.out, *more))
    wrong = [place for place, found, written in seen if not found or found != written]
    for place in wrong:
        print(f"{place}: not found, or read differently")
    rows = sum(len(written) if options.reader != "aiter" else 1 for _, _, written in seen)
    print(f"{options.reader}: {rows} rows in {len(seen)} look-ups, {len(wrong)} wrong")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
