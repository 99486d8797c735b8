"""The C++ rules of this project: Bazel's, with the options that the code needs.

They stand here and not in .bazelrc, because a project that embeds this one has
a .bazelrc of its own. Its --copt flags come before these, so these hold.
"""

COPTS = [
    "-std=c++20",

    # A fused multiply-add rounds once where the source rounds twice. The
    # compiler must never choose: the same program gives the same bits on every
    # tier. The macro says so to ocannl/core/base/narrow_float.h.
    "-ffp-contract=off",
    "-DOCANNL_FP_CONTRACT_OFF",
]

# The options and targets of tools/precompiled.bzl's headers.
def _include_first(name):
    return ["-include", "tools/%s.h" % name]

_COMMON = [Label("//tools:common_headers")]
_TEST = [Label("//tools:test_headers")]

def cc_binary(copts = [], deps = [], **kwargs):
    native.cc_binary(
        copts = COPTS + _include_first("common_headers") + copts,
        deps = deps + _COMMON,
        **kwargs
    )

# Debian's archives are not position-independent code, so no shared library can
# be made of ours, in whatever workspace they are built. `precompiled` is the name
# of the header of //tools that each source includes first.
def cc_library(copts = [], deps = [], precompiled = "common_headers", **kwargs):
    native.cc_library(
        copts = COPTS + _include_first(precompiled) + copts,
        deps = deps + [Label("//tools:" + precompiled)],
        linkstatic = True,
        **kwargs
    )

# The sources of a test itself are compiled in two thirds of the time with -Og
# (`g++` of tests/run_test.cc, merge_test.cc and three others); what they test is
# not.
TEST_COPTS = COPTS + ["-Og"]

def cc_test(copts = [], deps = [], **kwargs):
    native.cc_test(
        copts = TEST_COPTS + _include_first("test_headers") + copts,
        deps = deps + _TEST,
        **kwargs
    )
