#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a GPU beside which tools/gpu_check.sh sets the engine.

    gpu_torch.py DIR OUT.jsonl

times what programs of DIR/bench do: products by cuBLAS, rows by torch.compile,
and the steps of networks (torch_nets.py in DIR) by torch.compile in a CUDA
graph. All in exact f32 (no TF32). A line of JSON each: medians of rounds, in
milliseconds.
"""

import json
import pathlib
import re
import sys
import time

import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(FOLDER))
import torch_nets  # noqa: E402

ROUNDS = 11
SECONDS = 0.02  # of a round


def milliseconds(run):
    def timed(count):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            run()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    timed(3)
    count = max(1, int(SECONDS / max(timed(1), 1e-6)))
    return 1e3 * sorted(timed(count) / count for _ in range(ROUNDS))[ROUNDS // 2]


def product(m, n, k):
    a = torch.rand(m, k, device="cuda")
    b = torch.rand(k, n, device="cuda")
    c = torch.empty(m, n, device="cuda")
    return milliseconds(lambda: torch.mm(a, b, out=c))


def row(name, rows, columns):
    x = torch.rand(rows, columns, device="cuda")
    run = torch.compile({
        "softmax": lambda: torch.softmax(x, 1),
        "layer_norm": lambda: F.layer_norm(x, (columns,))}[name], dynamic=False)
    return milliseconds(run)


def arrays(text):
    """Random values for each array that a program reads, without batches."""
    found = {}
    for name, dims in re.findall(r"^  (?:in|inout) (\w+) : f32\[(.*)\];", text,
                                 re.MULTILINE):
        dims = [int(n) for n in dims.split(", ")]
        if re.match("(train|test)_", name):
            dims = dims[1:]
        scale = 0.1 if "variance" not in name else 1.0
        found[name] = scale * torch.rand(dims, device="cuda")
    return found


def graph_of(run):
    """What launches `run` as a CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def net(name, trains, text):
    given = arrays(text)
    part = "train" if trains else "test"
    x, y = given[part + "_inputs"], given[part + "_classes"].long()
    p = {key: value for key, value in given.items()
         if not key.startswith(("train_", "test_", "sgd_"))}
    learnt = [value.requires_grad_() for key, value in p.items()
              if trains and "running" not in key]

    @torch.compile(dynamic=False)
    def loss():
        logits = torch_nets.NETS[name](p, x, trains)
        return F.cross_entropy(logits.flatten(0, -2), y.flatten())

    if trains:
        sgd = torch.optim.SGD(learnt, 0.01, 0.9, fused=True)

        def run():
            for value in learnt:
                value.grad = None
            loss().backward()
            sgd.step()
    else:
        def run():
            with torch.no_grad():
                loss()
    return milliseconds(graph_of(run))


def time_of(program):
    sizes = re.fullmatch(r"gemm_(\d+)x(\d+)x(\d+)", program.stem)
    if sizes:
        return product(*map(int, sizes.groups()))
    sizes = re.fullmatch(r"rows_(\w+)-(\d+)x(\d+)", program.stem)
    if sizes:
        return row(sizes[1], int(sizes[2]), int(sizes[3]))
    sizes = re.fullmatch(r"net_(\w+?)(-forward)?", program.stem)
    if sizes:
        return net(sizes[1], sizes[2] is None, program.read_text())
    return None


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for program in sorted(FOLDER.glob("bench/*.ll")):
            line = {"program": program.stem}
            try:
                line["torch_ms"] = time_of(program)
                if line["torch_ms"] is None:
                    continue
            except Exception as error:  # what does not work there varies
                line["missing"] = str(error)[:300]
            print(json.dumps(line))
            print(json.dumps(line), file=out, flush=True)


main()
