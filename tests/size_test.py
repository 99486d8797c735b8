#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the C++ of the project to its budgets and prints how it stands.

  tests/size_test.py              measures the source tree
  tests/size_test.py --selftest   shows that each budget can be exceeded

Each room of the engine has a limit of lines. A commit that raises a limit does
nothing else, and its message says what the lines buy.
"""

import collections
import pathlib
import re
import statistics
import sys
import tempfile
import typing

FOLDERS = ["ocannl", "experiments", "python", "tests"]
# Folders that have rooms: their subfolders.
HOUSES = ("ocannl", "python")


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
    "classes over 250 lines": Budget(7),
}
BIG_CLASS = 250

# Lines of the files in each folder of ocannl/, ocannl/core and python/, with
# their subfolders but without tests. The files that lie in `ocannl` and `ocannl/core`
# themselves are rooms too.
ROOMS = {
    "ocannl": 1_550,
    "ocannl/cli": 2_550,
    "ocannl/core": 660,
    "ocannl/core/analysis": 1_600,
    "ocannl/core/assign": 4_370,
    "ocannl/core/base": 4_860,
    "ocannl/core/cd": 1_350,
    "ocannl/core/codegen": 800,
    "ocannl/core/index": 1_350,
    "ocannl/core/loop": 3_950,
    "ocannl/core/notation": 4_650,
    "ocannl/core/ops": 3_645,
    "ocannl/core/opt": 2_660,
    "ocannl/core/runtime": 4_170,
    "ocannl/core/schedule": 12_100,
    "ocannl/core/shape": 4_275,
    "ocannl/core/tensor": 5_760,
    "ocannl/core/tiering": 3_400,
    "ocannl/cuda": 2_900,
    "ocannl/emulation": 1_200,
    "ocannl/flags": 900,
    "ocannl/fuzz": 9_960,
    "ocannl/interp": 1_700,
    "ocannl/jit": 11_770,
    "ocannl/onnx": 8_420,
    "ocannl/tiers": 1_300,
    "ocannl/train": 20_900,
    "ocannl/tune": 2_350,
    "python/native": 3_590,
    "python/tests": 60,
}

# They test the engine, as users can too.
TEST_ROOMS = ("ocannl/emulation", "ocannl/fuzz")

# Why a source has more than 400 lines, by its path, or a class more than 300, by
# `path:Class`: it would be split only to fit.
REASONS = {
    "ocannl/cli/explain_command.cc": "one list: a maker for each stage",
    "ocannl/core/assign/gradient.cc": "one class: what reaches each operand",
    "ocannl/core/assign/build.cc": "one class: the code of each source",
    "ocannl/core/assign/gradient.cc:Backprop":
        "one class: the gradient of each source",
    "ocannl/core/notation/statements/statements.cc:StatementParser":
        "one grammar: of statements",
    "ocannl/core/runtime/context.cc": "one class: who may write which array",
    "ocannl/core/tensor/graph.cc": "one class: the nodes and their names",
    "tests/front_door/traps_test.cc": "one list: slips of a first program",
}
MAY_HAVE_REASONS = ("lines of a source", "lines of a class")


class Size(typing.NamedTuple):
    what: str  # a key of BUDGETS, or "lines of a room"
    size: int
    place: str
    name: str = ""  # path of a source, path:Class of a class

    def limit(self):
        if self.what == "lines of a room":
            return ROOMS.get(self.place, 0)
        return BUDGETS[self.what].limit

    def over(self):
        return self.size > self.limit()

    def reason(self):
        if self.what in MAY_HAVE_REASONS:
            return REASONS.get(self.name)


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


def without_templates(head):
    """Template parameters have defaults, commas and the word `class`."""
    while (shorter := re.sub(r"<[^<>]*>", "", head)) != head:
        head = shorter
    return head


def classify(head):
    """What the brace after `head` opens: a namespace, class, function, value."""
    head = re.sub(r"\boperator\s*(?:\(\)|[^\s\w(]+)", "operator", head)
    head = without_templates(head)
    before_parenthesis = head.partition("(")[0]
    if re.search(r"\b(class|struct|union)\b", before_parenthesis):
        return "class"
    if re.search(r"\bnamespace\b|\bextern\s*$", before_parenthesis):
        return "namespace"
    return "function" if "(" in head.partition("=")[0] else "value"


def class_name(head):
    found = re.search(r"\b(?:class|struct|union)\s+(?:alignas\s*\([^)]*\)\s*)?"
                      r"(?:\w+::)*(\w+)", without_templates(head))
    return found[1] if found else ""


SCOPES = ("namespace", "class")


def bodies(code):
    """Yields kind, name, first and last line of classes and functions."""
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
                name = ""
                if kind == "class":
                    name = class_name(code[start:code.index("{", start)])
                yield kind, name, line_of(start), line_of(match.start())
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
    yield Size(f"lines of a {kind}", len(lines), name, name)
    for what, own, first, last in bodies(text):
        yield Size(f"lines of a {what}", last - first + 1, f"{name}:{first}",
                   f"{name}:{own}")


def room_of(folder):
    """The first folder below a house, the second below ocannl/core."""
    parts = pathlib.PurePath(folder).parts
    return "/".join(parts[:3 if parts[1:2] == ("core",) else 2])


def tree_sizes(root):
    """Every size that has a budget."""
    files_of = collections.Counter()
    lines_of = collections.Counter()
    sizes = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc", ".def"):
                continue
            name = str(path.relative_to(root))
            sizes += file_sizes(path, name)
            if name.endswith("_test.cc") or path.name.startswith("test_"):
                continue
            parent = str(path.relative_to(root).parent)
            files_of[parent] += 1
            if folder in HOUSES:
                lines_of[room_of(parent)] += len(
                    path.read_text(encoding="utf-8").splitlines())
    sizes += [Size("files of a folder", count, folder)
              for folder, count in files_of.items()]
    sizes += [Size("lines of a room", count, room)
              for room, count in lines_of.items()]
    big = [size for size in sizes
           if size.what == "lines of a class" and size.size > BIG_CLASS]
    sizes.append(Size("classes over 250 lines", len(big), "in all"))
    return sizes


def faults(sizes):
    """A message for each size over its limit, each reason without one."""
    for size in sizes:
        if size.over() and not size.reason():
            yield (f"{size.place}: {size.size} {size.what}; "
                   f"the limit is {size.limit()}")
    needed = {size.name for size in sizes
              if size.over() and size.what in MAY_HAVE_REASONS}
    for name in REASONS:
        if name not in needed:
            yield f"{name}: it is within the limit; take its reason out"
    rooms = {size.place for size in sizes if size.what == "lines of a room"}
    for room in ROOMS:
        if room not in rooms:
            yield f"{room}: there is no such room; take its limit out"


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


def print_rooms(sizes):
    print(f"\n{'room':27}{'lines':>6}{'limit':>7}  largest class")
    for room in sorted((size for size in sizes
                        if size.what == "lines of a room"),
                       key=lambda size: size.place):
        classes = [size for size in sizes if size.what == "lines of a class"
                   and room_of(pathlib.PurePath(size.place).parent) ==
                   room.place and "_test.cc" not in size.place]
        most = max(classes, key=lambda size: size.size, default=None)
        print(f"{room.place:27}{room.size:6}{room.limit():7}  "
              f"{f'{most.size} {most.name}' if most else ''}")
    print(f"{'the engine without tests':27}" + str(sum(
        size.size for size in sizes if size.what == "lines of a room"
        and size.place.startswith("ocannl")
        and size.place not in TEST_ROOMS)).rjust(6))
    print(f"\nclasses over {BIG_CLASS} lines")
    for size in sizes:
        if size.what == "lines of a class" and size.size > BIG_CLASS:
            print(f"{size.size:6}  {size.name}")


def main():
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    sizes = tree_sizes(root)
    print_table(sizes)
    print_rooms(sizes)
    for size in sizes:
        if size.over() and size.reason():
            print(f"warning: {size.place}: {size.size} {size.what}: "
                  f"{size.reason()}")
    found = list(faults(sizes))
    for fault in found:
        print(fault)
    return 1 if found else 0


def function_of(lines, head="void F() {"):
    return head + "\n" + "  G();\n" * (lines - 2) + "}\n"


def in_class(code):
    return ("namespace n {\nclass C : public D<int> {\n public:\n" + code +
            "};\n}\n")


def selftest():
    """Returns how many trees of files exceed the budgets that they should."""
    function = "lines of a function"
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
        over = [size.what for size in sizes_of(files)
                if size.over() and size.what != "lines of a room"]
        assert over == expected, f"{over} != {expected} for {list(files)}"
    return len(cases) + selftest_of_tables()


def sizes_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tree_sizes(pathlib.Path(folder))


def selftest_of_tables():
    """Limits of rooms, reasons, and how many classes may be big."""
    part = "//\n" * 100
    big_class = ("class A {\n" + "  int a;\n" * 249 + "};\n")
    room = {"ocannl/b/a.h": part}
    long_source = {"tests/a.cc": "//\n" * 401}
    long_class = {"tests/a.cc": "struct alignas(8) A : B<struct C> {\n" +
                                "  int a;\n" * 299 + "};\n"}
    many = {f"tests/{i}.cc": big_class
            for i in range(BUDGETS["classes over 250 lines"].limit + 1)}
    excess = "the limit is 400"
    cases = [  # files, limits of rooms, reasons, part of each message
        (room, {"ocannl/b": 100}, {}, []),
        (room, {"ocannl/b": 99}, {}, ["100 lines of a room; the limit is 99"]),
        (room, {}, {}, ["ocannl/b: 100 lines of a room; the limit is 0"]),
        (room, {"ocannl/b": 100, "ocannl/c": 9}, {}, ["no such room"]),
        (room | {"ocannl/b/c/a.cc": part, "ocannl/b/a_test.cc": part,
                 "ocannl/b/test_a.h": part, "tests/b/a.cc": part},
         {"ocannl/b": 200}, {}, []),
        ({"ocannl/a.h": part, "ocannl/core/a.h": part,
          "ocannl/core/b/c/a.def": part},
         {"ocannl": 100, "ocannl/core": 650, "ocannl/core/b": 100}, {}, []),
        (long_source, {}, {}, [excess]),
        (long_source, {}, {"tests/a.cc": "a table"}, []),
        (long_source, {}, {"tests/b.cc": "a table"}, [excess, "tests/b.cc: it"]),
        ({"python/b/a.h": part}, {"python/b": 99}, {},
         ["python/b: 100 lines of a room; the limit is 99"]),
        ({}, {}, {"tests/a.cc": "a table"}, ["tests/a.cc: it is within"]),
        (long_class, {}, {}, ["301 lines of a class; the limit is 300"]),
        (long_class, {}, {"tests/a.cc:A": "one state"}, []),
        ({"tests/a.h": "//\n" * 251}, {}, {"tests/a.h": "a table"},
         ["the limit is 250", "tests/a.h: it is within"]),
        (many, {}, {}, ["classes over 250 lines; the limit"]),
        (dict(list(many.items())[1:]), {}, {}, []),
    ]
    for files, rooms, reasons, expected in cases:
        for table, entries in (ROOMS, rooms), (REASONS, reasons):
            table.clear()
            table.update(entries)
        found = list(faults(sizes_of(files)))
        assert len(found) == len(expected) and all(
            part in fault for part, fault in zip(expected, found)), (
                f"{found} != {expected} for {list(files)}")
    return len(cases)


if __name__ == "__main__":
    if "--selftest" in sys.argv:
        print(f"{selftest()} cases")
    else:
        sys.exit(main())
