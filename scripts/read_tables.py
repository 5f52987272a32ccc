#!/usr/bin/env python3
"""Reads the tables that `ah-codegen` wrote with the readers of the programs that they are for.

    python3 scripts/read_tables.py generated/fused_moe_vllm --source vllm-0.33.0
    python3 scripts/read_tables.py generated/fused_moe_sglang --source sglang-0.5.9
    python3 scripts/read_tables.py generated/a8w8_aiter --source amd_aiter-0.1.7 --cu-num 304

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
    """Returns functions of a module without importing it."""
    (file,) = source.glob(f"**/{path}")
    body = ast.parse(file.read_text()).body
    found = [part for part in body if isinstance(part, ast.FunctionDef) and part.name in names]
    assert {part.name for part in found} == set(names), f"{file} has not all of {', '.join(names)}"
    space = {"functools": functools, "json": json, "os": os, "__file__": str(file), "logger": MagicMock(), **vars(typing)}
    space.update(replaced)
    exec(compile(ast.Module(found, []), str(file), "exec"), space)
    return space


def sizes(file):
    """Returns the arguments that the file's name was made of, and the device."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what ah-codegen wrote; its name ends in vllm, sglang or aiter")
    parser.add_argument("--source", type=Path, required=True, help="the unpacked source of the program")
    parser.add_argument("--cu-num", type=int, help="AITER: compute units of the device that asks")
    options = parser.parse_args()
    target = options.folder.name.rpartition("_")[2]
    more = [options.cu_num] if target == "aiter" else []
    seen = list({"vllm": vllm, "sglang": sglang, "aiter": aiter}[target](options.source, options.folder, *more))
    wrong = [place for place, found, written in seen if not found or found != written]
    for place in wrong:
        print(f"{place}: not found, or read differently")
    rows = sum(len(written) if target != "aiter" else 1 for _, _, written in seen)
    print(f"{target}: {rows} rows in {len(seen)} look-ups, {len(wrong)} wrong")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
