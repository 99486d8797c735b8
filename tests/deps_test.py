#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each target names what its files include, and nothing more.

  tests/deps_test.py              checks the source tree
  tests/deps_test.py --selftest   shows that each fault is found

An include must be a file of the target itself or a header of one of its deps:
what some other dep brings along may be gone with it. A dep that no file of the
target includes costs build time and says what is not so.

A rule py_* of Bazel 4.2 runs a program `python`, which Debian 12 does not have:
sh_test and sh_binary run Python programs by their first line.
"""

import builtins
import pathlib
import re
import sys
import tempfile

FOLDERS = ["ocannl", "experiments", "tests"]
RULE_FOLDERS = FOLDERS + ["docs", "examples", "third_party", "tools"]
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)

# What the headers of a library start with, where no cc_library here has them.
LIBRARIES = {
    "//ocannl:ocannl": "ocannl/ocannl.h",  # of tool_and_library
    "@asmjit//:asmjit": "asmjit/",
    "@com_google_absl//:absl": "absl/",
    "@com_google_benchmark//:benchmark": ("benchmark/",),
    "@com_google_googletest//:gtest": ("gtest/", "gmock/"),
    "@com_google_googletest//:gtest_main": ("gtest/", "gmock/"),
    "@eigen//:eigen": ("Eigen/", "unsupported/Eigen/"),
    "@libdwarf//:libdwarf": "libdwarf/",
    "@libsodium//:sodium": "sodium.h",
    "@libzip//:zip": "zip.h",
    "@nlohmann_json//:json": "nlohmann/",
    "@xxhash//:xxhash": "xxhash.h",
    "@zlib//:zlib": "zlib.h",
}

# Deps that no include shows, and why.
EXCEPTIONS = {
    # They define what the header declares, once for each instruction set.
    ("//experiments/bench/peers:eigen_kernels",
     "//experiments/bench/peers:eigen_avx2"),
    ("//experiments/bench/peers:eigen_kernels",
     "//experiments/bench/peers:eigen_avx512"),
}


PYTHON_RULE = re.compile(r"\bpy_(?:binary|library|runtime|test)\b")


class Target:
    def __init__(self, package, args):
        def files(*names):
            return {f"{package}/{name}" for key in names
                    for name in args.get(key, [])}

        self.headers = files("hdrs", "textual_hdrs")
        self.files = self.headers | files("srcs") | {
            f"{package}/{test}.cc" for test in args.get("tests", [])}
        self.deps = [absolute(package, dep) for dep in args.get("deps", [])]


def absolute(package, label):
    """//a/b:b for //a/b, and for :b in the package a/b; @a//:a for @a."""
    if label.startswith(":"):
        return f"//{package}{label}"
    if label.startswith("@") and "/" not in label:
        return f"{label}//:{label[1:]}"
    return label if ":" in label else f"{label}:{label.rpartition('/')[2]}"


def targets_of(path, package):
    """The targets of the C++ rules of a BUILD file, by name."""
    found = {}

    def rule(**args):
        found[f"//{package}:{args['name']}"] = Target(package, args)

    class Names(dict):  # Starlark's; what is not C++ does not matter here
        def __missing__(self, name):
            ignore = lambda *args, **kwargs: []
            return vars(builtins).get(name, ignore)

    rules = Names(cc_binary=rule, cc_library=rule, cc_test=rule,
                  cc_test_group=rule)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), rules)
    return found


def faults(root):
    """Yields a message for each dep that is missing or unused."""
    targets = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("BUILD")):
            package = path.parent.relative_to(root).as_posix()
            targets.update(targets_of(path, package))
    owners = {header: name for name, target in targets.items()
              for header in target.headers}
    for name, target in targets.items():
        included = set()
        for file in target.files:
            if (root / file).suffix in (".h", ".cc", ".def"):
                text = (root / file).read_text(encoding="utf-8")
                included.update(INCLUDE.findall(text))
        seen = set(target.files)
        for dep in target.deps:
            if dep in LIBRARIES:
                headers = {i for i in included if i.startswith(LIBRARIES[dep])}
            elif dep in targets:
                headers = targets[dep].headers
            else:
                yield f"{name}: {dep} is no target of C++"
                continue
            seen |= headers
            if not headers & included and (name, dep) not in EXCEPTIONS:
                yield f"{name}: {dep} is not included; take it out of deps"
        for include in sorted(included - seen):
            if include.split("/")[0] in FOLDERS:
                owner = owners.get(include, "a target that has it")
                yield f"{name}: {include} is included; add {owner} to deps"


