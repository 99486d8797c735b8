#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stops machine code in GDB: at lines of its .ll, with all of the stack, and
with the values of its buffers."""

import os
import pathlib
import re
import subprocess
import sys

TOOL = pathlib.Path("ocannl/ocannl")
TEMP = pathlib.Path(os.environ["TEST_TMPDIR"])
ENVIRONMENT = {**os.environ, "OCANNL_JIT_SYMBOLS": "gdb"}

PROGRAM = """\
step ():
  in x : f32[4];
  in w : f32[2, 4];
  in half : f16[2];
  in brain : bf16[2];
  in octet : f8e4m3[2];
  in is : bool[2];
  in count : i64[2];
  out w.grad : f32[2, 4];
  out y : f32[2];
  out total : f64[];
  /* a comment
     of two lines */
  par i0 = 0 to 1 {
    y[i0] := 0;
    /* a product */
    for i1 = 0 to 3 {
      y[i0] := y[i0] + w[i0, i1] * x[i1];
    }
    y[i0] := y[i0] + select(is[i0], f32(half[i0]), f32(brain[i0]));
    y[i0] := y[i0] + f32(octet[i0]);
    y[i0] := exp(y[i0] - y[i0]) + y[i0];
  }
  zero_out total;
  for i2 = 0 to 1 {
    total[] := total[] + f64(y[i2]) + f64(count[i2]);
    for i3 = 0 to 3 { w.grad[i2, i3] := x[i3]; }
  }
"""


def gdb(commands, *program):
    """What GDB prints, with a line `-- COMMAND` in front of each command."""
    lines = ["set debuginfod enabled off", "set disable-randomization off",
             "set breakpoint pending on", "set confirm off", "set width 0"]
    for command in commands:
        lines += [f"echo \\n-- {command}\\n", command]
    script = TEMP / "commands.gdb"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = subprocess.run(
        ["gdb", "-nx", "-batch", "-x", script, "--args", *program],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=ENVIRONMENT, timeout=120)
    print(result.stdout)
    return result.stdout


def may_trace():
    """Whether GDB can run a program at all: where the system forbids ptrace,
    as containers may, it cannot."""
    return "exited normally" in gdb(["run"], "/bin/true")


def answers(printed):
    """What each command has printed, by its text; of equal ones the last."""
    parts = re.split(r"^-- (.*)\n", printed, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def expect(found, pattern):
    assert re.search(pattern, found, re.MULTILINE), f"{pattern} not in {found}"


def check_origins():
    """The text around a stop leads back to the line of .cd and its source."""
    options = ["relu ({w; o=[4]} * x)", "--in=x=range:3"]
    explained, code = (subprocess.run(
        [TOOL, "explain", *options, f"--stage={stage}"], check=True,
        stdout=subprocess.PIPE, text=True, env=ENVIRONMENT).stdout.splitlines()
                       for stage in ["schedule", "cd"])
    (line,) = [k for k, found in enumerate(explained, 1) if "fma(" in found]
    (of_cd,) = [k for k, found in enumerate(code, 1) if "=:+ w * x" in found]
    at = answers(gdb(
        [f"break result_fwd-schedule.ll:{line}", "run", "list 1,30",
         "delete", "continue"],
        TOOL, "eval", *options, "--tier=x86"))
    expect(at["run"], rf"^{line}\t.*fma\(")
    expect(at["list 1,30"],
           rf"/\* {of_cd}: n18 =:\+ w \* x .*, command line:1 \*/$")


def check_slow_operations():
    """The stack from an operation that is a call of C++ down to its line."""
    program = TEMP / "divide.ll"
    program.write_text("""\
divide ():
  in x : i64[4];
  out y : i64[4];
  for i0 = 0 to 3 { y[i0] := x[i0] / 3:i64; }
""", encoding="utf-8")
    at = answers(gdb(
        ["break ocannl::jit::RunHelper", "run", "backtrace", "up 2", "print x",
         "down 2", "finish", "stepi 40", "backtrace 2", "delete", "continue"],
        TOOL, "run", program, "--in=x=range", "--tier=x86"))
    place = r"in divide:nest-0 \(\) at .*divide-schedule.ll:\d+$"
    expect(at["backtrace"], r"^#1 .* in divide:slow_op \(\)$")
    expect(at["backtrace"], f"^#2 .* {place}")
    expect(at["backtrace"], r"in main ")
    expect(at["print x"], re.escape("= {0, 1, 2, 3}"))
    expect(at["backtrace 2"], r"^#0 .* in divide:slow_op \(\)$")
    expect(at["backtrace 2"], f"^#1 .* {place}")
    expect(at["continue"], "exited normally")


def main():
    if not may_trace():
        print("SKIPPED: GDB cannot run /bin/true here: no ptrace",
              file=sys.stderr)
        return
    program = TEMP / "step.ll"
    program.write_text(PROGRAM, encoding="utf-8")
    inputs = [f"--in={name}=range"
              for name in ["x", "w", "half", "brain", "octet", "count"]]
    schedule = subprocess.run([TOOL, "explain", program, "--stage=schedule"],
                              check=True, stdout=subprocess.PIPE,
                              text=True).stdout.splitlines()

    def line_of(text):
        (line,) = [k for k, found in enumerate(schedule, 1) if text in found]
        return line

    product, total = line_of("w[i0, i1]"), line_of("f64(y[i2])")
    values = {
        "w": "{{0, 1, 2, 3}, {4, 5, 6, 7}}",
        "w[1][2]": "6",
        "x": "{0, 1, 2, 3}",
        "y": "{15, 41}",
        "half": "{0, 1}",
        "brain": "{0, 1}",
        "is": "{true, false}",
        "count": "{0, 1}",
        "'w.grad'": "{{0, 1, 2, 3}, {0, 0, 0, 0}}",
        "total": "57",
    }
    printed = gdb([
        f"break step-schedule.ll:{product}", "run", "backtrace", "info line",
        "print x", "delete", f"break step-schedule.ll:{total}", "continue",
        "continue", "next", "whatis w", "print/x octet",
        *[f"print {name}" for name in values], "delete", "continue",
    ], TOOL, "run", program, *inputs, "--in=is=1,0", "--tier=x86")
    at = answers(printed)
    place = r"step:nest-0 \(\) at .*step-schedule.ll:"
    expect(at["run"], f"hit Breakpoint 1.*{place}{product}$")
    expect(at["run"], rf"^{product}\t" + re.escape(schedule[product - 1]))
    expect(at["backtrace"], f"^#0 .*{place}{product}$")
    expect(at["backtrace"], r"in (main|clone3?|start_thread) ")
    expect(at["info line"], f"^Line {product} of .* <step:nest-0")
    expect(at["print x"], re.escape("= {0, 1, 2, 3}"))
    expect(at["whatis w"], re.escape("f32 [2][4]"))
    for name, value in values.items():
        expect(at[f"print {name}"], r"= " + re.escape(value) + "$")
    expect(at["print/x octet"], re.escape("= {0x0, 0x38}"))  # the bits
    expect(printed, "exited normally")
    check_origins()
    check_slow_operations()
    left = list(TEMP.glob("ocannl_*"))
    assert not left, left


if __name__ == "__main__":
    main()
