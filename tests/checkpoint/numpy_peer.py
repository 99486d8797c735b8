#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What numpy_test.cc asks of NumPy.

  numpy_peer.py rewrite FOLDER   compares m.npz with m.safetensors and writes
                                 their arrays anew in several ways
  numpy_peer.py count FILE N     the .npz file has N arrays: w7 is 7
"""

import json
import struct
import sys

import numpy

DTYPES = {
    "BOOL": "?", "U8": "u1", "U16": "<u2", "I32": "<i4", "U32": "<u4",
    "I64": "<i8", "U64": "<u8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
    "F8_E4M3": [("f8e4m3", "u1")], "F8_E5M2": [("f8e5m2", "u1")],
    "BF16": [("bf16", "<u2")],
}  # fmt: skip


def read_safetensors(path):
    """The dtypes and the arrays of a file, read as the format says."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        numbers = file.read()
    assert size % 8 == 0
    metadata = header.pop("__metadata__")
    assert all(type(text) is str for text in metadata.values())
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = numpy.dtype(DTYPES[entry["dtype"]])
        assert begin % dtype.itemsize == 0, name
        array = numpy.frombuffer(numbers[begin:end], dtype)
        arrays[name] = array.reshape(entry["shape"])
    return {name: entry["dtype"] for name, entry in header.items()}, arrays


def write_safetensors(path, dtypes, arrays):
    header, numbers = {}, b""
    for name, array in arrays.items():
        end = len(numbers) + array.nbytes
        header[name] = {"dtype": dtypes[name], "shape": array.shape,
                        "data_offsets": [len(numbers), end]}  # fmt: skip
        numbers += array.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + numbers)


def rewrite(folder):
    dtypes, expected = read_safetensors(folder + "/m.safetensors")
    with numpy.load(folder + "/m.npz") as file:
        arrays = dict(file)
    assert arrays.keys() == expected.keys()
    assert set(dtypes.values()) == set(DTYPES)
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype, name
        assert array.shape == expected[name].shape, name
        assert array.tobytes() == expected[name].tobytes(), name
    # As npy_header.h says.
    bits = arrays["bf16"]["bf16"]
    assert bits.dtype == numpy.uint16
    wide = (bits.astype(numpy.uint32) << 16).view(numpy.float32)
    assert wide.shape == (2, 3)
    numpy.savez(folder + "/stored.npz", **arrays)
    numpy.savez_compressed(folder + "/compressed.npz", **arrays)
    columns = {name: numpy.asfortranarray(a) for name, a in arrays.items()}
    for name, array in arrays.items():  # which makes vectors of scalars
        columns[name] = columns[name].reshape(array.shape, order="A")
    assert columns["f64"].flags.f_contiguous
    numpy.savez(folder + "/fortran.npz", **columns)
    write_safetensors(folder + "/peer.safetensors", dtypes, arrays)


def count(path, number):
    with numpy.load(path) as file:
        assert len(file.files) == int(number)
        assert file["w7"] == 7
        assert file["w" + str(int(number) - 1)] == int(number) - 1


if __name__ == "__main__":
    {"rewrite": rewrite, "count": count}[sys.argv[1]](*sys.argv[2:])
