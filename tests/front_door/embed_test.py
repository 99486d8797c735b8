#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the source tree from a copy of examples/ elsewhere, by Bazel.

  embed_test.py            builds and runs a program with a part of the engine,
                           compiles the example, and analyses all of it
  embed_test.py --build    builds and runs the example, in the sandbox and
                           outside of it, without a cache: ten minutes

An external repository has other paths, so that nothing of this build is of use
there. Each library that is compiled as one source goes through the same rule:
the program has one of them, and of the others the paths of all includes are
looked for in the tree.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FLAGS = [
    "--nosandbox_debug",  # Debian turns it on; it makes every action noisy
    "--spawn_strategy=sandboxed",
]
PROGRAM = """
cc_binary(
    name = "part",
    srcs = ["part.cc"],
    copts = ["-std=c++20"],
    deps = [
        "@ocannl//ocannl/core/base:ndarray",
        "@ocannl//ocannl/core/index",
    ],
)
"""
SOURCE = """\
#include <iostream>

#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/index/affine.h"

int main() {
  const ocannl::Symbol i = ocannl::Iterator({3});
  const ocannl::Affine sum = 2 * ocannl::Affine(i) + ocannl::Affine(i);
  const ocannl::NdArray cells(ocannl::DType::kF32, {2, 3});
  std::cout << sum.FactorOf(i) * cells.size() << "\\n";
}
"""


class Project:
    """A copy of the example project, and what Bazel makes of it."""

    def __init__(self, root, temp):
        self.root, self.output = root, temp / "out"
        self.folder = temp / "project"
        shutil.copytree(root / "examples", self.folder)
        workspace = self.folder / "WORKSPACE"
        text = workspace.read_text(encoding="utf-8")
        assert text.count('path = ".."') == 1, text
        workspace.write_text(text.replace('".."', f'"{root}"'),
                             encoding="utf-8")
        with open(self.folder / "BUILD", "a", encoding="utf-8") as build:
            build.write(PROGRAM)
        (self.folder / "part.cc").write_text(SOURCE, encoding="utf-8")

    def bazel(self, *command):
        """What Bazel prints, without what the project of this test has set."""
        environment = {name: os.environ[name] for name in ("PATH", "LANG")
                       if name in os.environ}
        environment["HOME"] = str(self.output)
        ran = subprocess.run(
            ["bazel", "--nohome_rc", "--max_idle_secs=600",
             "--host_jvm_args=-XX:TieredStopAtLevel=1",
             f"--output_user_root={self.output}", *command],
            cwd=self.folder, env=environment, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        sys.stderr.write(ran.stderr)
        ran.check_returncode()
        return ran.stdout

    def find_sandbox(self):
        """Leaves out the sandbox where there is none."""
        try:
            self.bazel("build", *FLAGS, "//:BUILD")
        except subprocess.CalledProcessError:
            FLAGS.remove("--spawn_strategy=sandboxed")
            print("not run: the sandboxed build; no sandbox can be made here")

    def runs_a_part(self):
        # The parts are for the folders to the right of them, and for this.
        printed = self.bazel("run", *FLAGS, "--nocheck_visibility", "//:part")
        assert printed.split()[-1:] == ["18"], printed

    def compiles_the_example(self):
        """Its object alone, not what it is linked with."""
        self.bazel("build", "--output_groups=compilation_outputs", *FLAGS,
                   "//:xor")
        self.bazel("build", "--nobuild", *FLAGS, "@ocannl//:install")

    def includes_are_there(self):
        """Those of the sources that are made for whole libraries."""
        sources = self.bazel("query", "kind(_unity_source, deps(//:xor))")
        names = sources.split()
        assert len(names) >= 20, sources
        self.bazel("build", *FLAGS, *names)
        for name in names:
            package, target = name.removeprefix("@ocannl//").split(":")
            made = (self.folder / "bazel-bin/external/ocannl" / package /
                    f"{target}.cc").read_text(encoding="utf-8")
            included = re.findall(r'#include "(.*)"', made)
            assert len(included) > 1, made
            for path in included:
                assert (self.root / path).is_file(), (name, path)

    def runs_the_example(self):
        for strategy in ("sandboxed", "local"):
            printed = self.bazel("run", "-c", "opt", *FLAGS,
                                 f"--spawn_strategy={strategy}", "//:xor")
            assert printed.count(" xor ") == 4, printed
            self.bazel("clean")


def make_writable_and_remove(folder):
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)


def main():
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    temp = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
    project = Project(root, temp)
    try:
        if "--build" in sys.argv:
            project.runs_the_example()
        else:
            project.find_sandbox()
            project.runs_a_part()
            project.compiles_the_example()
            project.includes_are_there()
    finally:
        project.bazel("shutdown")
        make_writable_and_remove(temp)


if __name__ == "__main__":
    main()
