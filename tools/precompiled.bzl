"""A precompiled header, which every source includes first.

More than half of the time to compile a source went into the headers of Abseil
and the standard library (`g++ -fsyntax-only`). GCC reads the precompiled header
where the options are the same, and its text elsewhere. Clang gets an empty
header: its builds show that each source includes what it uses.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    compiler = cc_common.get_tool_for_action(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    own = cc_common.create_compilation_context(headers = depset([header]))
    if not compiler.endswith("gcc"):
        ctx.actions.write(header, "")
        return CcInfo(compilation_context = own)

    ctx.actions.write(header, "".join([
        "#include %s\n" % include
        for include in ctx.attr.includes
    ]))
    used = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    precompiled = ctx.actions.declare_file(header.basename + ".gch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = precompiled.path,
        include_directories = used.includes,
        quote_include_directories = used.quote_includes,
        system_include_directories = used.system_includes,
        user_compile_flags = ctx.fragments.cpp.copts +
                             ctx.fragments.cpp.cxxopts +
                             ctx.attr.copts + ["-x", "c++-header"],
    )
    ctx.actions.run(
        executable = compiler,
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        inputs = depset(
            [header],
            transitive = [used.headers, toolchain.all_files],
        ),
        outputs = [precompiled],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + header.short_path,
    )
    own = cc_common.create_compilation_context(
        headers = depset([header, precompiled], transitive = [used.headers]),
        includes = used.includes,
        quote_includes = used.quote_includes,
        system_includes = used.system_includes,
    )
    return CcInfo(compilation_context = own)

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = "NAME.h for `-include`, and NAME.h.gch, which GCC reads instead.",
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "includes": attr.string_list(doc = "such as <vector>"),
        "_cc_toolchain": attr.label(
            default = "@bazel_tools//tools/cpp:current_cc_toolchain",
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
