#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no program calls std::filesystem in a form that throws.

  tests/filesystem_test.py              checks the source tree
  tests/filesystem_test.py --selftest   shows that each fault is found

What a user has on the disk, such as a link to itself, ends a program that calls
such a form. The others take a std::error_code last, which is called `error` or
`gone`. Tests may throw.
"""

import pathlib
import re
import sys

FOLDERS = ["examples", "experiments", "ocannl", "tools"]
CALL = re.compile(r"\bfilesystem::(\w+)\s*(\w*)\(")
# Types and functions that do nothing on the disk.
PURE = {"path", "file_time_type", "file_type", "perms", "copy_options"}
CODES = ("error", "gone")
RANGE_FOR = re.compile(r"\bfor\s*\([^;()]*[^:;]:[^:;][^;()]*directory_iterator\b")
STEP = re.compile(r"directory_iterator\s+(\w+)\(")
# Of a directory_entry; status() is absl's as well.
ENTRY = re.compile(
    r"(?:\.|->)(exists|file_size|hard_link_count|is_block_file|"
    r"is_character_file|is_directory|is_fifo|is_other|is_regular_file|"
    r"is_socket|is_symlink|last_write_time|refresh|symlink_status)\(\s*\)")
ALIAS = re.compile(r"namespace\s+\w+\s*=\s*(?:std::)?filesystem\b|"
                   r"using\s[^;]*\bfilesystem\b")


def arguments(text, start):
    """What is between the parenthesis before `start` and its other end."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[start:end - 1]


def faults_of(text):
    """Yields a place in the text and a message for each form that throws."""
    if "filesystem::" not in text and "<filesystem>" not in text:
        return
    text = re.sub(r"//.*", lambda comment: " " * len(comment[0]), text)
    for call in CALL.finditer(text):
        last = arguments(text, call.end()).split(",")[-1].strip()
        if call[1] not in PURE and last not in CODES:
            yield call.start(), f"{call[1]} throws; give a std::error_code"
    for loop in RANGE_FOR.finditer(text):
        yield loop.start(), "++ throws; use increment(error)"
    for name in set(STEP.findall(text)):
        for step in re.finditer(rf"\+\+{name}\b|\b{name}\+\+", text):
            yield step.start(), "++ throws; use increment(error)"
    for entry in ENTRY.finditer(text):
        yield entry.start(), f"{entry[1]} throws; give a std::error_code"
    for alias in ALIAS.finditer(text):
        yield alias.start(), "write std::filesystem, which this test looks for"


def main():
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    count = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if (path.suffix not in (".h", ".cc", ".def") or
                    path.name.endswith("_test.cc")):
                continue
            text = path.read_text(encoding="utf-8")
            for place, message in faults_of(text):
                line = text.count("\n", 0, place) + 1
                print(f"{path.relative_to(root)}:{line}: {message}")
                count += 1
    print(f"{count} calls throw")
    return 1 if count else 0


def selftest():
    """Pairs of code and a part of the message."""
    cases = [
        ("std::filesystem::exists(path, error);", None),
        ("std::filesystem::exists(path);", "exists throws"),
        ("std::filesystem::copy_file(a, At(b, 1), error);", None),
        ("std::filesystem::create_directories(At(b,\n 1));",
         "create_directories throws"),
        ("std::filesystem::path(a).stem();", None),
        ("const std::filesystem::path path = a;", None),
        ("std::filesystem::file_type::regular", None),
        ("for (std::filesystem::directory_iterator at(d, error), end;"
         " !error && at != end; at.increment(error)) {}", None),
        ("for (std::filesystem::directory_iterator at(d, error), end;"
         " at != end; ++at) {}", "++ throws"),
        ("for (const auto& e :\n std::filesystem::directory_iterator(d, error))",
         "++ throws"),
        ("std::filesystem::recursive_directory_iterator at(d);",
         "recursive_directory_iterator throws"),
        ("if (entry.is_regular_file()) {}", "is_regular_file throws"),
        ("if (at->file_size(error) > 1) {}", None),
        ("if (read.status().ok()) {}", None),
        ("namespace fs = std::filesystem;", "write std::filesystem"),
        ("using std::filesystem::exists;", "write std::filesystem"),
        ("// std::filesystem::exists(path)", None),
    ]
    for code, expected in cases:
        found = [message for _, message in
                 faults_of("#include <filesystem>\n" + code)]
        if expected is None:
            assert not found, (code, found)
        else:
            assert any(expected in message for message in found), (code, found)
    print(f"{len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(selftest() if "--selftest" in sys.argv else main())
