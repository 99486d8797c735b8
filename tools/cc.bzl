"""The C++ rules of this project: Bazel's, with the options that the code needs.

They stand here and not in .bazelrc, because a project that embeds this one has
a .bazelrc of its own. Its --copt flags come before these, so these hold.
"""

load("//tools:tool_and_library.bzl", "link_to_program")

COPTS = [
    "-std=c++20",

    # A fused multiply-add rounds once where the source rounds twice. The
    # compiler must never choose: the same program gives the same bits on every
    # tier. The macro says so to ocannl/core/base/narrow_float.h.
    "-ffp-contract=off",
    "-DOCANNL_FP_CONTRACT_OFF",
]

# The same objects are linked into programs, libocannl.a and libocannl.so, so
# that each source is compiled once. Functions of the shared library are never
# replaced by others of the same name, and so the compiler may inline them.
LIBRARY_COPTS = COPTS + ["-fPIC", "-fno-semantic-interposition"]

# The options and targets of tools/precompiled.bzl's headers.
def _include_first(name):
    return ["-include", "tools/%s.h" % name]

_COMMON = [Label("//tools:common_headers")]
_TEST = [Label("//tools:test_headers")]

# For sources that neither compile programs nor run steps: main functions,
# flags, files, reports, update rules. GCC takes four fifths of the time (`g++`
# of experiments/moons.cc, experiments/support and train/optim). The linker
# takes an inline function from the first object that has it, so measure
# `experiments:bench` with --filter=compile/layers_1 when you add a library.
PROGRAM_COPTS = ["-O1"]

# For sources that make and compile programs, outside of what takes longest
# there. GCC takes three quarters of the time of -O2 (`g++` of core/index), and
# programs compile in the same (`experiments:bench` with --filter=compile).
# Parsing a graph and inferring its shapes take 4 % longer, and 5 to 9 % without
# $(INLINING) (`experiments:bench_engine` with parse and infer).
STAGE_COPTS = ["-O1", "$(INLINING)"]

# For sources where compiling programs takes longest. GCC takes 86 to 93 % of
# the time of -O2 (`g++` of core/index, core/assign/sums and core/opt in turn),
# and programs compile in the same (0.98 to 1.01 of it, `experiments:bench` with
# --filter=compile/moons,compile/layers_2). They take 5 % longer without passes
# between functions and of ranges (-fno-ipa-cp -fno-ipa-sra -fno-tree-vrp ...).
COMPILER_COPTS = ["$(NO_LONG_PASSES)"]

def cc_binary(copts = PROGRAM_COPTS, deps = [], **kwargs):
    native.cc_binary(
        copts = LIBRARY_COPTS + _include_first("common_headers") + copts,
        deps = deps + _COMMON,
        **kwargs
    )

# In the workspace of another project, the compiler looks for our files from the
# root of this repository, as it does here; paths in `external` are not found.
def _unity_source_impl(ctx):
    source = ctx.actions.declare_file(ctx.label.name + ".cc")
    repository = "../%s/" % ctx.label.workspace_name
    ctx.actions.write(source, "".join([
        "#include \"%s\"\n" % src.short_path.replace(repository, "")
        for src in ctx.files.srcs
    ]))
    return [DefaultInfo(files = depset([source]))]

_unity_source = rule(
    implementation = _unity_source_impl,
    attrs = {"srcs": attr.label_list(allow_files = [".cc"])},
)

# The unit of `sources`, or they by themselves with --define=unity=off.
def _unit(name, sources, testonly = False):
    unity = name + "_unity"
    _unity_source(name = unity, srcs = sources, testonly = testonly)
    return _if_unity([unity], sources)

def _if_unity(values, otherwise = []):
    return select({
        str(Label("//tools:unity_off")): otherwise,
        "//conditions:default": values,
    })

# Compiles `srcs` as one translation unit (a unity build, or jumbo build): half
# of the time of most sources is headers and templates that their neighbours
# need too. --define=unity=off compiles each by itself.
#
# Debian's archives are not position-independent code, so no shared library can
# be made of ours, in whatever workspace they are built.
def cc_library(
        name,
        srcs = [],
        copts = [],
        deps = [],
        textual_hdrs = [],
        **kwargs):
    sources = [src for src in srcs if src.endswith(".cc")]
    if len(sources) > 1:
        textual_hdrs = textual_hdrs + sources
        others = [src for src in srcs if src not in sources]
        srcs = others + _unit(name, sources)

        # GCC inlines less in what it takes for a large unit: compiling a
        # program took 9 % longer without the first (`tools/replay.py --old
        # --new --speed=compile_again`). A type of a source's unnamed namespace
        # is in one unit still.
        copts = copts + _if_unity([
            "--param=large-unit-insns=1000000",
            "-Wno-subobject-linkage",
        ])
    native.cc_library(
        name = name,
        srcs = srcs,
        copts = LIBRARY_COPTS + _include_first("common_headers") + copts,
        toolchains = [Label("//tools:gcc_options")],
        textual_hdrs = textual_hdrs,
        deps = deps + _COMMON,
        linkstatic = True,
        **kwargs
    )

# The sources of a test itself are compiled in two thirds of the time with -Og
# (`g++` of tests/train/run_test.cc, tests/runtime/merge_test.cc and three
# others); what they test is not.
TEST_COPTS = COPTS + ["-Og"]

# Visible to //tests, whose source_map_test runs some of them.
def cc_test(
        copts = [],
        deps = [],
        visibility = [Label("//tests:__pkg__")],
        **kwargs):
    native.cc_test(
        copts = TEST_COPTS + _include_first("test_headers") + copts,
        deps = deps + _TEST,
        visibility = visibility,
        **kwargs
    )

def _grouped_test_impl(ctx):
    # A link, since the program finds its tests by the name of its call.
    program = link_to_program(ctx, ctx.executable.program)
    files = [ctx.executable.program] + ctx.files.data
    runfiles = ctx.runfiles(files = files, collect_default = True)
    return [DefaultInfo(
        executable = program,
        runfiles = runfiles.merge(
            ctx.attr.program[DefaultInfo].default_runfiles,
        ),
    )]

_grouped_test = rule(
    implementation = _grouped_test_impl,
    attrs = {
        "data": attr.label_list(allow_files = True),
        "program": attr.label(executable = True, cfg = "target"),
    },
    test = True,
)

# Tests of one folder that are compiled as one unit and linked once: half of the
# time of most tests is headers and templates that their neighbours need too
# (`g++` of five tests of tests/optim: 26 s by themselves, 12 s as one unit).
# `tests` has the attributes of each test by its name. The test a_test has the
# source a_test.cc and runs the tests of this file alone (grouped_main.cc).
# Tests that replace `operator new` or have a main function stay outside, and
# those that read files when the program starts.
def cc_test_group(
        name,
        tests,
        deps,
        visibility = [Label("//tests:__pkg__")]):
    sources = [test + ".cc" for test in tests]
    texts = name + "_texts"
    native.cc_library(name = texts, textual_hdrs = sources, testonly = True)
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = _unit(name, sources, testonly = True),
        copts = TEST_COPTS + _include_first("test_headers") +
                _if_unity(["-Wno-subobject-linkage"]),
        visibility = visibility,
        deps = deps + _TEST + [
            texts,
            Label("//tools:grouped_main"),
        ],
    )
    for test, attributes in tests.items():
        _grouped_test(
            name = test,
            program = name,
            visibility = visibility,
            **dict({"size": "small"}, **attributes)
        )
