#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every program that we have with two builds and compares the texts.

  bazel run //tools:replay -- --against=HEAD~3       a commit, the working tree
  bazel run //tools:replay -- --stages=cd,ll --filter=golden/einsum,agree/
  bazel run //tools:replay -- --speed=gemm,moons     and times them, in turn

The programs are those of tests/golden (as their RUN lines give them), of
tests/agree/programs, and what the workloads of //experiments:bench compile.
Both builds read the same text, from the working tree, and print each stage for
each instruction set, whatever this machine has. A refusal is a text like any
other. Exit status: 0 no text differs, 1 some do, 2 there is nothing to say.

The commit is checked out in a worktree below --dir, where its programs stay
for the next time; `git worktree remove` takes the worktree away.
"""

# Not `env python3`: pyenv's changes PATH, and then Bazel builds all again.

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import math
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import typing

WORKSPACE = pathlib.Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY",
                                        ".")).resolve()
BAZEL = os.environ.get("BAZEL", "bazel")
# By the names that they have here.
BINARIES = {"tool": "ocannl/ocannl", "bench": "experiments/bench/bench_main"}
OF_ISA = ("schedule", "x86")  # the stages that --isa is for
# The flags of `explain`, for files and for expressions alone.
PASSES = ["passes", "skip", "stop_after", "limit", "real", "rewrite"]
EXPRESSIONS = ["in", "let", "range", "grad", "memory"]


class Program(typing.NamedTuple):
    name: str
    words: tuple  # of `explain`, but for stage and instruction set
    as_is: bool = False  # no passes before schedule and x86: they have run


def fail(message):
    print(f"replay: {message}", file=sys.stderr)
    sys.exit(2)


def output(*command, cwd=WORKSPACE):
    result = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        fail(f"`{shlex.join(map(str, command))}` failed in {cwd}")
    return result.stdout.strip()


def build(tree, names, folder):
    """Copies the binaries of these names into `folder`."""
    paths = [BINARIES[name] for name in names]
    labels = ["//" + ":".join(path.rsplit("/", 1)) for path in paths]
    output(BAZEL, "build", *labels, cwd=tree)
    binaries = output(BAZEL, "info", "bazel-bin", cwd=tree)
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in zip(names, paths):
        part = folder / (name + ".part")  # a copy that is cut short is none
        shutil.copy(pathlib.Path(binaries, path), part)
        part.replace(folder / name)


def build_commit(revision, names, folder):
    """The folder with the commit's binaries, built unless they are there."""
    commit = output("git", "rev-parse", "--verify", revision + "^{commit}")
    built = folder / commit
    missing = [name for name in names if not (built / name).exists()]
    if not missing:
        return built
    tree = folder / "tree"
    if tree.exists():
        output("git", "checkout", "--quiet", "--detach", commit, cwd=tree)
    else:
        output("git", "worktree", "prune")
        output("git", "worktree", "add", "--quiet", "--detach", tree, commit)
    if (WORKSPACE / "user.bazelrc").exists():
        shutil.copy(WORKSPACE / "user.bazelrc", tree)
    build(tree, missing, built)
    output(BAZEL, "shutdown", cwd=tree)
    return built


def explained(run, file):
    """What `explain` is asked for the program of a golden's RUN line."""
    command, *words = shlex.split(run)
    if command not in ("eval", "explain", "run"):
        return ()
    flags = PASSES if "%s" in words else PASSES + EXPRESSIONS
    return tuple(word.replace("%s", file).replace("%t", "empty")
                 for word in words
                 if not word.startswith("--") or
                 word[2:].partition("=")[0] in flags)


def goldens(folder):
    root = WORKSPACE / "tests/golden"
    (folder / "empty").mkdir()
    for path in sorted(root.rglob("*.txt")):
        above = path.read_text().partition("\n---\n")[0].splitlines()
        name = f"golden/{path.relative_to(root).with_suffix('')}"
        file = name.replace("/", "_") + ".ll"
        (folder / file).write_text("".join(
            line + "\n" for line in above if not line.startswith("#")))
        runs = (line.removeprefix("# RUN: ") for line in above
                if line.startswith("# RUN: "))
        for words in dict.fromkeys(explained(run, file) for run in runs):
            if words:
                yield Program(name, words)


def all_programs(kinds, folder, new):
    """The programs of the working tree; `new` writes those of workloads."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "agree").mkdir(parents=True)
    if "golden" in kinds:
        yield from goldens(folder)
    if "agree" in kinds:
        for path in sorted((WORKSPACE / "tests/agree/programs").glob("*.ll")):
            shutil.copy(path, folder / "agree")
            yield Program(f"agree/{path.stem}", (f"agree/{path.name}",))
    if "bench" in kinds:
        output(new / "bench", f"--dump={folder / 'bench'}")
        for path in sorted((folder / "bench").glob("*.ll")):
            yield Program(f"bench/{path.stem}", (f"bench/{path.name}",), True)


def arguments_of(program, stage, isa):
    words = ["explain", *program.words, f"--stage={stage}"]
    if program.as_is and stage in OF_ISA:
        words.append("--passes=none")
    return words + [f"--isa={isa}"] if isa else words


def text_of(build_folder, arguments, folder):
    """Exit status and what the tool says, without the user's settings."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("OCANNL_", "BUILD_"))}
    try:
        result = subprocess.run(
            [build_folder / "tool", *arguments], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=300)
    except subprocess.TimeoutExpired:
        return -1, "no end after 300 seconds\n"
    return result.returncode, result.stdout.decode(errors="replace")


