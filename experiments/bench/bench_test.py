#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a short slice of the bench, which checks all results, and holds our
fastest tier to bounds: how many times faster than gcc and Eigen it is at least.
Times of short runs on a busy machine swing, so that a bound is half of the
least ratio of 30 such runs, and fails where two runs miss it:

  bazel run //experiments/bench:bench_test -- --update=30

It catches what is slow by its nature, as a loop that is no longer vectorised;
smaller changes show in the counts of cost/code_cost_test and in paired runs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path("experiments/bench")
BOUNDS = FOLDER / "bounds.json"
PEERS = ("gcc", "plain C++", "eigen")
MARGIN = 0.5


def measured(folder):
    """Of each workload and peer, its median time by ours; prints the table."""
    path = folder / "bench.json"
    subprocess.run([FOLDER / "bench_main", "--brief", f"--json={path}"],
                   check=True)
    ratios = {}
    for run in json.loads(path.read_text())["benchmarks"]:
        peer = run["label"]
        if peer.startswith(PEERS) and "error_message" not in run:
            workload = run["name"].removesuffix("/" + peer)
            ratios[(workload, peer)] = run["time_by_ours_median"]
    return ratios


def check_wrong_flags():
    for flag, message in (
            ("--filter=monos", "no workload has `monos` in its name; near "
             "names: moons; see --list"),
            ("--filter=gemm,fuction", "no workload has `fuction` in its name"),
            ("--filter=lenet-forwards", "near names: lenet-forward; "),
            ("--seconds=0", "--seconds=0 is no number greater than 0")):
        ran = subprocess.run([FOLDER / "bench_main", flag],
                             capture_output=True, text=True)
        assert ran.returncode == 2 and message in ran.stderr, ran


def update(path, runs, folder):
    least = {}
    for _ in range(runs):
        for key, ratio in measured(folder).items():
            least[key] = min(ratio, least.get(key, ratio))
    bounds = {}
    for (workload, peer), ratio in least.items():
        bounds.setdefault(workload, {})[peer] = float(f"{MARGIN * ratio:.2g}")
    path.write_text(json.dumps(bounds, indent=1) + "\n")


def failures(ratios):
    for workload, peers in json.loads(BOUNDS.read_text()).items():
        for peer, bound in peers.items():
            ratio = ratios.get((workload, peer))
            # A peer may be too slow to be measured; then it is slow enough.
            if ratio is not None and ratio < bound:
                yield (f"{workload}: {peer} takes {ratio:.3g} times as long "
                       f"as ours, and at least {bound:.3g} is expected")


def main():
    if len(sys.argv) > 1:
        runs = int(sys.argv[1].removeprefix("--update="))
        with tempfile.TemporaryDirectory() as folder:
            update(pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"]) /
                   BOUNDS, runs, pathlib.Path(folder))
        return
    check_wrong_flags()
    folder = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", ".")
    folder = pathlib.Path(folder).resolve()
    ratios = measured(folder)
    if list(failures(ratios)):
        # A test beside it may have had the processor; what is slow by its
        # nature is so again.
        again = measured(folder)
        ratios = {key: max(ratio, again.get(key, ratio))
                  for key, ratio in ratios.items()}
    if not any(peer.startswith("gcc") for _, peer in ratios):
        sys.exit("no ratio to gcc was measured")
    if lines := list(failures(ratios)):
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
