#!/usr/bin/env python3
"""Writes small pictures of digits, with noise, for digits.cc.

  python3 make_digits.py digits.npz
"""

import sys

import numpy

# Segments of a display, from the top: across, left and right, across, ...
SEGMENTS = {0: "abcdef", 1: "bc", 2: "abged", 3: "abgcd", 4: "fgbc",
            5: "afgcd", 6: "afgedc", 7: "abc", 8: "abcdefg", 9: "abcdfg"}
STROKES = {"a": (slice(0, 1), slice(2, 6)), "g": (slice(3, 4), slice(2, 6)),
           "d": (slice(7, 8), slice(2, 6)), "f": (slice(0, 4), slice(1, 2)),
           "b": (slice(0, 4), slice(6, 7)), "e": (slice(4, 8), slice(1, 2)),
           "c": (slice(4, 8), slice(6, 7))}


def pictures(random, count):
    labels = random.randint(0, 10, count).astype(numpy.int32)
    images = random.normal(0, 0.25, (count, 8, 8)).astype(numpy.float32)
    for image, label in zip(images, labels):
        for segment in SEGMENTS[label]:
            image[STROKES[segment]] += 1
    return images.reshape(count, 64), labels


def main():
    random = numpy.random.RandomState(1)
    images, labels = pictures(random, 500)
    unseen, answers = pictures(random, 100)
    numpy.savez_compressed(sys.argv[1], images=images, labels=labels,
                           unseen=unseen, answers=answers)


if __name__ == "__main__":
    main()
