#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of examples/python, and the cells of the notebook. 35
seconds."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

FOLDER = pathlib.Path("examples/python")
# What each program prints, among other things.
EXPECTED = {
    "digits.py": r"(9\d|100)% of 200 other images are right",
    "letters.py": r"the quick brown fox jumps over the",
    "look_inside.py": r"cd, (.|\n)*relu(.|\n)*for i(.|\n)*zmm|ymm",
    "resume.py": r"([0-9a-f]{16}) \1",
    "sentences.py": r"1.0000  A cat\.\n0.*  a dog\n.*  two fish\n",
    "xor.py": r"\[0\. 1\.\] -> (0\.9|1\.0)",
}


def write_bert(folder):
    """A model of the sizes of all-MiniLM-L6-v2: a sentence is the sum of random
    vectors of its words, as its layers add zero."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "dog", "two",
             "fish", "."]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    size, hidden = 384, 1536
    (folder / "config.json").write_text(json.dumps({
        "model_type": "bert", "vocab_size": 30522, "hidden_size": size,
        "max_position_embeddings": 512, "num_hidden_layers": 6,
        "num_attention_heads": 12, "intermediate_size": hidden}))
    dims = {f"embeddings.{name}_embeddings.weight": (count, size)
            for name, count in (("word", 30522), ("position", 512),
                                ("token_type", 2))}
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{k}." for k in range(6)):
        maps = {f"attention.self.{name}": (size, size)
                for name in ("query", "key", "value")}
        maps.update({"attention.output.dense": (size, size),
                     "intermediate.dense": (hidden, size),
                     "output.dense": (size, hidden)})
        for name, sizes in maps.items():
            dims[f"{layer}{name}.weight"] = sizes
            dims[f"{layer}{name}.bias"] = sizes[:1]
        norms += [f"{layer}attention.output.LayerNorm",
                  f"{layer}output.LayerNorm"]
    for name in norms:
        dims[f"{name}.weight"] = dims[f"{name}.bias"] = (size,)
    arrays = {name: np.zeros(sizes, np.float32)
              for name, sizes in dims.items()}
    table = arrays["embeddings.word_embeddings.weight"]
    table[4:len(words)] = np.random.default_rng(1).normal(
        size=(len(words) - 4, size))
    for name in norms:
        arrays[f"{name}.weight"][:] = 1
    header, end = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": array.shape,
                        "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(array.tobytes())


BERT = pathlib.Path(os.environ.get("TEST_TMPDIR") or tempfile.mkdtemp())
ARGUMENTS = {"sentences.py": [BERT, "A cat.", "two fish", "a dog"]}


def run(*command):
    ran = subprocess.run(
        [sys.executable, *command], check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": os.path.abspath("python")})
    assert ran.returncode == 0, (command, ran.stdout)
    return ran.stdout


assert {path.name for path in FOLDER.glob("*.py")} == set(EXPECTED)
for name, pattern in EXPECTED.items():
    if name == "sentences.py":
        write_bert(BERT)
    printed = run(FOLDER / name, *ARGUMENTS.get(name, []))
    assert re.search(pattern, printed), (name, printed)

notebook = json.loads((FOLDER / "tour.ipynb").read_text(encoding="utf-8"))
cells = ["".join(cell["source"]) for cell in notebook["cells"]
         if cell["cell_type"] == "code"]
assert len(cells) == 4
# Jupyter shows the value of a cell's last line.
run("-c", "import ast, sys\nscope = {}\n"
    "for text in sys.argv[1:]:\n"
    "    cell = ast.parse(text)\n"
    "    last = cell.body.pop() if isinstance(cell.body[-1], ast.Expr) else None\n"
    "    exec(compile(cell, 'cell', 'exec'), scope)\n"
    "    if last: repr(eval(compile(ast.Expression(last.value), 'cell', 'eval'), scope))\n",
    *cells)
