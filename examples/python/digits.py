# SPDX-License-Identifier: Apache-2.0
"""A convolutional network on drawn digits: squares, crosses and bars."""

import numpy as np

import ocannl

SIZE, BATCH, CLASSES = 12, 32, 3


def draw(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of one shape each, with noise, and which shape it is."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, CLASSES, count).astype(np.int32)
    images = rng.normal(0, 0.3, (count, SIZE, SIZE, 1)).astype(np.float32)
    for image, kind in zip(images, kinds):
        i, j = rng.integers(0, SIZE - 6, 2)
        part = image[i:i + 6, j:j + 6, 0]
        if kind == 0:
            part[[0, -1]] += 1
            part[1:-1, [0, -1]] += 1
        elif kind == 1:
            part[range(6), range(6)] += 1
            part[range(6), range(5, -1, -1)] += 1
        else:
            part[:, 2:4] += 1
    return images, kinds


model = ocannl.Model(seed=1)
x = model.input("x", f"{BATCH}|{SIZE},{SIZE},1")
kind = model.input("kind", f"{BATCH}|", "i32")
h = x
for channels in (8, 16):
    h = ocannl.conv2d(h, channels, inputs=1 if channels == 8 else 0)
    h = ocannl.max_pool2d(ocannl.relu(ocannl.batch_norm(h)))
logits = ocannl.linear(ocannl.dropout(h, 0.2), CLASSES)
loss = ocannl.cross_entropy(logits, ocannl.one_hot(kind, CLASSES))
step = model.train(loss, ocannl.adamw(3e-3))

images, kinds = draw(960, seed=1)
ocannl.fit(step, {"x": images, "kind": kinds}, batch_size=BATCH, epochs=5,
           after_epoch=lambda n, mean: print(f"epoch {n}: loss {mean:.3f}"))

images, kinds = draw(200, seed=2)
found = np.asarray(model.predict(ocannl.argmax("...|i", logits))(x=images))
print(f"{(found == kinds).mean():.0%} of 200 other images are right")
