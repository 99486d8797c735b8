#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the library and uses it as programs do that Bazel does not build:
the C++ of README.md, as it stands there, by pkg-config, and the examples by
pkg-config and CMake."""

import os
import pathlib
import re
import shutil
import subprocess

TEMP = pathlib.Path(os.environ["TEST_TMPDIR"])
PREFIX = TEMP / "usr"
STRICT = ["-Wall", "-Wextra", "-Werror"]


def run(*command, **options):
    """What the command prints; its errors go to the log."""
    return subprocess.run([str(part) for part in command], check=True,
                          stdout=subprocess.PIPE, text=True, **options).stdout


def pkg_config(option):
    return run("pkg-config", option, "ocannl", env={
        **os.environ, "PKG_CONFIG_PATH": str(PREFIX / "lib/pkgconfig")}).split()


def readme_runs():
    """Each ```cpp block is a program."""
    readme = pathlib.Path("README.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```cpp\n(.*?)^```$", readme,
                          re.DOTALL | re.MULTILINE)
    assert programs, "README.md has no program"
    for k, text in enumerate(programs):
        program = TEMP / f"readme_{k}"
        program.with_suffix(".cc").write_text(text, encoding="utf-8")
        run("g++", *STRICT, program.with_suffix(".cc"), "-o", program,
            *pkg_config("--cflags"), *pkg_config("--libs"))
        losses = [float(word) for word in run(program).split()]
        assert len(losses) >= 2 and losses[-1] < losses[0] / 2, losses


def examples_build():
    """A copy of them elsewhere, by pkg-config and by CMake."""
    copy, build = TEMP / "copy", TEMP / "build"
    shutil.copytree("examples", copy)
    run("g++", *STRICT, copy / "xor.cc", "-o", copy / "xor",
        *pkg_config("--cflags"), *pkg_config("--libs"))
    assert run(copy / "xor").count(" xor ") == 4
    run("cmake", "-S", copy, "-B", build, f"-DCMAKE_PREFIX_PATH={PREFIX}",
        "-DCMAKE_CXX_FLAGS=" + " ".join(STRICT))
    run("cmake", "--build", build, "--parallel", "2")
    assert run(build / "xor").count(" xor ") == 4
    for name in ("checkpoint", "digits"):
        ran = subprocess.run([build / name, TEMP / "nofile.npz"], check=False,
                             stderr=subprocess.PIPE, text=True)
        assert ran.returncode == 1 and "nofile.npz" in ran.stderr, ran


def internals_stay_out():
    """A header that ocannl.h does not need is not installed."""
    names = {path.name for path in (PREFIX / "include").rglob("*.*")}
    assert "ocannl.h" in names and "tensor.h" in names, names
    for name in ["check.h", "command_line.h", "lexer.h", "input.h", "lower.h"]:
        assert name not in names, name


def main():
    # Into a folder that was made before, with a header of an older version.
    old = PREFIX / "include/ocannl/old.h"
    old.parent.mkdir(parents=True)
    old.touch()
    run("./install", f"--prefix={PREFIX}")
    assert not old.exists()
    internals_stay_out()
    readme_runs()
    examples_build()


if __name__ == "__main__":
    main()
