#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of examples/python, and the cells of the notebook. 30
seconds."""

import json
import os
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path("examples/python")
# What each program prints, among other things.
EXPECTED = {
    "digits.py": r"(9\d|100)% of 200 other images are right",
    "letters.py": r"the quick brown fox jumps over the",
    "look_inside.py": r"cd, (.|\n)*relu(.|\n)*for i(.|\n)*zmm|ymm",
    "resume.py": r"([0-9a-f]{16}) \1",
    "xor.py": r"\[0\. 1\.\] -> (0\.9|1\.0)",
}


def run(*command):
    ran = subprocess.run(
        [sys.executable, *command], check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": os.path.abspath("python")})
    assert ran.returncode == 0, (command, ran.stdout)
    return ran.stdout


assert {path.name for path in FOLDER.glob("*.py")} == set(EXPECTED)
for name, pattern in EXPECTED.items():
    printed = run(FOLDER / name)
    assert re.search(pattern, printed), (name, printed)

notebook = json.loads((FOLDER / "tour.ipynb").read_text(encoding="utf-8"))
cells = ["".join(cell["source"]) for cell in notebook["cells"]
         if cell["cell_type"] == "code"]
assert len(cells) == 4
# Jupyter shows the value of a cell's last line.
run("-c", "import ast, sys\nscope = {}\n"
    "for text in sys.argv[1:]:\n"
    "    cell = ast.parse(text)\n"
    "    last = cell.body.pop() if isinstance(cell.body[-1], ast.Expr) else None\n"
    "    exec(compile(cell, 'cell', 'exec'), scope)\n"
    "    if last: repr(eval(compile(ast.Expression(last.value), 'cell', 'eval'), scope))\n",
    *cells)
