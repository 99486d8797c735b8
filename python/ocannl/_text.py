# SPDX-License-Identifier: Apache-2.0
"""Text as the numbers of a vocabulary, and files of models of text."""

from __future__ import annotations

import os
from typing import Any, List, Sequence, Tuple, Union

from ocannl import _native
from ocannl._errors import Error, checked
from ocannl._handles import Path


def _texts(given: Union[str, Sequence[str]]) -> List[str]:
    """One or more texts, as a list; the native functions take bytes, too."""
    texts = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is a str")
    return texts


class WordPiece:
    """The tokenizer of BERT, by the pieces of its vocab.txt.

        pieces = ocannl.WordPiece("vocab.txt")
        ids, mask = pieces(["One.", "Two words."])

    A model in lower case also has no accents; a cased one wants
    lower_case=False.
    """

    __slots__ = ("_native",)

    @checked
    def __init__(self, path: Path, *, lower_case: bool = True) -> None:
        self._native = _native.WordPiece(os.fspath(path), lower_case)

    @checked
    def __call__(self, texts: Union[str, Sequence[str]], *, most: int = 512,
                 multiple: int = 1) -> Tuple[_native.Array, _native.Array]:
        """The ids of texts, i32 (texts, length), and a mask, f32: 1 for a token
        and 0 for padding. Each text begins with [CLS] and ends with [SEP].

        The length is that of the longest text, raised to a multiple of
        `multiple`: fewer lengths compile fewer times. Texts are cut to `most`.
        """
        return self._native.batch(_texts(texts), most, multiple)

    @checked
    def encode(self, text: str) -> List[int]:
        """The ids of the pieces of a text, without [CLS] and [SEP]."""
        return self._native.ids(*_texts([text]))

    @checked
    def piece(self, number: int) -> str:
        """The piece that has a number."""
        if not 0 <= number < len(self):
            raise Error(f"there is no piece {number}; the last one is "
                        f"{len(self) - 1}")
        return self._native.piece(number)

    def __len__(self) -> int:
        """How many pieces there are."""
        return self._native.size()


class SentenceEncoder:
    """Sentences as vectors, by a BERT of a folder of sentence-transformers.

        encoder = ocannl.SentenceEncoder("all-MiniLM-L6-v2")
        vectors = np.asarray(encoder(["A cat.", "A dog."]))
        similarity = vectors @ vectors.T

    The folder has config.json, vocab.txt and model.safetensors. Its vectors are
    means over tokens; other models are errors.
    """

    __slots__ = ("_native",)

    @checked
    def __init__(self, folder: Path, *, tier: str = "auto",
                 threads: int = 0) -> None:
        self._native = _native.SentenceEncoder(os.fspath(folder), tier, threads)

    @checked
    def __call__(self, texts: Union[str, Sequence[str]], *,
                 batch: int = 32) -> _native.Array:
        """A row of length 1 for each text, f32 (texts, size). Texts are cut to
        max_length tokens, and texts of similar lengths are computed together:
        up to `batch`."""
        return self._native.embed(_texts(texts), batch)

    @checked
    def embed_tokens(self, ids: Any, mask: Any) -> _native.Array:
        """The same for what WordPiece gives: i32 and f32 (texts, length)."""
        return self._native.embed_tokens(ids, mask)

    @property
    def size(self) -> int:
        """The number of cells of a vector."""
        return self._native.size()

    @property
    def max_length(self) -> int:
        """Tokens of the longest text that is not cut."""
        return self._native.max_length()


def bert_rules() -> List[Tuple[str, str]]:
    """Rules for Model.load(..., rename=) of a BertModel of Hugging Face: for
    embeddings called "word", "position" and "type", their layer_norm "norm",
    and an encoder "encoder" with pre_norm=False."""
    return _native.bert_rules()


__all__ = ["SentenceEncoder", "WordPiece", "bert_rules"]
