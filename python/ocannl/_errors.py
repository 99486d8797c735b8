# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, and where in the user's program."""

import contextlib
import os
import re
import sys
from typing import Iterator, Tuple

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Error(ValueError):
    """What the engine refuses. The message names the thing, the place and the
    fix. The model stays as it was, and usable."""


def here() -> Tuple[str, int]:
    """The file and line of the innermost caller outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(
            _PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


@contextlib.contextmanager
def plain_type_errors() -> Iterator[None]:
    """Says in our words that an argument of a call has a wrong type."""
    try:
        yield
    except TypeError as error:
        text = str(error)
        if "incompatible" not in text:
            raise
        given = text.partition("Invoked with: ")[2]
        given = re.sub(r"<(?:ocannl\.)?_native\.\w+ object at \w+>(, )?", "", given)
        raise TypeError("an argument has a wrong type, among: "
                        f"{given.strip().rstrip(',')}") from None
