"""Options for optimisation that GCC alone knows, by the compiler."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

OPTIONS = {
    # What -O1 leaves out.
    "INLINING": [
        "-finline-small-functions",
        "-findirect-inlining",
        "-fpartial-inlining",
    ],
    # Passes of -O2 from which code of branches and containers gains little.
    "NO_LONG_PASSES": [
        "-fno-code-hoisting",
        "-fno-gcse",
        "-fno-ipa-icf",
        "-fno-optimize-strlen",
        "-fno-schedule-insns2",
        "-fno-tree-pre",
        "-fno-tree-tail-merge",
        "-fno-tree-vectorize",
    ],
}

def _gcc_options_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    compiler = cc_common.get_tool_for_action(
        feature_configuration = cc_common.configure_features(
            ctx = ctx,
            cc_toolchain = toolchain,
        ),
        action_name = ACTION_NAMES.cpp_compile,
    )
    is_gcc = compiler.endswith("gcc")
    return [platform_common.TemplateVariableInfo({
        name: " ".join(options) if is_gcc else ""
        for name, options in OPTIONS.items()
    })]

gcc_options = rule(
    implementation = _gcc_options_impl,
    doc = "OPTIONS as $(NAME) for `copts`; empty for clang.",
    attrs = {
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
