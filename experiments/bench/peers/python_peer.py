# SPDX-License-Identifier: Apache-2.0
"""Trains a network with PyTorch, torch.compile or JAX; see python_peer.h.

Reads a task, one line of JSON, then commands: `time N`, `loss N`. Writes one
line for each: `ok`, the seconds, the loss, or `error` and a reason.
"""

import array
import json
import os
import sys
import time


def layers_of(task):
    return sum(1 for name in task["arrays"] if name.startswith("w"))


class Torch:
    def __init__(self, task):
        import torch

        self.torch = torch
        torch.set_num_threads(task["threads"])
        self.task = task
        if task["framework"] == "torch.compile":
            self.loss = torch.compile(self.loss)

    def name(self):
        return self.task["framework"] + " " + self.torch.__version__

    def tensor(self, values, dims):
        return self.torch.tensor(values, dtype=self.torch.float32).reshape(dims)

    def reset(self, arrays):
        self.x, self.y = arrays["x"], arrays["y"]
        self.p = {name: value.clone().requires_grad_()
                  for name, value in arrays.items() if name not in "xy"}
        self.done = 0

    def loss(self, p, h, y):
        torch, layers = self.torch, layers_of(self.task)
        for layer in range(1, layers + 1):
            h = torch.nn.functional.linear(h, p[f"w{layer}"],
                                           p.get(f"b{layer}"))
            if layer < layers:
                h = torch.relu(h)
        if self.task["loss"] == "hinge":
            return torch.relu(1 - y * h).sum() / len(h)
        return torch.square(h - y).sum() / len(h)

    def step(self):
        torch, task = self.torch, self.task
        batch = self.done % len(self.x)
        loss = self.loss(self.p, self.x[batch], self.y[batch])
        parameters = list(self.p.values())
        gradients = torch.autograd.grad(loss, parameters)
        rate = rate_at(task, self.done)
        with torch.no_grad():
            for p, g in zip(parameters, gradients):
                if task["weight_decay"]:
                    g = g + task["weight_decay"] * p
                p.sub_(rate * g)
        self.done += 1
        return loss

    def steps(self, count):
        for _ in range(count):
            loss = self.step()
        return float(loss)


class Jax:
    def __init__(self, task):
        import jax

        self.jax = jax
        self.task = task
        layers = layers_of(task)
        jnp = jax.numpy

        def loss_of(p, x, y):
            h = x
            for layer in range(1, layers + 1):
                h = h @ p[f"w{layer}"].T
                if layer < layers:
                    h = jax.nn.relu(h + p[f"b{layer}"])
            if task["loss"] == "hinge":
                return jax.nn.relu(1 - y * h).sum() / len(h)
            return jnp.square(h - y).sum() / len(h)

        def step(p, x, y, batch, rate):
            loss, g = jax.value_and_grad(loss_of)(p, x[batch], y[batch])
            if decay := task["weight_decay"]:
                g = {name: g[name] + decay * p[name] for name in p}
            return loss, {name: p[name] - rate * g[name] for name in p}

        self.jitted = jax.jit(step, donate_argnums=0)

    def name(self):
        return "jax " + self.jax.__version__

    def tensor(self, values, dims):
        return self.jax.numpy.array(values, dtype="float32").reshape(dims)

    def reset(self, arrays):
        self.x, self.y = arrays["x"], arrays["y"]
        self.p = {name: value.copy() for name, value in arrays.items()
                  if name not in "xy"}
        self.done = 0

    def steps(self, count):
        for _ in range(count):
            batch = self.done % len(self.x)
            rate = rate_at(self.task, self.done)
            loss, self.p = self.jitted(self.p, self.x, self.y, batch, rate)
            self.done += 1
        return float(loss)


def rate_at(task, step):
    if not task["steps"]:
        return task["rate"]
    step %= task["steps"]
    return task["rate"] * (2 * task["steps"] - step) / task["steps"]


def read(peer, spec):
    values = array.array("f")
    with open(spec["file"], "rb") as file:
        values.frombytes(file.read())
    return peer.tensor(values, spec["dims"])


def peer_of(task):
    if not task["net"]:
        return {"torch": Torch, "torch.compile": Torch,
                "jax": Jax}[task["framework"]](task)
    if task["framework"] == "jax":
        raise ValueError("the networks are written for torch only")
    import torch_nets

    return torch_nets.TorchNet(task)


def main():
    task = json.loads(sys.stdin.readline())
    # Not every framework can be told how many threads to use.
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[-task["threads"]:])
    try:
        peer = peer_of(task)
        arrays = {name: read(peer, spec)
                  for name, spec in task["arrays"].items()}
        peer.reset(arrays)
        peer.steps(1)
        peer.reset(arrays)
    except Exception as error:  # what keeps a framework from working varies
        print("error", " ".join(str(error).split())[:200], flush=True)
        return
    print("ok", peer.name(), flush=True)
    for line in sys.stdin:
        command, count = line.split()
        if command == "loss":
            peer.reset(arrays)
            answer = peer.steps(int(count))
        else:
            start = time.perf_counter()
            peer.steps(int(count))
            answer = time.perf_counter() - start
        print(repr(answer), flush=True)


main()
