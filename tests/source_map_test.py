#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/source_map.md to the names and tests that it tells of.

  tests/source_map_test.py              every name exists, every test passes
  tests/source_map_test.py --selftest   shows that each fault is found

A row names a test, or a suite of them, of a file of tests. Bazel builds the
programs of these files, since tests/BUILD names them in the test's `data`.
They run with a filter for the tests of the rows, two programs at a time.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FEWEST_ROWS = 50  # a table that does not parse must not pass
PROGRAMS_AT_ONCE = 2
# By these, Bazel tells a test of its own filter, shard and report.
VARIABLES_OF_BAZEL = ("GTEST_", "TESTBRIDGE_", "TEST_SHARD", "TEST_TOTAL_",
                      "XML_OUTPUT_FILE")


def has_word(path, word):
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", path.read_text())


def table_rows(root):
    """The cells of each row."""
    for line in (root / "docs/source_map.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) >= 4 and "/" in cells[2]:
            yield cells


def errors(root):
    """What is wrong with the table, a line each."""
    found = []
    rows = 0
    for cells in table_rows(root):
        rows += 1
        test, _, name = cells[3].partition(": ")
        for path, word in ((cells[2], cells[1]), (test, name)):
            if not (root / path).is_file():
                found.append(f"{cells[0]}: there is no {path}")
            elif not word or not has_word(root / path, word):
                found.append(f"{cells[0]}: {path} does not have `{word}`")
        if len(cells) != 5 or not cells[4]:
            found.append(f"{cells[0]}: the row does not say what is there")
    if rows < FEWEST_ROWS:
        found.append(f"only {rows} rows")
    return found


def run_errors(source, names, programs):
    """What is wrong with the tests `names` of the file `source`."""
    program = (programs / source).with_suffix("")
    if not program.is_file():
        return [f"{source}: its program is not here; tests/BUILD must name it "
                "in the data of source_map_test"]
    # Tests with parameters are called A/Suite.Test/0, and Suite/0.Test.
    patterns = [pattern.replace("N", name) for name in sorted(names)
                for pattern in ("*.N", "*.N/*", "N.*", "*/N.*", "N/*")]
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(VARIABLES_OF_BAZEL)}
        environment["TEST_TMPDIR"] = folder
        run = subprocess.run(
            [program.absolute(), "--gtest_filter=" + ":".join(patterns)],
            cwd=programs, env=environment, capture_output=True, text=True,
            errors="replace")
    if run.returncode != 0:
        return [f"{source}: exit code {run.returncode} of\n"
                f"{run.stdout[-2000:]}{run.stderr[-2000:]}"]
    passed = set()
    for full_name in re.findall(r"^\[       OK \] ([^ ,]+)", run.stdout, re.M):
        passed.update(re.split(r"[./]", full_name))
    return [f"{source}: no test {name} passed; it may be disabled or skipped"
            for name in sorted(names - passed)]


def all_run_errors(root, programs):
    tests = collections.defaultdict(set)
    for cells in table_rows(root):
        source, _, name = cells[3].partition(": ")
        tests[source].add(name)
    with concurrent.futures.ThreadPoolExecutor(PROGRAMS_AT_ONCE) as pool:
        found = pool.map(lambda item: run_errors(*item, programs),
                         sorted(tests.items()))
        return [error for some in found for error in some]


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("docs", "ocannl", "tests"):
            (root / name).mkdir()
        (root / "ocannl/a.h").write_text("void Forward();\n")
        (root / "tests/a_test.cc").write_text("TEST(A, Goes) {}\n")
        row = "| forward | Forward | ocannl/a.h | tests/a_test.cc: Goes | it |"
        page = root / "docs/source_map.md"
        page.write_text("\n".join([row] * FEWEST_ROWS))
        assert not errors(root), errors(root)
        page.write_text("\n".join([row] * (FEWEST_ROWS - 1)))
        assert len(errors(root)) == 1
        for good, bad in (("| Forward |", "| Forwards |"),
                          ("a.h", "b.h"), ("a_test", "b_test"),
                          (": Goes", ": Runs"), (": Goes", ""),
                          ("| it |", "| |"), ("| it |", "|")):
            rows = [row] * FEWEST_ROWS + [row.replace(good, bad)]
            page.write_text("\n".join(rows))
            assert len(errors(root)) == 1, bad
        page.write_text(row)
        selftest_runs(root)


def selftest_runs(root):
    """Of a page with one row, whose program is a script."""
    program = root / "tests/a_test"
    assert "tests/BUILD" in all_run_errors(root, root)[0]
    for line, code, passes in (
            ("[       OK ] A.Goes (0 ms)", 0, True),
            ("[       OK ] All/A.Goes/x86 (0 ms)", 0, True),
            ("[       OK ] Goes.Far (0 ms)", 0, True),
            ("[       OK ] Goes/0.Far, where T = int (0 ms)", 0, True),
            ("[       OK ] A.Goes (0 ms)", 1, False),
            ("[       OK ] A.GoesFar (0 ms)", 0, False),
            ("[       OK ] A.DISABLED_Goes (0 ms)", 0, False),
            ("[  SKIPPED ] A.Goes (0 ms)", 0, False),
            ("0 tests ran.", 0, False)):
        program.write_text(f"#!/bin/sh\necho '{line}'\nexit {code}\n")
        program.chmod(0o755)
        assert (not all_run_errors(root, root)) == passes, line
    program.write_text("#!/bin/sh\n[ -z \"$XML_OUTPUT_FILE\" ] || exit 1\n"
                       "echo '[       OK ] A.Goes (0 ms)' $TEST_TMPDIR\n")
    os.environ["XML_OUTPUT_FILE"] = "report.xml"
    assert not all_run_errors(root, root)


def main():
    if "--selftest" in sys.argv[1:]:
        return selftest()
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    found = errors(root) + all_run_errors(root, pathlib.Path("."))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
