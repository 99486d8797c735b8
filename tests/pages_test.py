#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds README.md and the pages of docs/ to the programs that they tell of.

  tests/pages_test.py              names, flags and commands are true
  tests/pages_test.py --selftest   shows that each fault is found

Commands are lines in code, and inline code, that begin with `bazel run`,
`./bazelw run` or `mpirun`. Their targets must exist, and their programs must
have the flags. Commands of the tool are run, those of a page in one folder; an
error that follows one must be what the tool prints. `...` and words of capital
letters such as DIR stand for what the reader has. 5 seconds.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

TOOL = "//ocannl"
# Programs whose flags are in the pages, and where Bazel puts them.
PROGRAMS = {
    TOOL: "ocannl/ocannl",
    "//experiments:bench": "experiments/bench/bench_main",
    "//experiments:cifar_conv": "experiments/cifar_conv",
    "//experiments:digits": "experiments/digits",
    "//experiments:embed": "experiments/embed",
    "//experiments:gpt2_mini": "experiments/gpt2_mini",
    "//experiments:lenet": "experiments/lenet",
    "//experiments:moons": "experiments/moons",
    "//experiments:moons_parallel": "experiments/moons_parallel",
}
COMMAND = r"(?:bazel|\./bazelw) (?:run|test|build) |mpirun "
PLACEHOLDER = re.compile(r"\b(?:[A-Z]{3,}|N)\b(?!=)|\.\.\.")
QUICK = (r"--programs=\d+", "--programs=2")
# What does not parse must not pass.
FEWEST = {"page": 12, "command": 25, "run": 12, "path": 60, "name": 60}


def pages_of(root):
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def blocks_of(page):
    """Yields lists of lines of code, indented or fenced, as a reader sees
    them: each with whether it is of a shell, and not of a language."""
    lines, fence = [], None
    for line in page.splitlines() + [""]:
        if line.startswith("```"):
            if fence is not None:
                yield lines, not fence
            lines, fence = [], None if fence is not None else line[3:]
        elif fence is not None:
            lines.append(line)
        elif line.startswith("    "):
            lines.append(line[4:])
        elif lines:
            yield lines, True
            lines = []


def commands_of(lines):
    """Yields commands, and what a block says that they print."""
    text = "\n".join(lines).replace("\\\n", " ")
    for line in text.split("\n"):
        if re.match(COMMAND, line):
            yield re.split(r" {3,}(?=\w)", line)[0].rstrip()


def inline_of(page):
    """Inline code, without blocks; a blank for each end of line."""
    text = re.sub(r"^```.*?^```$|^    .*?$", "", page,
                  flags=re.DOTALL | re.MULTILINE)
    return [" ".join(code.split())
            for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]


def has_target(root, label):
    package, _, name = label[2:].partition(":")
    build = root / package / "BUILD"
    name = name or package.rpartition("/")[2]
    if not build.is_file():
        return False
    # Rules of a list have names without quotes of their own.
    return f'"{name}"' in build.read_text()


class Programs:
    """What the programs print for --help, and lists of names."""

    def __init__(self, programs):
        self.programs = programs
        self.texts = {}

    def print_of(self, label, *arguments):
        key = (label, *arguments)
        if key not in self.texts:
            self.texts[key] = subprocess.run(
                [self.programs[label], *arguments], check=False, text=True,
                capture_output=True).stdout
        return self.texts[key]

    def errors_of_flags(self, label, arguments):
        """Flags that --help of the program or of its command lacks."""
        command = arguments[:1] if label == TOOL else []
        known = self.print_of(label, *command, "--help")
        for argument in arguments:
            flag = re.match(r"--[a-z_]+", argument)
            if flag and not re.search(re.escape(flag[0]) + r"\b", known):
                yield f"{label} has no {flag[0]}"


