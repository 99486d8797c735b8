#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small BERT of a folder embeds sentences in Python. 4 seconds."""

import json
import os
import pathlib
import signal
import struct
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

sys.path.insert(0, os.path.abspath("python"))

import ocannl  # noqa: E402

TEMP = pathlib.Path(os.environ.get("TEST_TMPDIR") or tempfile.mkdtemp())
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "dog", "run",
          "##s", "."]
TEXTS = ["The cat runs.", "Dogs.", "the dog runs. the cats run. the dog."]
SIZE, HIDDEN, POSITIONS, LAYERS = 8, 12, 64, 2


def weights():
    """The arrays of a BertModel by name."""
    random = np.random.default_rng(1)

    def dense(name, rows, columns):
        yield f"{name}.weight", random.standard_normal((rows, columns)) / 3
        yield f"{name}.bias", random.standard_normal(rows) / 9

    def norm(name):
        yield f"{name}.weight", 1 + random.standard_normal(SIZE) / 9
        yield f"{name}.bias", random.standard_normal(SIZE) / 9

    for table, rows in (("word", len(PIECES)), ("position", POSITIONS),
                        ("token_type", 2)):
        yield (f"embeddings.{table}_embeddings.weight",
               random.standard_normal((rows, SIZE)))
    yield from norm("embeddings.LayerNorm")
    for k in range(LAYERS):
        layer = f"encoder.layer.{k}"
        for part in ("query", "key", "value"):
            yield from dense(f"{layer}.attention.self.{part}", SIZE, SIZE)
        yield from dense(f"{layer}.attention.output.dense", SIZE, SIZE)
        yield from norm(f"{layer}.attention.output.LayerNorm")
        yield from dense(f"{layer}.intermediate.dense", HIDDEN, SIZE)
        yield from dense(f"{layer}.output.dense", SIZE, HIDDEN)
        yield from norm(f"{layer}.output.LayerNorm")


def write_folder():
    folder = TEMP / "bert"
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(PIECES))
    (folder / "config.json").write_text(json.dumps({
        "vocab_size": len(PIECES), "hidden_size": SIZE,
        "num_hidden_layers": LAYERS, "num_attention_heads": 2,
        "intermediate_size": HIDDEN, "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2}))
    header, cells = {}, b""
    for name, values in weights():
        own = values.astype(np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": values.shape,
                        "data_offsets": [len(cells), len(cells) + len(own)]}
        cells += own
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text + cells)
    return folder


class SentenceEncoderTest(unittest.TestCase):

    def setUp(self):
        self.folder = write_folder()
        self.encoder = ocannl.SentenceEncoder(self.folder)

    def test_batches_and_tokens_have_the_same_bits(self):
        rows = np.asarray(self.encoder(TEXTS))
        self.assertEqual(rows.shape, (3, self.encoder.size))
        np.testing.assert_allclose((rows * rows).sum(1), 1, rtol=1e-5)
        self.assertGreater(np.abs(rows[0] - rows[1]).max(), 0.01)
        for batch in (1, 2):
            np.testing.assert_array_equal(self.encoder(TEXTS, batch=batch),
                                          rows)
        np.testing.assert_array_equal(self.encoder(TEXTS[1]), rows[1:2])
        ids, mask = ocannl.WordPiece(self.folder / "vocab.txt")(TEXTS)
        for given in ((ids, mask), (np.asarray(ids), np.asarray(mask))):
            np.testing.assert_array_equal(self.encoder.embed_tokens(*given),
                                          rows)
        for tier in ("interp", "x86"):
            other = ocannl.SentenceEncoder(self.folder, tier=tier, threads=1)
            np.testing.assert_array_equal(other(TEXTS), rows)

    def test_long_texts_are_cut(self):
        self.assertEqual(self.encoder.max_length, POSITIONS)
        words = POSITIONS - 2
        np.testing.assert_array_equal(self.encoder("cat " * (2 * words)),
                                      self.encoder("cat " * words))

    def test_mistakes(self):
        ids, mask = np.array([[2, 4, 3]], np.int32), np.ones((1, 3), np.float32)
        embed = self.encoder.embed_tokens
        for call, pattern in (
                (lambda: self.encoder([]), "0 texts"),
                (lambda: self.encoder(["a"], batch=0), "batches of 0"),
                (lambda: self.encoder(["a"], batch=-1), "batches of -1"),
                (lambda: self.encoder(3), "`texts` is 3"),
                (lambda: self.encoder([b"a"]), r"`texts` is \[b'a'\]"),
                (lambda: embed(ids + 7, mask), "there is no piece 11"),
                (lambda: embed(ids - 3, mask), "there is no piece -1"),
                (lambda: embed(ids, mask[:, :2]), r"mask is f32\[1, 2\]"),
                (lambda: embed(ids, mask * 0), "mask"),
                (lambda: embed(ids, mask / 2), "mask"),
                (lambda: embed(ids[0], mask[0]), r"give i32 and f32"),
                (lambda: embed(ids.astype(float), mask), "`ids`"),
                (lambda: embed("a", mask), "`ids`")):
            with self.assertRaisesRegex(
                    (ocannl.Error, TypeError, ValueError), pattern):
                call()
        self.assertEqual(embed(ids, mask).shape, (1, SIZE))

    def test_ctrl_c(self):
        texts = [f"{'cat ' * (k % 50)}." for k in range(1 << 17)]
        rows = np.asarray(self.encoder(TEXTS))
        times = []

        def interrupt():
            times.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(0.2, interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                self.encoder(texts)
        self.assertLess(time.monotonic() - times[0], 2)
        np.testing.assert_array_equal(self.encoder(TEXTS), rows)


if __name__ == "__main__":
    unittest.main()
