#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the library and uses it as programs do that Bazel does not build:
the C++ of README.md, as it stands there, by pkg-config, all that
docs/first_network.md tells to do, and the examples by pkg-config and CMake,
with the archive and the shared library. A minute and a half."""

import os
import pathlib
import re
import shutil
import subprocess

TEMP = pathlib.Path(os.environ["TEST_TMPDIR"])
PREFIX = TEMP / "ocannl"
STRICT = ["-Wall", "-Wextra", "-Werror"]


def run(*command, **options):
    """What the command prints; its errors go to the log."""
    return subprocess.run([str(part) for part in command], check=True,
                          stdout=subprocess.PIPE, text=True, **options).stdout


def pkg_config(option, package="ocannl"):
    return run("pkg-config", option, package, env={
        **os.environ, "PKG_CONFIG_PATH": str(PREFIX / "lib/pkgconfig")}).split()


def numbers_in(text):
    return [float(word) for word in re.findall(r"-?\d[\w.+-]*", text)]


def readme_runs():
    """Its C++ is a program that learns XOR."""
    readme = pathlib.Path("README.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```cpp\n(.*?)^```$", readme,
                          re.DOTALL | re.MULTILINE)
    assert len(programs) == 1, "README.md has no program, or several"
    program = TEMP / "readme"
    program.with_suffix(".cc").write_text(programs[0], encoding="utf-8")
    run("g++", *STRICT, program.with_suffix(".cc"), "-o", program,
        *pkg_config("--cflags"), *pkg_config("--libs"))
    answers = numbers_in(run(program))
    assert [round(answer) for answer in answers] == [0, 1, 1, 0], answers


def steps_of(page):
    """Yields what a page of Markdown says to do, in order: ("file", name) of a
    text that follows, ("shell", lines), and fenced blocks by language."""
    kind, lines = "", []
    for line in page.splitlines():
        if kind in ("", "shell") and re.match(r"    (export|g\+\+|\./)", line):
            kind = "shell"
            lines.append(line.strip())
        elif kind == "shell":
            yield kind, "\n".join(lines)
            kind, lines = "", []
        elif line.startswith("```"):
            if kind:
                yield kind, "\n".join([*lines, ""])
            kind, lines = line[3:] if not kind else "", []
        elif kind:
            lines.append(line)
        elif match := re.search(r"`(\w+\.cc)`:$", line):
            yield "file", match[1]


def check_printed(printed, said):
    """The same words, and numbers that are nearly the same."""
    got, wanted = printed.split(), said.split()
    assert len(got) == len(wanted), printed
    for one, other in zip(got, wanted):
        near = numbers_in(one) and numbers_in(other) and abs(
            numbers_in(one)[0] - numbers_in(other)[0]) < 0.05
        assert one == other or near, printed


def first_network_runs():
    """A user who does all that the page says, in a new folder."""
    page = pathlib.Path("docs/first_network.md").read_text(encoding="utf-8")
    folder = TEMP / "first_network"
    folder.mkdir()
    exports, name, printed, checked = "", None, "", 0
    for kind, text in steps_of(page):
        if kind == "file":
            name = text
        elif kind == "python":
            run("python3", "-c", text, cwd=folder)
        elif kind == "cpp":
            (folder / name).write_text(text, encoding="utf-8")
            body = text.partition("int main() {\n")[2].splitlines()[:-1]
            assert 0 < len([line for line in body if line]) <= 30, name
        elif kind == "text":
            check_printed(printed, text)
            checked += 1
        elif "bazelw" not in text:  # main has installed it
            printed = run("bash", "-ec", exports + text, cwd=folder,
                          env={**os.environ, "HOME": str(TEMP)})
            exports += "".join(line + "\n" for line in text.splitlines()
                               if line.startswith("export"))
    assert checked == 2, checked


def examples_build():
    """A copy of them elsewhere, by pkg-config and by CMake."""
    copy, build = TEMP / "copy", TEMP / "build"
    shutil.copytree("examples", copy)
    run("g++", *STRICT, "-c", copy / "xor.cc", "-o", copy / "xor.o",
        *pkg_config("--cflags"))
    run("g++", copy / "xor.o", "-o", copy / "xor", *pkg_config("--libs"))
    assert run(copy / "xor").count(" xor ") == 4
    run("cmake", "-S", copy, "-B", build, f"-DCMAKE_PREFIX_PATH={PREFIX}",
        "-DCMAKE_CXX_FLAGS=" + " ".join(STRICT))
    run("cmake", "--build", build, "--parallel", "2")
    assert run(build / "xor").count(" xor ") == 4
    assert "difference from QR" in run(build / "least_squares")
    for name in ("checkpoint", "digits"):
        ran = subprocess.run([build / name, TEMP / "nofile.npz"], check=False,
                             stderr=subprocess.PIPE, text=True)
        assert ran.returncode == 1 and "nofile.npz" in ran.stderr, ran


def shared_library_runs():
    """Linked with libocannl.so by pkg-config and CMake, a program is the same.
    Others than its own libraries of Abseil are not in it."""
    program, build = TEMP / "xor_shared", TEMP / "build_shared"
    run("g++", TEMP / "copy/xor.o", "-o", program,
        *pkg_config("--libs", "ocannl-shared"), f"-Wl,-rpath,{PREFIX}/lib")
    printed = run(program)
    assert printed == run(TEMP / "copy/xor"), printed
    assert printed.count(" xor ") == 4
    needs = run("readelf", "-d", program)
    assert "libocannl.so.0" in needs and "libabsl_status" in needs, needs
    project = TEMP / "shared_project"
    project.mkdir()
    shutil.copy("examples/xor.cc", project)
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(xor CXX)\n"
        "find_package(ocannl REQUIRED)\nadd_executable(xor xor.cc)\n"
        "target_link_libraries(xor ocannl::shared)\n", encoding="utf-8")
    run("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={PREFIX}")
    run("cmake", "--build", build)
    assert run(build / "xor") == printed


def only_public_symbols():
    """libocannl.so shows what the headers have, and nothing of the engine."""
    names = run("nm", "-DC", "--defined-only", PREFIX / "lib/libocannl.so")
    symbols = [line.split(" ", 2)[2] for line in names.splitlines()]
    assert any("ocannl::ParseTensor(" in name for name in symbols)
    for name in symbols:
        assert "ocannl::" in name, name
        assert not re.search(
            r"^(vtable for |typeinfo (name )?for )?"
            r"ocannl::(jit|cuda|gpu|rewrite|emulation|cli)::", name), name


def version_is_that_of_the_changelog():
    page = pathlib.Path("CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)$", page, re.MULTILINE)[1]
    for package in ("ocannl", "ocannl-shared"):
        assert pkg_config("--modversion", package) == [newest], package


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
    version_is_that_of_the_changelog()
    internals_stay_out()
    readme_runs()
    first_network_runs()
    examples_build()
    shared_library_runs()
    only_public_symbols()


if __name__ == "__main__":
    main()
