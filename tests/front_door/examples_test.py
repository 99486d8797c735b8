#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of examples/ and looks at what they print."""

import json
import os
import pathlib
import re
import struct
import subprocess
import zipfile

FOLDER = pathlib.Path("examples")
TEMP = pathlib.Path(os.environ["TEST_TMPDIR"])


def run(name, *arguments):
    """What the example prints."""
    return subprocess.run([FOLDER / name, *arguments], check=True,
                          capture_output=True, text=True).stdout


def write_safetensors(path, arrays):
    """`arrays`: name, dtype, shape and bytes of each."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, dtype, shape, values in arrays:
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def xor_learns():
    printed = run("xor")
    answers = re.findall(r"^(\d) xor (\d) = +(\S+)$", printed, re.MULTILINE)
    assert len(answers) == 4, printed
    for a, b, answer in answers:
        assert abs(float(answer) - (a != b)) < 0.01, printed


def least_squares_are_found():
    printed = run("least_squares")
    numbers = [float(word) for word in re.findall(r"-?\d[\d.e-]*", printed)]
    assert len(numbers) == 7 and numbers[-1] < 1e-4, printed


def digits_are_told_apart():
    path = TEMP / "digits.npz"
    # Debian's Python is the one that has Debian's NumPy.
    subprocess.run(["/usr/bin/python3", FOLDER / "make_digits.py", path],
                   check=True)
    with zipfile.ZipFile(path) as archive:
        right = struct.unpack("<100i", archive.read("answers.npy")[-400:])
    answers = [int(word) for word in run("digits", path).split()]
    assert len(answers) == len(right), answers
    hits = sum(a == b for a, b in zip(answers, right))
    assert hits >= 95, (hits, answers, right)


def checkpoint_of_pytorch_runs():
    # |a - b| of bits: relu(a - b) + relu(b - a), and something to add.
    path = TEMP / "model.safetensors"
    arrays = [
        ("net.0.bias", "F32", [2], floats(0, 0.5)),
        ("net.0.weight", "F32", [2, 2], floats(1, -1, -1, 1)),
        ("net.2.bias", "F32", [1], floats(0.25)),
        ("net.2.weight", "F32", [1, 2], floats(1, 2)),
        ("optimizer.step", "I64", [], struct.pack("<q", 7)),
        ("scales", "I16", [2], struct.pack("<hh", 1, 2)),
    ]
    write_safetensors(path, arrays)
    assert run("checkpoint", path) == """\
net.0.bias: f32[2]
net.0.weight: f32[2, 2]
net.2.bias: f32[1]
net.2.weight: f32[1, 2]
optimizer.step: i64[]
scales: dtype unknown
net(0, 1) =  3.25
"""
    write_safetensors(path, arrays[1:])
    failed = subprocess.run([FOLDER / "checkpoint", path], text=True,
                            capture_output=True, check=False)
    assert failed.returncode == 1, failed
    assert "it has no `net.0.bias`" in failed.stderr, failed


def programs_are_short():
    for path in sorted(FOLDER.glob("*.cc")):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 40, f"{path} has {lines} lines"


def main():
    xor_learns()
    least_squares_are_found()
    digits_are_told_apart()
    checkpoint_of_pytorch_runs()
    programs_are_short()


if __name__ == "__main__":
    main()
