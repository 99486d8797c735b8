# SPDX-License-Identifier: Apache-2.0
"""A language model of letters: trains on a text, and writes like it."""

import numpy as np

import ocannl

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
LENGTH, BATCH = 32, 8

letters = sorted(set(TEXT))
ids = np.array([letters.index(c) for c in TEXT], np.int32)

model = ocannl.Model(seed=1)
tokens = model.input("tokens", f"{BATCH},{LENGTH}|", "i32")
after = model.input("after", f"{BATCH},{LENGTH}|", "i32")
logits = ocannl.decoder_only(
    tokens, vocabulary=len(letters), length=LENGTH, layers=2, size=32, heads=2,
    hidden=64)
loss = ocannl.cross_entropy(logits, ocannl.one_hot(after, len(letters)))
step = model.train(
    loss, ocannl.adamw(ocannl.cosine(1e-2, 1e-3, steps=150)).clipped(1.0))

rng = np.random.default_rng(1)
for k in range(150):
    starts = rng.integers(0, len(ids) - LENGTH - 1, BATCH)
    windows = np.stack([ids[s:s + LENGTH + 1] for s in starts])
    value = step(tokens=windows[:, :-1], after=windows[:, 1:])
    if k % 50 == 49:
        print(f"step {k + 1}: loss {float(value):.3f}")

predict = model.predict(ocannl.argmax("...|i", logits))
text = "the quick "
for _ in range(30):
    window = np.zeros((1, LENGTH), np.int32)
    known = text[-LENGTH:]
    window[0, :len(known)] = [letters.index(c) for c in known]
    best = int(predict(tokens=window)[0, len(known) - 1])
    text += letters[best]
print(text)
