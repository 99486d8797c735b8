#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tokenizer of BERT, and layers with its options, in Python. 2 seconds."""

import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.abspath("python"))

import ocannl  # noqa: E402

TEMP = pathlib.Path(os.environ.get("TEST_TMPDIR") or tempfile.mkdtemp())
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "una", "##ffa", "##ble", "!",
          "Two"]


class WordPieceTest(unittest.TestCase):

    def setUp(self):
        self.path = TEMP / "vocab.txt"
        self.path.write_text("\n".join(PIECES), encoding="utf-8")

    def test_ids(self):
        pieces = ocannl.WordPiece(self.path)
        self.assertEqual(len(pieces), 9)
        self.assertEqual(pieces.encode("Unaffable! two"), [4, 5, 6, 7, 1])
        self.assertEqual(pieces.piece(5), "##ffa")
        cased = ocannl.WordPiece(self.path, lower_case=False)
        self.assertEqual(cased.encode("Two una Una"), [8, 4, 1])

    def test_batches(self):
        pieces = ocannl.WordPiece(self.path)
        ids, mask = pieces(["unaffable", "!"])
        self.assertEqual((ids.dtype, mask.dtype), ("i32", "f32"))
        self.assertEqual(ids.tolist(), [[2, 4, 5, 6, 3], [2, 7, 3, 0, 0]])
        self.assertEqual(mask.tolist(), [[1] * 5, [1, 1, 1, 0, 0]])
        self.assertEqual(pieces("!", multiple=4)[0].tolist(), [[2, 7, 3, 0]])
        self.assertEqual(pieces("unaffable", most=4)[0].tolist(),
                         [[2, 4, 5, 3]])
        self.assertEqual(pieces("!" * 9, most=6, multiple=4)[0].shape, (1, 6))

    def test_mistakes(self):
        pieces = ocannl.WordPiece(self.path)
        other = TEMP / "other.txt"
        other.write_text("a\nb\n")
        for call, pattern in (
                (lambda: ocannl.WordPiece("none.txt"), "none.txt"),
                (lambda: ocannl.WordPiece(other), r"\[UNK\]"),
                (lambda: pieces([]), "give one or more"),
                (lambda: pieces(3), "`texts` is 3"),
                (lambda: pieces(b"a"), "`texts` is b'a'"),
                (lambda: pieces(["a", b"b"]), r"`texts` is \['a', b'b'\]"),
                (lambda: pieces(["a", None]), r"`texts` is \['a', None\]"),
                (lambda: pieces.encode(b"a"), "`text` is b'a'"),
                (lambda: pieces("a", most=1), "most=1"),
                (lambda: pieces("a", multiple=0), "multiple=0"),
                (lambda: pieces.piece(9), "the last one is 8"),
                (lambda: pieces.piece(-1), "no piece -1"),
                (lambda: ocannl.SentenceEncoder(TEMP / "none"),
                 "none/config.json"),
                (lambda: ocannl.SentenceEncoder(3), "`folder` is 3"),
                (lambda: ocannl.SentenceEncoder(TEMP, tier="x87"), "x87")):
            with self.assertRaisesRegex((ocannl.Error, TypeError), pattern):
                call()


class LayersTest(unittest.TestCase):

    def test_epsilon_of_an_encoder(self):
        def norm(x, epsilon):
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)

        values = np.random.default_rng(1).normal(size=(2, 3, 4))
        values = values.astype(np.float32)
        for epsilon in (1e-12, 0.5):
            model = ocannl.Model()
            x = model.input("x", "2,3|4")
            predict = model.predict(ocannl.encoder(
                x, layers=1, size=4, heads=2, hidden=5, pre_norm=False,
                epsilon=epsilon))
            predict(x=values)
            for name in model:
                if not name.endswith("_scale"):
                    model[name] = np.zeros(model[name].shape, np.float32)
            np.testing.assert_allclose(
                predict(x=values), norm(norm(values, epsilon), epsilon),
                rtol=1e-5, atol=1e-6)

    def test_rules_are_those_of_bert(self):
        self.assertIn(("self", "attention.self"), ocannl.bert_rules())

    def test_a_file_is_read_before_the_first_prediction(self):
        path = TEMP / "net.safetensors"
        values = np.ones((3, 2), np.float32)
        for is_first in (True, False):
            model = ocannl.Model(seed=1 if is_first else 2)
            x = model.input("x", "1|2")
            predict = model.predict(ocannl.mlp(x, [4, 1]))
            if is_first:
                wanted = np.asarray(predict(x=values))
                model.save(path)
            else:
                model.load(path)
                np.testing.assert_array_equal(predict(x=values), wanted)
        empty = ocannl.Model()
        with self.assertRaisesRegex(ocannl.Error, "no parameter has a value"):
            empty.load(path)

    def test_a_prediction_that_misfits_hinders_no_file(self):
        path = TEMP / "one.npz"
        model = ocannl.Model()
        x = model.input("x", "1|2")
        misfits = model.predict(ocannl.linear(x, 2) + model.input("y", "1|3"))
        with self.assertRaisesRegex(ocannl.Error, "shape error"):
            model.load(path)  # there is no other
        model.predict(ocannl.linear(x, 1, name="one"))(x=[[1, 2]])
        model.save(path)
        model.load(path)
        with self.assertRaisesRegex(ocannl.Error, "shape error"):
            misfits(x=[[1, 2]], y=[[1, 2, 3]])


if __name__ == "__main__":
    unittest.main()
