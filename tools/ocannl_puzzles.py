#!/usr/bin/env python3
"""Runs OCANNL's own tensor puzzles: test/einsum of a checkout of OCANNL.

    git clone https://github.com/ahrefs/ocannl
    bazel build //ocannl && python3 tools/ocannl_puzzles.py \\
        --tool=bazel-bin/ocannl/cli/tool_main ocannl/test/einsum

Each puzzle is a chain of `let%op`, which the tool reads as it stands: only the
calls of OCaml around it (TDSL.range, and arithmetic of floats) are translated.
The values are compared with tensor_puzzles.expected, whose numbers have four
digits. Prints a line for each puzzle; the exit status is 1 if one differs.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

LET = re.compile(r"let(%op)? (\w.*?)\bin\b", re.S)
RANGE = re.compile(r"TDSL\.range (\w+)")
SHAPE = re.compile(r"TDSL\.range_of_shape ~output_dims:\[([^\]]*)\] \(\)")
SHOW = re.compile(r'show ctx "([^"]*)" "[^"]*" (\w+)')
EXPECTED = re.compile(r"^#(\S+ \S+) +\[[^\]]*\] (.*)$", re.M)


def python_of(text):
    """Arithmetic of OCaml as that of Python."""
    return text.replace("Float.of_int", "float").replace(".)", ".0)") \
        .replace("-.", "-").replace("/.", "/").strip()


def definitions(source):
    """The expression of each tensor in the notation, by name, in order."""
    numbers, tensors = {}, {}
    source = re.sub(r"\(\*.*?\*\)", "", source, flags=re.S)
    for is_op, group in LET.findall(source):
        for each in re.split(r"\band (?=\w+ =)", group):
            name, _, value = each.partition("=")
            name, value = name.strip(), " ".join(value.split())
            shape = SHAPE.search(value)
            if is_op:
                tensors[name] = value
            elif RANGE.search(value):
                size = RANGE.search(value).group(1)
                tensors[name] = f"range({numbers.get(size, size)})"
            elif shape:
                axes = ",".join(shape.group(1).replace(";", " ").split())
                tensors[name] = f'range_of_shape("{axes}")'
            elif re.fullmatch(r"[\w\s./()*+-]+", value):
                try:
                    numbers[name] = eval(python_of(value), {}, dict(numbers))
                except (NameError, SyntaxError):
                    pass  # a value of OCaml that no puzzle uses
    for name, value in tensors.items():
        tensors[name] = re.sub(r"!\.(\w+)",
                               lambda m: str(float(numbers[m.group(1)])), value)
    return tensors


def text_of(tensors, name):
    """`name` with a let for each tensor that it uses."""
    used, text = set(), [name]

    def use(each):
        if each in used or each not in tensors:
            return
        used.add(each)
        for word in re.findall(r"\w+", re.sub(r'"[^"]*"', "", tensors[each])):
            use(word)

    use(name)
    lets = [f"let {each} = {value} in" for each, value in tensors.items()
            if each in used]
    return " ".join(lets + text)


def values_of(tool, text, tier):
    """The cells as the expected file has them, or the error."""
    run = subprocess.run([tool, "eval", text, f"--tier={tier}"],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return run.stderr
    bools = {"false": 0, "true": 1}
    words = " ".join(run.stdout.splitlines()[1:]).split()
    return " ".join(f"{float(bools.get(word, word)):.4g}" for word in words)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="test/einsum of OCANNL")
    parser.add_argument("--tool", required=True, help="the tool `ocannl`")
    parser.add_argument("--tier", default="x86")
    args = parser.parse_args()
    source = (args.folder / "tensor_puzzles.ml").read_text()
    expected = dict(EXPECTED.findall(
        (args.folder / "tensor_puzzles.expected").read_text()))
    tensors = definitions(source)
    puzzles = SHOW.findall(source)
    wrong = 0
    for puzzle, name in puzzles:
        text = text_of(tensors, name)
        values = values_of(args.tool, text, args.tier)
        if values == expected.get(puzzle, "").strip():
            print(f"ok       {puzzle}")
            continue
        wrong += 1
        print(f"DIFFERS  {puzzle}: {text}\n  has      {values}\n"
              f"  expected {expected.get(puzzle)}")
    print(f"{wrong} of {len(puzzles)} puzzles differ")
    return wrong != 0 or not puzzles


if __name__ == "__main__":
    sys.exit(main())
