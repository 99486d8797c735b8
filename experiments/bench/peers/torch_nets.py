# SPDX-License-Identifier: Apache-2.0
"""The networks of experiments/nets/nets.h in PyTorch; see python_peer.py.

Arrays have the names and the layouts that they have there: images end with
their channels, what maps inputs to outputs begins with its outputs.
"""

import torch
import torch.nn.functional as F


def convolve(p, name, x, padding, stride=1):
    w = p[name + "_w"].permute(0, 3, 1, 2)  # to outputs, inputs, height, width
    return F.conv2d(x, w, p.get(name + "_b"), stride, padding)


def conv_batch_norm(p, name, x, trains, padding=1, stride=1):
    norm = name + "_norm_"
    return F.batch_norm(convolve(p, name + "_conv", x, padding, stride),
                        p[norm + "running_mean"], p[norm + "running_variance"],
                        p[norm + "scale"], p[norm + "shift"], trains)


def linear(p, name, x):
    w = p[name + "_w"]
    return F.linear(x, w.flatten(1), p[name + "_b"])


def images(x):
    if x.dim() == 3:
        x = x.unsqueeze(-1)
    return x.permute(0, 3, 1, 2)


def cells(x):
    return x.permute(0, 2, 3, 1).flatten(1)


def lenet(p, x, trains):
    x = F.max_pool2d(F.relu(convolve(p, "conv1", images(x), 2)), 2)
    x = F.max_pool2d(F.relu(convolve(p, "conv2", x, 0)), 2)
    x = F.relu(linear(p, "layer1", cells(x)))
    return linear(p, "layer3", F.relu(linear(p, "layer2", x)))


def cifar_conv(p, x, trains):
    def layer(name, x):
        return F.relu(conv_batch_norm(p, name, x, trains))

    x = F.max_pool2d(layer("second", layer("first", images(x))), 2)
    x = F.max_pool2d(layer("third", x), 2)
    return linear(p, "layer2", F.relu(linear(p, "layer1", cells(x))))


def resnet(p, x, trains):
    x = F.relu(conv_batch_norm(p, "stem", images(x), trains))
    for name, stride in (("block1", 1), ("block2", 2), ("block3", 2)):
        y = conv_batch_norm(p, name + "_first", x, trains, stride=stride)
        y = conv_batch_norm(p, name + "_second", F.relu(y), trains)
        if stride > 1:
            x = conv_batch_norm(p, name + "_project", x, trains, 0, stride)
        x = F.relu(y + x)
    return linear(p, "logits", x.mean((2, 3)))


def norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[name + "_scale"],
                        p[name + "_shift"])


def attention(p, name, x, causal):
    def heads(name):
        w, b = p[name + "_w"], p[name + "_b"]
        y = F.linear(x, w.flatten(0, 1), b.flatten())
        return y.unflatten(-1, b.shape).transpose(-2, -3)

    y = F.scaled_dot_product_attention(
        *(heads(f"{name}_{part}") for part in ("query", "key", "value")),
        is_causal=causal)
    return linear(p, name + "_out", y.transpose(-2, -3).flatten(-2))


def perceptron(p, name, x):
    return linear(p, name + "_out", F.gelu(linear(p, name + "_in", x)))


def blocks(p, x, block):
    table = p["token_table"].T  # vocabulary, size
    x = F.embedding(x.long(), table) + p["position_table"].T
    layer = 1
    while f"block{layer}_in_w" in p:
        x = block(f"block{layer}", x)
        layer += 1
    return x, table


def gpt2_mini(p, x, trains):
    def block(name, x):
        x = x + attention(p, name + "_self", norm(p, name + "_self_norm", x),
                          causal=True)
        return x + perceptron(p, name, norm(p, name + "_mlp_norm", x))

    x, table = blocks(p, x, block)
    return F.linear(norm(p, "norm", x), table)


def encoder(p, x, trains):
    def block(name, x):
        y = attention(p, name + "_self", x, causal=False)
        x = norm(p, name + "_self_norm", x + y)
        return norm(p, name + "_mlp_norm", x + perceptron(p, name, x))

    x, table = blocks(p, x, block)
    return F.linear(x, table)


NETS = {"lenet": lenet, "cifar_conv": cifar_conv, "resnet": resnet,
        "gpt2_mini": gpt2_mini, "encoder": encoder}


class TorchNet:
    """Steps of training on one batch, or what comes before its gradients."""

    def __init__(self, task):
        torch.set_num_threads(task["threads"])
        self.task = task
        self.net = NETS[task["net"]]
        if task["framework"] == "torch.compile":
            self.net = torch.compile(self.net)

    def name(self):
        return self.task["framework"] + " " + torch.__version__

    def tensor(self, values, dims):
        return torch.tensor(values, dtype=torch.float32).reshape(dims)

    def reset(self, arrays):
        self.x, self.y = arrays["x"], arrays["y"].long()
        self.p = {name: value.clone() for name, value in arrays.items()
                  if name not in "xy"}
        learnt = [value.requires_grad_() for name, value in self.p.items()
                  if "running" not in name]
        self.sgd = torch.optim.SGD(learnt, self.task["rate"],
                                   self.task["momentum"])

    def loss(self):
        logits = self.net(self.p, self.x, self.task["trains"])
        return F.cross_entropy(logits.flatten(0, -2), self.y.flatten())

    def steps(self, count):
        for _ in range(count):
            if self.task["trains"]:
                self.sgd.zero_grad()
                loss = self.loss()
                loss.backward()
                self.sgd.step()
            else:
                with torch.no_grad():
                    loss = self.loss()
        return float(loss.detach())
