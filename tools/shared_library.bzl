"""A shared library that contains its `deps` and exports some symbols."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load(":link_inputs.bzl", "link_inputs")

def shared_flags(flags):
    """Returns the flags with shared libraries in the place of archives.

    Debian's archives of Abseil have thread-local variables, which are compiled
    for programs: a shared library cannot be linked with them.
    """
    return [
        "-l" + flag[len("-l:lib"):-len(".a")] if flag.startswith("-l:lib") else flag
        for flag in flags
    ]

def _shared_library_impl(ctx):
    libraries = ctx.attr.deps + [ctx.attr._stderr]
    inputs = link_inputs(cc_common.merge_cc_infos(
        cc_infos = [library[CcInfo] for library in libraries],
    ))
    library = ctx.actions.declare_file(ctx.attr.file)
    toolchain = find_cpp_toolchain(ctx)
    arguments = ctx.actions.args()
    arguments.add("-shared")
    arguments.add("-o", library)
    if ctx.attr.soname:
        arguments.add("-Wl,-soname," + ctx.attr.soname)
    arguments.add("-Wl,-Bsymbolic")
    if ctx.attr.complete:
        arguments.add("-Wl,-z,defs")
    arguments.add(ctx.file.symbols, format = "-Wl,--version-script=%s")

    # AsmJit's archive refers to `stderr` as only programs can. The linker
    # makes it read a variable of the shared library instead.
    arguments.add("-Wl,--defsym,stderr=ocannl_stderr")
    arguments.add_all(inputs.objects)
    arguments.add_all(inputs.archives)
    arguments.add("-Wl,--as-needed")
    arguments.add_all(shared_flags(inputs.flags))
    arguments.add("-lstdc++")
    arguments.add("-lm")
    arguments.use_param_file("@%s", use_always = True)
    arguments.set_param_file_format("multiline")
    ctx.actions.run(
        executable = toolchain.compiler_executable,
        arguments = [arguments],
        inputs = depset(
            inputs.objects + inputs.archives + [ctx.file.symbols],
            transitive = [toolchain.all_files],
        ),
        outputs = [library],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "LinkShared",
        progress_message = "Linking " + library.short_path,
    )
    return [DefaultInfo(files = depset([library]))]

shared_library = rule(
    implementation = _shared_library_impl,
    attrs = {
        "complete": attr.bool(
            default = True,
            doc = "Whether every symbol must be defined; False for a plug-in.",
        ),
        "deps": attr.label_list(mandatory = True, providers = [CcInfo]),
        "file": attr.string(mandatory = True, doc = "such as libx.so.0"),
        "soname": attr.string(),
        "symbols": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "A version script, which lists the public symbols.",
        ),
        "_stderr": attr.label(default = Label("//tools:shared_stderr")),
        "_cc_toolchain": attr.label(
            default = Label("@bazel_tools//tools/cpp:current_cc_toolchain"),
        ),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
