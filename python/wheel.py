#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel of the module, for pip.

  bazel run //python:wheel -- DIR
  pip install DIR/ocannl-*.whl

The wheel is for the Debian, the processor and the Python that it was built on:
the module is linked with Debian's shared libraries of Abseil, libzip and zlib,
which stay outside of it. The local version in its name says so.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import sys
import zipfile

TAG = "cp311-cp311-linux_x86_64"
# Packages that have the shared libraries.
NEEDS = "libabsl20220623 libzip4"
SUMMARY = "Tensor expressions, gradients and a just-in-time compiler"


def debian():
    """The release, as "debian12"; elsewhere the name that os-release has."""
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    values = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.MULTILINE))
    return values.get("ID", "linux") + values.get("VERSION_ID", "")


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return f"{name},sha256={digest.rstrip(b'=').decode()},{len(data)}\n"


def write_wheel(folder, version, files):
    """Writes the wheel of `files`, a mapping of names to bytes, to `folder`,
    and returns its path. Equal files give equal bytes."""
    version = f"{version}+{debian()}"
    info = f"ocannl-{version}.dist-info"
    files = {**files, f"{info}/METADATA": (
        f"Metadata-Version: 2.1\nName: ocannl\nVersion: {version}\n"
        f"Summary: {SUMMARY}\nLicense: Apache-2.0\n"
        "Requires-Python: >=3.11,<3.12\n\n"
        f"Debian's packages {NEEDS} must be installed.\n").encode(),
             f"{info}/WHEEL": (
        "Wheel-Version: 1.0\nGenerator: ocannl\nRoot-Is-Purelib: false\n"
        f"Tag: {TAG}\n").encode()}
    record = "".join(record_line(name, data) for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = folder / f"ocannl-{version}-{TAG}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980: no time of day
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)
    return path


def main():
    parser = argparse.ArgumentParser(description="Makes a wheel.")
    parser.add_argument("version", help=argparse.SUPPRESS)
    parser.add_argument("package", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("folder", metavar="DIR", help="where to write it")
    arguments = parser.parse_args()
    folder = pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."),
                          arguments.folder)
    files = {f"ocannl/{path.name}": path.read_bytes()
             for path in sorted(arguments.package.iterdir())
             if path.suffix in (".py", ".pyi", ".so", ".typed")}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = write_wheel(folder, arguments.version, files)
    except OSError as error:
        sys.exit(f"cannot write the wheel: {error}; choose another folder")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