def errors_of_command(root, programs, command, counts):
    counts["command"] += 1
    words = shlex.split(command.partition(" > ")[0])
    labels = [word for word in words if word.startswith("//")]
    for label in labels:
        if not label.endswith("...") and not has_target(root, label):
            yield f"there is no target {label}"
    if words[0] == "mpirun" or "--" not in words:
        return
    arguments = words[words.index("--") + 1:]
    if labels[0] in programs.programs:
        yield from programs.errors_of_flags(labels[0], arguments)
    elif labels[0] not in ("//:install", "//python:wheel"):
        yield f"PROGRAMS of this test lacks {labels[0]}"


def errors_of_run(programs, folder, command, after, counts):
    """A command of the tool does not fail, unless its error is shown or is what
    it looks for."""
    if f" {TOOL} -- " not in command or PLACEHOLDER.search(command):
        return
    counts["run"] += 1
    arguments = re.sub(*QUICK, command.partition(" -- ")[2])
    ran = subprocess.run(
        f"{shlex.quote(str(programs.programs[TOOL]))} {arguments}",
        shell=True, check=False, cwd=folder, text=True, capture_output=True)
    expected = " ".join(" ".join(after).split()) if after else ""
    printed = " ".join((ran.stdout + ran.stderr).split())
    if expected.startswith("error:"):
        if expected not in printed:
            yield f"`{command}` prints {printed}"
    elif ran.returncode and "--explain_nonfinite" not in command:
        yield f"`{command}` fails: {printed}"


def errors_of_picture(programs, readme):
    """Its first block shows parts of what the command after it prints, at last
    of machine code."""
    picture, command = [lines for lines, _ in blocks_of(readme)][:2]
    words = shlex.split(command[0])
    words = words[words.index("--") + 1:]
    printed = programs.print_of(TOOL, *words) + programs.print_of(
        TOOL, *words, "--stage=x86")
    texts = [re.split(r" {3,}", line)[0] for line in picture
             if not line.startswith(" ")]
    if len(texts) < 2:
        yield "its first block is no picture"
    for text in texts:
        if text not in printed and text not in command[0]:
            yield f"`{text}` is not what `{command[0]}` prints"


def errors_of_inline(root, programs, code, headers, counts):
    if re.fullmatch(r"[\w.*-]*/[\w./*-]+", code) and not code.startswith("/"):
        counts["path"] += 1
        workloads = programs.print_of("//experiments:bench", "--list").split()
        if not list(root.glob(code)) and not PLACEHOLDER.search(code) \
                and code not in workloads:
            yield f"there is no {code}"
    if re.match(COMMAND, code):
        yield from errors_of_command(root, programs, code, counts)
    name = re.fullmatch(r"(?:train::)?([A-Z]\w*[a-z]\w*)", code)
    if name:
        counts["name"] += 1
        if name[1] not in headers:
            yield f"no header has {code}"
    if re.match(r"//\w[\w/]*:\w+$", code) and not has_target(root, code):
        yield f"there is no target {code}"


def errors_of_blocks(root, programs, page, counts):
    blocks = [lines for lines, is_shell in blocks_of(page) if is_shell]
    with tempfile.TemporaryDirectory() as folder:
        for lines, after in zip(blocks, blocks[1:] + [[]]):
            commands = list(commands_of(lines))
            for at, command in enumerate(commands, start=1):
                yield from errors_of_command(root, programs, command, counts)
                yield from errors_of_run(
                    programs, folder, command,
                    after if at == len(commands) else [], counts)


def errors(root, programs):
    """What is wrong with the pages, a line each, and what was counted."""
    found, counts = [], dict.fromkeys(FEWEST, 0)
    headers = set()
    for path in (root / "ocannl").rglob("*.h"):
        headers.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    index = (root / "docs/README.md").read_text(encoding="utf-8")
    tested = (root / "tests/front_door/install_test.py").read_text()
    for path in (root / "docs").rglob("*.md"):
        name = str(path.relative_to(root / "docs"))
        if name != "README.md" and f"({name})" not in index:
            found.append(f"docs/README.md does not link {name}")
    readme = (root / "README.md").read_text(encoding="utf-8")
    found += [f"README.md: {one}"
              for one in errors_of_picture(programs, readme)]
    for path in pages_of(root):
        name, page = path.relative_to(root), path.read_text(encoding="utf-8")
        counts["page"] += 1
        wrong = []
        if "\n```cpp\n" in page and f'"{name}"' not in tested:
            wrong.append("no test compiles its C++")
        wrong += errors_of_blocks(root, programs, page, counts)
        for code in inline_of(page):
            wrong += errors_of_inline(root, programs, code, headers, counts)
        found += [f"{name}: {one}" for one in wrong]
    found += [f"only {counts[kind]} of `{kind}`"
              for kind, fewest in FEWEST.items() if counts[kind] < fewest]
    return found, counts


