"""Options for inlining that -O1 leaves out, by the compiler."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _inlining_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    compiler = cc_common.get_tool_for_action(
        feature_configuration = cc_common.configure_features(
            ctx = ctx,
            cc_toolchain = toolchain,
        ),
        action_name = ACTION_NAMES.cpp_compile,
    )
    options = [
        "-finline-small-functions",
        "-findirect-inlining",
        "-fpartial-inlining",
    ] if compiler.endswith("gcc") else []
    return [platform_common.TemplateVariableInfo({
        "INLINING": " ".join(options),
    })]

inlining = rule(
    implementation = _inlining_impl,
    doc = "$(INLINING) for `copts`. Clang does not know the options of GCC.",
    attrs = {
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
