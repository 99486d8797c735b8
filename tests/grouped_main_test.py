#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows which tests tools/grouped_main.cc runs, with the group of tests/optim."""

import os
import pathlib
import re
import subprocess
import tempfile

GROUP = pathlib.Path("tests/optim/tests").absolute()


def run(name, *flags, **variables):
    """The exit code, the tests that ran or are listed, and the messages."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("GTEST_", "TEST", "XML_"))}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, name)
        program.symlink_to(GROUP)
        done = subprocess.run([program, *flags], text=True,
                              env={**environment, **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ran = re.findall(r"^\[ RUN +\] (\S+)", done.stdout, re.M)
    suite = ""
    for line in done.stdout.splitlines():  # of --gtest_list_tests
        if re.fullmatch(r"\S+\.", line):
            suite = line
        elif suite and line.startswith("  "):
            ran.append(suite + line.split()[0])
    return done.returncode, ran, done.stderr


def listed(name, *flags, **variables):
    code, tests, _ = run(name, "--gtest_list_tests", *flags, **variables)
    assert code == 0
    return tests


def main():
    # A program that would run nothing fails, whatever the filter.
    for flags in ([], ["--gtest_filter=*"], ["--gtest_list_tests"]):
        code, ran, message = run("other_test", *flags)
        assert code == 1 and not ran, (code, ran)
        assert "no test of other_test.cc is linked" in message, message

    # Each test of each source is that of one program.
    folder = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    sources = [folder / f"tests/optim/{name}_test.cc"
               for name in ("frozen", "loss_scale", "rules", "transforms")]
    tests = {source.stem: listed(source.stem) for source in sources}
    for source in sources:
        named = re.findall(r"^TEST\w*\(\s*(\w+),\s*(\w+)\)",
                           source.read_text(), re.M)
        # Tests with parameters are called A/Suite.Test/0.
        names = {re.sub(r"^\w+/|/\d+$", "", test)
                 for test in tests[source.stem]}
        assert names == {f"{suite}.{test}" for suite, test in named}, source

    # A filter of the user's holds too, of a flag and of Bazel's --test_filter.
    name, own = max(tests.items(), key=lambda item: len(item[1]))
    other = next(tests[key][0] for key in tests if key != name)
    assert len(own) >= 3, own
    flag = "--gtest_filter="
    assert listed(name, flag + own[0]) == own[:1]
    assert listed(name, TESTBRIDGE_TEST_ONLY=own[0]) == own[:1]
    assert listed(name, flag + f"{own[0]}:{other}") == own[:1]
    assert listed(name, flag + other) == []
    assert listed(name, flag + f"-{own[0]}") == own[1:]
    assert listed(name, flag + f"*-{own[0]}:{own[1]}") == own[2:]
    assert listed(name, flag + f"{own[1]}:{own[0]}-{own[0]}") == own[1:2]

    # Shards divide the tests of the source.
    shards = [run(name, flag + f"{own[0]}:{own[1]}:{other}",
                  GTEST_TOTAL_SHARDS="2", GTEST_SHARD_INDEX=str(k))
              for k in range(2)]
    assert [code for code, _, _ in shards] == [0, 0], shards
    assert [ran for _, ran, _ in shards] == [own[:1], own[1:2]], shards


if __name__ == "__main__":
    main()
