#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of Unicode that word_piece.cc includes, from Python's.

  kOthers, kMarks, kPunctuation, kSpaces   ranges of code points, in order
  kFoldings   what a code point becomes without accents and in lower case
"""

import sys
import unicodedata

# Surrogates are no characters, and Hangul is decomposed by arithmetic.
POINTS = [c for c in map(chr, range(sys.maxunicode + 1))
          if not 0xD800 <= ord(c) <= 0xDFFF and not 0xAC00 <= ord(c) <= 0xD7A3]


def ranges(name, is_in):
    print(f"constexpr CodeRange {name}[] = {{")
    first = last = None
    for point in [ord(c) for c in POINTS if is_in(unicodedata.category(c))]:
        if last == point - 1:
            last = point
            continue
        if first is not None:
            print(f"    {{{first:#x}, {last:#x}}},")
        first = last = point
    print(f"    {{{first:#x}, {last:#x}}}}};")


def folded(char):
    """Its canonical decomposition (NFD) without marks, each in lower case."""
    return "".join(c.lower() for c in unicodedata.normalize("NFD", char)
                   if unicodedata.category(c) != "Mn")


ranges("kOthers", lambda category: category in ("Cc", "Cf", "Co"))
ranges("kMarks", lambda category: category == "Mn")
ranges("kPunctuation", lambda category: category[0] == "P")
ranges("kSpaces", lambda category: category[0] == "Z")
print("constexpr CodeFolding kFoldings[] = {")
for char in POINTS:
    if unicodedata.category(char) != "Mn" and folded(char) != char:
        points = ", ".join(f"{ord(c):#x}" for c in folded(char))
        print(f"    {{{ord(char):#x}, {{{points}}}}},")
print("};")
