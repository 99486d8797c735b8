#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the source tree from a project elsewhere, which is examples/.

  embed_test.py            loads and analyses all of it, and compiles a program
                           of the user's and a source of the library
  embed_test.py --build    builds and runs it as well, without a cache
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Debian turns this on; it makes every action noisy.
QUIET = ["--nosandbox_debug"]


def bazel(command, project, output):
    """Runs Bazel without what the project of this test has set."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG")
                   if name in os.environ}
    environment["HOME"] = str(output)
    subprocess.run(
        ["bazel", "--batch", "--nohome_rc", f"--output_user_root={output}",
         *command], cwd=project, env=environment, check=True)


def make_writable_and_remove(folder):
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)


def main():
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    temp = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
    project = temp / "project"
    project.mkdir()
    for path in (root / "examples").iterdir():
        if path.is_file():
            shutil.copy(path, project)
    workspace = project / "WORKSPACE"
    text = workspace.read_text(encoding="utf-8")
    assert text.count('path = ".."') == 1, text
    workspace.write_text(text.replace('".."', f'"{root}"'), encoding="utf-8")
    try:
        if "--build" in sys.argv:
            bazel(["run", "-c", "opt", *QUIET, "//:xor"], project, temp / "out")
        else:
            # The objects of these alone, not what they are linked with.
            bazel(["build", "--output_groups=compilation_outputs", *QUIET,
                   "//:xor", "@ocannl//ocannl/core/base:ndarray",
                   "@ocannl//:install"], project, temp / "out")
    finally:
        make_writable_and_remove(temp)


if __name__ == "__main__":
    main()
