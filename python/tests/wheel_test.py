#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel in a new virtual environment: pip installs it, and a program of
examples/python runs outside of the source tree. 20 seconds."""

import os
import pathlib
import subprocess
import sys

TEMP = pathlib.Path(os.environ["TEST_TMPDIR"])
XOR = pathlib.Path("examples/python/xor.py").resolve()


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True,
                          stdout=subprocess.PIPE, text=True, **options).stdout


said = run("python/wheel", "0.0.1", "python/ocannl", TEMP / "wheels")
first = next((TEMP / "wheels").iterdir())
assert str(first) in said, said
assert "0.0.1+debian" in first.name, first
bytes_of_first = first.read_bytes()
run("python/wheel", "0.0.1", "python/ocannl", TEMP / "wheels")
assert first.read_bytes() == bytes_of_first, "equal files, other bytes"

run(sys.executable, "-m", "venv", "--system-site-packages", TEMP / "env")
python = TEMP / "env/bin/python"
run(python, "-m", "pip", "install", "--no-index", "--no-deps", first)
environment = {name: value for name, value in os.environ.items()
               if name != "PYTHONPATH"}
printed = run(python, XOR, cwd=TEMP, env=environment)
assert printed.count("->") == 4, printed
where = run(python, "-c", "import ocannl; print(ocannl.__file__)", cwd=TEMP,
            env=environment)
assert str(TEMP / "env") in where, where
run(python, "-m", "pip", "uninstall", "--yes", "ocannl")
