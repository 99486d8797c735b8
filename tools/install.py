#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the library to where compilers, pkg-config and CMake find it.

  bazel run //:install -- --prefix=DIR

  DIR/include/ocannl/...                    the headers that ocannl.h includes,
                                            and optional ones, such as eigen.h
  DIR/lib/libocannl.a, libocannl.so         the library, archive and shared
  DIR/lib/pkgconfig/ocannl.pc               pkg-config --cflags --libs ocannl
  DIR/lib/pkgconfig/ocannl-shared.pc        ... --libs ocannl-shared
  DIR/lib/cmake/ocannl/ocannlConfig.cmake   find_package(ocannl), ocannl::ocannl
                                            or ocannl::shared

The folder can be moved. Abseil and the other libraries of the operating system
are not in it: programs are linked with those that are installed. With the
archive, a program contains Abseil's archives. With the shared library, it must
use Abseil's shared ones. The files of pkg-config and CMake link them so.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import sys

PKG_CONFIG = """\
prefix=${{pcfiledir}}/../..

Name: {name}
Description: Tensor expressions, gradients, and a just-in-time compiler
Version: {version}
Cflags: {compile_flags} -I${{prefix}}/include
Libs: -L${{prefix}}/lib {link_flags}
"""

CMAKE = """\
# find_package(ocannl) makes the targets ocannl::ocannl, the archive, and
# ocannl::shared.
if(NOT TARGET ocannl::ocannl)
  get_filename_component(_ocannl "${{CMAKE_CURRENT_LIST_DIR}}/../../.."
    ABSOLUTE)
  add_library(ocannl::ocannl STATIC IMPORTED)
  set_target_properties(ocannl::ocannl PROPERTIES
    IMPORTED_LOCATION "${{_ocannl}}/lib/libocannl.a"
    INTERFACE_LINK_LIBRARIES "{link_flags}")
  add_library(ocannl::shared SHARED IMPORTED)
  set_target_properties(ocannl::shared PROPERTIES
    IMPORTED_LOCATION "${{_ocannl}}/lib/{soname}"
    IMPORTED_SONAME "{soname}"
    INTERFACE_LINK_LIBRARIES "{shared_link_flags}")
  set_target_properties(ocannl::ocannl ocannl::shared PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${{_ocannl}}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_COMPILE_OPTIONS "{compile_flags}")
  unset(_ocannl)
endif()
"""


def reachable(roots, headers):
    """The names of the headers that `roots` include, and their own."""
    found, left = set(), list(roots)
    while left:
        name = left.pop()
        if name in found or name not in headers:
            continue
        found.add(name)
        text = headers[name].read_text(encoding="utf-8")
        left += re.findall(r'^\s*#include "([^"]+)"', text, re.MULTILINE)
    return sorted(found)


def grouped(flags):
    """What is between --start-group and --end-group as one flag, which nobody
    reorders."""
    text = " ".join(flags)
    join = lambda match: re.sub(r" (?:-Wl,)?", ",", match[0])
    return re.sub(r"-Wl,--start-group .*?-Wl,--end-group", join, text).split()


def install(manifest, prefix):
    """Writes the files below `prefix`."""
    include, lib = prefix / "include", prefix / "lib"
    top = manifest["umbrella"].partition("/")[0]
    # From another workspace, the paths begin with ../ocannl/.
    name_of = lambda path: re.sub(r"^\.\./[^/]*/", "", path)
    headers = {name_of(path): pathlib.Path(path)
               for path in manifest["headers"]}
    shutil.rmtree(include / top, ignore_errors=True)  # no header of old stays
    names = reachable(
        [manifest["umbrella"], *map(name_of, manifest["optional"])], headers)
    for name in names:
        (include / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(headers[name], include / name)
    for folder in (lib / "pkgconfig", lib / "cmake/ocannl"):
        folder.mkdir(parents=True, exist_ok=True)
    soname = pathlib.Path(manifest["shared"]).name
    shutil.copyfile(manifest["archive"], lib / "libocannl.a")
    shutil.copyfile(manifest["shared"], lib / soname)
    (lib / "libocannl.so").unlink(missing_ok=True)
    (lib / "libocannl.so").symlink_to(soname)
    compile_flags = manifest["compile_flags"]
    link_flags = grouped(manifest["link_flags"])
    shared_link_flags = ["-Wl,--as-needed", *grouped(
        manifest["shared_link_flags"])]
    for name, flags in (("ocannl", ["-l:libocannl.a", *link_flags]),
                        ("ocannl-shared", ["-locannl", *shared_link_flags])):
        (lib / f"pkgconfig/{name}.pc").write_text(PKG_CONFIG.format(
            name=name, version=manifest["version"],
            compile_flags=" ".join(compile_flags),
            link_flags=" ".join(flags)), encoding="utf-8")
    # CMake chooses -std itself.
    compile_flags = [f for f in compile_flags if not f.startswith("-std=")]
    (lib / "cmake/ocannl/ocannlConfig.cmake").write_text(CMAKE.format(
        compile_flags=";".join(compile_flags), soname=soname,
        link_flags=";".join(link_flags),
        shared_link_flags=";".join(shared_link_flags)), encoding="utf-8")
    return len(names)


def main():
    parser = argparse.ArgumentParser(description="Installs the library.")
    parser.add_argument("manifest", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--prefix", required=True, metavar="DIR",
                        help="the folder to make, such as /usr/local")
    arguments = parser.parse_args()
    manifest = json.loads(arguments.manifest.read_text(encoding="utf-8"))
    # Where `bazel run` was called.
    prefix = pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."),
                          arguments.prefix).resolve()
    try:
        count = install(manifest, prefix)
    except OSError as error:
        sys.exit(f"cannot install below {prefix}: {error}; "
                 "choose another --prefix")
    print(f"installed libocannl.a, libocannl.so and {count} headers below "
          f"{prefix}")


if __name__ == "__main__":
    main()
