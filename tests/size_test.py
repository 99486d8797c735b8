#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the C++ of the project to its budgets and prints how it stands.

  tests/size_test.py              measures the source tree
  tests/size_test.py --selftest   shows that each budget can be exceeded
"""

import collections
import pathlib
import re
import statistics
import sys
import tempfile
import typing

FOLDERS = ["ocannl", "experiments", "tests"]


class Budget(typing.NamedTuple):
    limit: int
    aim: typing.Optional[int] = None  # for the median


BUDGETS = {
    "lines of a header": Budget(250, aim=90),
    "lines of a source": Budget(400, aim=180),
    "lines of a class": Budget(300),
    "lines of a function": Budget(60, aim=30),
    "columns": Budget(80),
    "columns of a table (.def)": Budget(120),
    "files of a folder": Budget(30, aim=20),
    "lines of ocannl/ but tests": Budget(82_753),
}


class Size(typing.NamedTuple):
    what: str  # a key of BUDGETS
    size: int
    place: str

    def over(self):
        return self.size > BUDGETS[self.what].limit


def blank(code):
    """The code without comments, literals and directives; lines stay put."""
    noise = re.compile(
        r'R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"'
        r'|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"  # but not 30'000
        r"|//[^\n]*"
        r"|/\*.*?\*/"
        r"|^[ ]*\#(?:\\\n|[^\n])*"  # with its continuation lines
        r"|^[ ]*(?:public|protected|private):",
        re.DOTALL | re.MULTILINE)
    return noise.sub(lambda match: "\n" * match[0].count("\n"), code)


def classify(head):
    """What the brace after `head` opens: a namespace, class, function, value."""
    head = re.sub(r"\boperator\s*(?:\(\)|[^\s\w(]+)", "operator", head)
    while (shorter := re.sub(r"<[^<>]*>", "", head)) != head:
        head = shorter  # template parameters have defaults and commas
    before_parenthesis = head.partition("(")[0]
    if re.search(r"\b(class|struct|union)\b", before_parenthesis):
        return "class"
    if re.search(r"\bnamespace\b|\bextern\s*$", before_parenthesis):
        return "namespace"
    return "function" if "(" in head.partition("=")[0] else "value"


SCOPES = ("namespace", "class")


def bodies(code):
    """Yields the kind, first and last line of each class and function body."""
    code = blank(code)
    line_of = lambda position: code.count("\n", 0, position) + 1
    open_braces = []  # pairs: what it opens, where its head starts
    head = 0
    for match in re.finditer(r"[{};]", code):
        at_scope = all(kind in SCOPES for kind, _ in open_braces)
        if match[0] == "{":
            kind = classify(code[head:match.start()]) if at_scope else "block"
            open_braces.append((kind, head))
            if kind in SCOPES:
                head = match.end()
        elif match[0] == "}":
            kind, start = open_braces.pop()
            if any(outer not in SCOPES for outer, _ in open_braces):
                continue
            if re.compile(r"\s*[,){]").match(code, match.end()):
                head = start  # a member's initialiser; the body is to come
                continue
            head = match.end()
            if kind in ("class", "function"):
                start += re.compile(r"\s*").match(code, start).end() - start
                yield kind, line_of(start), line_of(match.start())
        elif at_scope:
            head = match.end()


def file_sizes(path, name):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if lines:
        widths = [len(line) for line in lines]
        table = " of a table (.def)" if path.suffix == ".def" else ""
        widest = max(widths)
        yield Size("columns" + table, widest,
                   f"{name}:{widths.index(widest) + 1}")
    if path.suffix == ".def":
        return
    kind = "header" if path.suffix == ".h" else "source"
    yield Size(f"lines of a {kind}", len(lines), name)
    for what, first, last in bodies(text):
        yield Size(f"lines of a {what}", last - first + 1, f"{name}:{first}")


def tree_sizes(root):
    """Every size that has a budget."""
    files_of = collections.Counter()
    total = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc", ".def"):
                continue
            name = str(path.relative_to(root))
            yield from file_sizes(path, name)
            if name.endswith("_test.cc") or path.name.startswith("test_"):
                continue
            files_of[str(path.relative_to(root).parent)] += 1
            # The fuzzer is a test that users can run.
            if folder == "ocannl" and not name.startswith("ocannl/fuzz/"):
                total += len(path.read_text(encoding="utf-8").splitlines())
    for folder, count in files_of.items():
        yield Size("files of a folder", count, folder)
    yield Size("lines of ocannl/ but tests", total, "ocannl")


def print_table(sizes):
    print(f"{'':27}{'count':>6}{'median':>7}{'aim':>5}{'most':>7}{'limit':>7}")
    for what, budget in BUDGETS.items():
        found = [size for size in sizes if size.what == what]
        if not found:
            continue
        median = statistics.median_high(size.size for size in found)
        most = max(found, key=lambda size: size.size)
        print(f"{what:27}{len(found):6}{median:7}{budget.aim or '':>5}"
              f"{most.size:7}{budget.limit:7}  {most.place}")


def main():
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    sizes = list(tree_sizes(root))
    print_table(sizes)
    over = [size for size in sizes if size.over()]
    for size in over:
        print(f"{size.place}: {size.size} {size.what}; "
              f"the limit is {BUDGETS[size.what].limit}")
    return 1 if over else 0


def function_of(lines, head="void F() {"):
    return head + "\n" + "  G();\n" * (lines - 2) + "}\n"


def in_class(code):
    return ("namespace n {\nclass C : public D<int> {\n public:\n" + code +
            "};\n}\n")


def selftest():
    """Pairs of a tree of files and the budgets that it exceeds."""
    function = "lines of a function"
    share = "\n" * (BUDGETS["lines of ocannl/ but tests"].limit // 100)
    long_table = "int t[] = {\n" + "  F(1),\n" * 70 + "};\n"
    cases = [
        ({"ocannl/a.h": "//\n" * 250}, []),
        ({"ocannl/a.h": "//\n" * 251}, ["lines of a header"]),
        ({"tests/a.cc": "//\n" * 400}, []),
        ({"tests/a_test.cc": "//\n" * 401}, ["lines of a source"]),
        ({"ocannl/a.cc": "/" * 80}, []),
        ({"ocannl/a.cc": "/" * 81}, ["columns"]),
        ({"ocannl/a.def": "/" * 120}, []),
        ({"ocannl/a.def": "/" * 121}, ["columns of a table (.def)"]),
        ({f"experiments/{i}.cc": "" for i in range(30)}, []),
        ({f"experiments/{i}.cc": "" for i in range(31)}, ["files of a folder"]),
        ({f"experiments/{i}_test.cc": "" for i in range(31)}, []),
        ({f"experiments/test_{i}.h": "" for i in range(31)}, []),
        ({f"ocannl/f{i}/a.def": share for i in range(100)}, []),
        ({f"ocannl/f{i}/a.def": share + "\n" for i in range(100)},
         ["lines of ocannl/ but tests"]),
        ({f"ocannl/fuzz/f{i}/a.def": share + "\n" for i in range(100)}, []),
        ({"ocannl/a.cc": long_table + function_of(60) * 2}, []),
        ({"ocannl/a.cc": long_table + function_of(61)}, [function]),
        ({"ocannl/a.cc": in_class(function_of(60) * 2)}, []),
        ({"ocannl/a.cc": in_class(function_of(53) * 5 + "\n" * 32)}, []),
        ({"ocannl/a.cc": in_class(function_of(53) * 5 + "\n" * 33)},
         ["lines of a class"]),
    ]
    for head in [
            "template <typename T = A<B>>\nauto F(T t = {}) -> V<T> {",
            "bool operator==(const A& a, const B& b) {",
            "C() : a_{1}, b_(2) {",
            "TEST(A, B) {  // }}",
            'void F() { s = "}"; t = R"x(}})x"; c = \'}\'; n = 3\'0;',
            "#define M(x) { \\\n  x\nvoid F() {",
    ]:
        cases.append(({"ocannl/a.cc": function_of(58, head)}, []))
        cases.append(({"ocannl/a.cc": function_of(64, head)}, [function]))
        cases.append(({"ocannl/a.cc": in_class(function_of(64, head))},
                      [function]))
    for files, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            sizes = tree_sizes(pathlib.Path(folder))
            over = [size.what for size in sizes if size.over()]
            assert over == expected, f"{over} != {expected} for {list(files)}"
    print(f"{len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(selftest() if "--selftest" in sys.argv else main())
