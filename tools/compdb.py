#!/usr/bin/env python3
"""Writes compile_commands.json for clangd and clang-tidy.

  bazel run //tools:compdb                    every target
  bazel run //tools:compdb -- //ocannl/jit    one package

Asks Bazel how it would compile each file; compiles nothing.
"""

import json
import os
import pathlib
import subprocess
import sys

WORKSPACE = pathlib.Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))

# What GCC knows and clang's tools do not.
GCC_ONLY = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object"}


def bazel(*args):
    command = [os.environ.get("BAZEL", "bazel"), *args]
    return subprocess.run(command, cwd=WORKSPACE, stdout=subprocess.PIPE,
                          check=True, text=True).stdout


def compile_actions(targets):
    query = f'mnemonic("CppCompile", {" + ".join(targets)})'
    text = bazel("aquery", "--output=jsonproto", "--include_artifacts=false",
                 "--define=unity=off",
                 "--ui_event_filters=-info", "--noshow_progress", query)
    return json.loads(text).get("actions", [])


def entry(arguments, output_base):
    """The compilation database's form of one command line."""
    source = arguments[arguments.index("-c") + 1]
    kept = []
    skip_value = False
    for argument in arguments:
        if skip_value or argument in ("-o", "-MF"):
            skip_value = not skip_value  # the file that follows
        elif argument in GCC_ONLY or argument == "-MD":
            pass
        elif argument.startswith(("-frandom-seed=", "-D__DATE__=",
                                  "-D__TIME")):
            pass
        elif argument.startswith("external/"):
            # Bazel's execution root comes and goes; its output base stays.
            kept.append(f"{output_base}/{argument}")
        else:
            kept.append(argument)
    return {"directory": str(WORKSPACE), "file": source, "arguments": kept}


def main():
    output_base = bazel("info", "output_base").strip()
    entries = []
    for action in compile_actions(sys.argv[1:] or ["//..."]):
        arguments = action["arguments"]
        if "-c" in arguments:
            entries.append(entry(arguments, output_base))
    path = WORKSPACE / "compile_commands.json"
    path.write_text(json.dumps(entries, indent=1) + "\n")
    print(f"{path}: {len(entries)} files")


if __name__ == "__main__":
    main()
