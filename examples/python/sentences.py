# SPDX-License-Identifier: Apache-2.0
"""Sentences by how similar they are to the first one, by all-MiniLM-L6-v2.

sentences.py FOLDER SENTENCE...: the folder has config.json, vocab.txt and
model.safetensors.
"""

import sys

import numpy as np

import ocannl

folder, *texts = sys.argv[1:]
encoder = ocannl.SentenceEncoder(folder)
vectors = np.asarray(encoder(texts))
for score, text in sorted(zip(vectors @ vectors[0], texts), reverse=True):
    print(f"{score:.4f}  {text}")