README = """
```
a + b                    what you write
  |
c := a                   what becomes of it
```

    bazel run //ocannl -- say 'a + b' --out

Text with `bazel run //ocannl -- say --out`, `moons/epoch`, `//ocannl:thing`,
`DIR/some`, """ + 5 * "`ocannl/a.h`, `train::Known`, " + """and more.

    ./bazelw run //ocannl -- say --out=DIR       what it does
    bazel run //experiments:bench -- \\
        --list > file
    bazel run //ocannl -- say x > file
    bazel run //ocannl -- fail

    error: failed and
    why

```cpp
int main() {}
```
"""

# Each of these replacements is a fault.
FAULTS = [
    ("c := a ", "c := b "), ("a + b    ", "a - b    "), ("--out`", "--in`"),
    ("//ocannl -- say --out=", "//ocann -- say --out="), ("a.h", "b.h"),
    ("--out=DIR", "--in=DIR"), ("moons/epoch", "moons/epic"),
    ("train::Known", "train::Unknown"), (":thing", ":thin"),
    ("--list", "--lists"), (":bench", ":bank"), ("say x", "fail x"),
    ("and\n    why", "and\n    how"), ("DIR/some", "dir/some"),
    ("-- fail", "-- say fail"),
    ("\n  |\nc := a                   what becomes of it", ""),
]

STUB = """#!/bin/sh
case "$*" in
  *--help*) echo '--out --list' ;;
  --list) echo moons/epoch ;;
  fail*) echo 'error: failed and why' >&2; exit 1 ;;
  *) echo 'c := a' ;;
esac
"""


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("docs/guides", "ocannl", "experiments",
                     "tests/front_door"):
            (root / name).mkdir(parents=True)
        (root / "ocannl/a.h").write_text("class Known;\n")
        (root / "ocannl/BUILD").write_text('"thing" "ocannl"')
        (root / "experiments/BUILD").write_text('"bench"')
        tested = root / "tests/front_door/install_test.py"
        tested.write_text('"README.md"')
        tool = root / "tool"
        tool.write_text(STUB)
        tool.chmod(0o755)

        def found(readme, index="(a.md) (guides/b.md)", pages=FEWEST["page"]):
            (root / "README.md").write_text(readme)
            for at in range(pages):
                (root / f"docs/{at}.md").write_text(
                    README.replace("```cpp", "```c"))
            index += "".join(f"({at}.md)" for at in range(pages))
            (root / "docs/README.md").write_text(index)
            return errors(root, Programs(dict.fromkeys(PROGRAMS, tool)))[0]

        (root / "docs/a.md").touch()
        (root / "docs/guides/b.md").touch()
        assert not found(README), found(README)
        for good, bad in FAULTS:
            assert good in README, good
            assert found(README.replace(good, bad)), (good, bad)
        assert len(found(README, "(a.md)")) == 1
        tested.write_text("")
        assert len(found(README)) == 1
        for page in (root / "docs").glob("[0-9]*.md"):
            page.unlink()
        # Each count is needed.
        assert len(found(README, pages=0)) == 1 + len(FEWEST)


def main():
    if "--selftest" in sys.argv[1:]:
        return selftest()
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    programs = Programs({label: pathlib.Path(path).resolve()
                         for label, path in PROGRAMS.items()})
    found, counts = errors(root, programs)
    print(", ".join(f"{kind}: {count}" for kind, count in counts.items()))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
