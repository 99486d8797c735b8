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

def cc_binary(copts = [], **kwargs):
    native.cc_binary(copts = COPTS + copts, **kwargs)

# Debian's archives are not position-independent code, so no shared library can
# be made of ours, in whatever workspace they are built.
def cc_library(copts = [], **kwargs):
    native.cc_library(copts = COPTS + copts, linkstatic = True, **kwargs)

def cc_test(copts = [], **kwargs):
    native.cc_test(copts = COPTS + copts, **kwargs)