def show(old, new):
    """The first lines that differ, the exit status before them."""
    lines = [[f"exit status {status}", *text.splitlines()]
             for status, text in (old, new)]
    differing = ((number, pair)
                 for number, pair in enumerate(itertools.zip_longest(*lines))
                 if pair[0] != pair[1])
    for number, pair in itertools.islice(differing, 3):
        for sign, line in zip("-+", pair):
            if line is not None:
                print(f"  {number}: {sign} {line[:200]}")


def compare(programs, stage, isa, old, new, folder, shown):
    """Prints how many texts of one stage differ and returns it."""
    asked = [arguments_of(program, stage, isa) for program in programs]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        olds, news = (pool.map(lambda words, build=build: text_of(
            build, words, folder), asked) for build in (old, new))
        texts = list(zip(olds, news))
    differing = [k for k, (before, now) in enumerate(texts) if before != now]
    refused = sum(before == now and now[0] != 0 for before, now in texts)
    print(f"{stage + ' ' + isa:<16}{len(texts):5} programs, {refused:4} "
          f"refused by both, {len(differing):4} differ", flush=True)
    if refused == len(texts):
        fail(f"nothing was compiled; the first reason: {texts[0][1][1]}")
    for k in differing[:shown]:
        print(f" {programs[k].name}: {shlex.join(asked[k])}")
        show(*texts[k])
    return len(differing)


def seconds_of(bench, part, seconds, file):
    """The least seconds of each workload whose name contains `part`."""
    output(bench, f"--filter={part}", "--tiers=x86", "--peers=false",
           f"--seconds={seconds}", f"--json={file}")
    figures = json.loads(file.read_text())
    if "workloads" in figures:  # of builds up to 0.3
        return {work["name"]: contender["seconds"]["least"]
                for work in figures["workloads"]
                for contender in work["contenders"] if contender["ours"]}
    return {run["name"].removesuffix("/" + run["label"]): run["seconds_least"]
            for run in figures["benchmarks"] if run.get("ours")}


def compare_speed(parts, rounds, seconds, old, new, file):
    """Old and new in turn, the other one first in each other round."""
    if not parts:
        names = output(new / "bench", "--list").splitlines()
        parts = dict.fromkeys(name.partition("/")[0] + "/" for name in names)
    print("old time / new time: geometric mean, least, greatest")
    for part in parts:
        times = {old: collections.defaultdict(list),
                 new: collections.defaultdict(list)}
        for number in range(rounds):
            for build in (old, new) if number % 2 == 0 else (new, old):
                found = seconds_of(build / "bench", part, seconds, file)
                for name, time in found.items():
                    times[build][name].append(time)
        ratios = {name: min(times[old][name]) / min(of_new)
                  for name, of_new in times[new].items() if name in times[old]}
        if not ratios:
            fail(f"--speed: no workload's name contains {part}")
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        low, high = (end(ratios, key=ratios.get) for end in (min, max))
        print(f"{part:<14}{len(ratios):4} workloads {mean:6.3f}, "
              f"{ratios[low]:.3f} {low}, {ratios[high]:.3f} {high}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = lambda text: [name for name in text.split(",") if name]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"))
    add = parser.add_argument
    add("--against", default="HEAD", metavar="REV", help="the commit [HEAD]")
    add("--stages", type=names, default=list(OF_ISA),
        help="of `explain`: cd, unoptimized, ll, ... [schedule,x86]")
    add("--isa", type=names, default=["avx2", "avx512"], help="[avx2,avx512]")
    add("--programs", type=names, default=["golden", "agree", "bench"],
        help="[golden,agree,bench]")
    add("--filter", type=names, default=[],
        help="only programs whose name contains one of these")
    add("--show", type=int, default=3, help="differing programs a stage [3]")
    add("--speed", type=names, nargs="?", const=[], metavar="FILTER",
        help="time these workloads too; all, if none is named")
    add("--rounds", type=int, default=5, help="of --speed [5]")
    add("--seconds", type=float, default=0.2,
        help="for each workload and round [0.2]")
    add("--dir", type=pathlib.Path,
        default=cache.expanduser() / "ocannl-replay" /
        hashlib.sha256(bytes(WORKSPACE)).hexdigest()[:12],
        help="for builds and programs [one in the user's cache]")
    add("--old", type=pathlib.Path, metavar="DIR",
        help="a folder with `tool` and `bench`, in place of the commit")
    add("--new", type=pathlib.Path, metavar="DIR",
        help="likewise, in place of the working tree")
    return parser.parse_args()


def main():
    line = parse_arguments()
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    folder = line.dir.resolve()
    old = line.old and line.old.resolve()
    new = line.new and line.new.resolve()
    speed = line.speed is not None
    if old is None:
        old = build_commit(line.against, ["tool"] + ["bench"] * speed, folder)
    if new is None:
        new = folder / "new"
        dumps = "bench" in line.programs
        build(WORKSPACE, ["tool"] + ["bench"] * (speed or dumps), new)
    for tool in (old / "tool", new / "tool"):
        if not tool.exists():
            fail(f"there is no {tool}")
    programs = list(all_programs(line.programs, folder / "programs", new))
    for kind in line.programs:
        if not any(program.name.startswith(kind + "/") for program in programs):
            fail(f"there are no programs of {kind}")
    chosen = [program for program in programs if not line.filter or
              any(part in program.name for part in line.filter)]
    if not chosen or not line.stages or not line.isa:
        fail("there is nothing to compare; see --help")
    print(f"old: {old}\nnew: {new}\nprograms: {folder / 'programs'}")
    differing = 0
    for stage in line.stages:
        for isa in line.isa if stage in OF_ISA else [""]:
            differing += compare(chosen, stage, isa, old, new,
                                 folder / "programs", line.show)
    if speed:
        compare_speed(line.speed, line.rounds, line.seconds, old, new,
                      folder / "speed.json")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
