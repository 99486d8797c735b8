# SPDX-License-Identifier: Apache-2.0
"""Sentences by how similar they are to the first one, by all-MiniLM-L6-v2.

sentences.py FOLDER SENTENCE...: the folder has vocab.txt and model.safetensors.
"""

import sys

import numpy as np

import ocannl

folder, *texts = sys.argv[1:]
model = ocannl.Model()
ids = model.input("ids", "1,16|", "i32")  # texts of any number and length
mask = model.input("mask", "1,16|")
places = model.input("places", "16|", "i32")
x = (ocannl.embedding(ids, 30522, 384, name="word")
     + ocannl.embedding(places, 512, 384, name="position")
     + ocannl.embedding(ids * 0, 2, 384, name="type"))
x = ocannl.layer_norm(x, epsilon=1e-12, name="norm")
x = ocannl.encoder(x, layers=6, size=384, heads=12, hidden=1536,
                   mask=0 < ocannl.einsum("b, t| => b, 0|t->0", mask),
                   pre_norm=False, epsilon=1e-12, name="encoder")
total = ocannl.einsum("b, t|d; b, t| => b|d", x, mask)
predict = model.predict(total / ocannl.sqrt((total * total).sum("b|d => b|0")))
model.load(f"{folder}/model.safetensors", layout="pytorch", allow_extra=True,
           rename=ocannl.bert_rules())
ids, mask = ocannl.WordPiece(f"{folder}/vocab.txt")(texts)
vectors = np.asarray(predict(ids=ids, mask=mask,
                             places=np.arange(ids.shape[1], dtype=np.int32)))
for score, text in sorted(zip(vectors @ vectors[0], texts), reverse=True):
    print(f"{score:.4f}  {text}")