def python_rules(root):
    """Yields a message for each rule that needs a program `python`."""
    paths = []
    for pattern in ["BUILD", "*.BUILD", "*.bzl", "WORKSPACE"]:
        paths += root.glob(pattern)
        for folder in RULE_FOLDERS:
            paths += (root / folder).rglob(pattern)
    for path in sorted(paths):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            for rule in PYTHON_RULE.findall(line.partition("#")[0]):
                yield (f"{path.relative_to(root)}:{number}: {rule} needs a "
                       "program `python`, which Debian 12 does not have; use "
                       "sh_test or sh_binary")


def main():
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    found = list(faults(root))
    for fault in found:
        print(fault)
    print(f"{len(found)} deps are missing or unused")
    rules = list(python_rules(root))
    for rule in rules:
        print(rule)
    found += rules
    return 1 if found else 0


def selftest():
    """Triples of a rule of BUILD, what its file includes, and the fault."""
    missing = "is included; add "
    unused = "is not included; take it out"
    cases = [
        ('cc_library(name = "t", srcs = ["t.cc"])', "map", None),
        ('cc_library(name = "t", srcs = ["t.cc"], hdrs = ["t.h"])',
         "tests/t.h", None),
        ('[cc_test(name = n, srcs = [n + ".cc"], deps = ["//ocannl/a"])'
         ' for n in ["t"]]', "ocannl/a/a.h", None),
        ('cc_test(name = "t", srcs = ["t.cc"], deps = [":b"])',
         "tests/b.h", None),
        ('cc_test_group(name = "g", tests = {"t": {}}, deps = [":b"])',
         "ocannl/a/new.h", "//tests:b " + unused),
        ('cc_test_group(name = "g", tests = {"t": {}})',
         "ocannl/a/a.h", "a.h " + missing + "//ocannl/a:a"),
        ('cc_test(name = "t", srcs = ["t.cc"], deps = ["@eigen"])',
         "Eigen/Core", None),
        ('cc_test(name = "t", srcs = ["t.cc"], data = glob(["*.ll"]))',
         "ocannl/a/a.h", "a.h " + missing + "//ocannl/a:a"),
        ('cc_test(name = "t", srcs = ["t.cc"], deps = [":b"])',
         "ocannl/a/new.h", "//tests:b " + unused),
        ('cc_test(name = "t", srcs = ["t.cc"], deps = ["@eigen//:eigen"])',
         "map", "@eigen//:eigen " + unused),
        ('cc_test(name = "t", srcs = ["t.cc"], deps = ["//ocannl/a:c"])',
         "map", "//ocannl/a:c is no target"),
        ('[py_test(name = n, srcs = [n + ".py"]) for n in ["p"]]', "map",
         "tests/BUILD:3: py_test needs a program `python`"),
        ('load("@rules_python//python:defs.bzl", "py_binary")', "map",
         "tests/BUILD:3: py_binary needs"),
        ('# py_test(', "map", None),
        ('cc_test(name = "npy_test", srcs = ["t.cc"])', "map", None),
    ]
    for rule, include, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {
                "ocannl/a/BUILD": 'cc_library(name = "a", hdrs = ["a.h"])',
                "ocannl/a/a.h": "",
                "tests/BUILD":
                    'load("//tools:cc.bzl", "cc_library")\n'
                    'cc_library(name = "b", hdrs = ["b.h"])\n' + rule,
                "tests/b.h": '#include "tests/b.h"',
                "tests/t.h": "",
                "tests/t.cc": f'#include <map>\n # include "{include}"\n',
            }
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            found = [*faults(root), *python_rules(root)]
        if expected is None:
            assert not found, found
        else:
            assert any(expected in fault for fault in found), (rule, found)
    print(f"{len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(selftest() if "--selftest" in sys.argv else main())
