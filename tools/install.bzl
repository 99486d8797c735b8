"""`bazel run //:install`: the library for programs that Bazel does not build."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load(":cc.bzl", "COPTS")
load(":link_inputs.bzl", "link_inputs")
load(":shared_library.bzl", "shared_flags")

def _installer_impl(ctx):
    library = ctx.attr.library[CcInfo]
    inputs = link_inputs(library)
    objects = inputs.objects
    link_flags = ["-l:" + part.basename for part in inputs.archives]
    link_flags += inputs.flags

    archive = ctx.actions.declare_file("libocannl.a")
    arguments = ctx.actions.args()
    arguments.add("qcsD", archive)  # q: files of one name are all kept
    arguments.add_all(objects)
    arguments.use_param_file("@%s", use_always = True)
    arguments.set_param_file_format("multiline")
    toolchain = find_cpp_toolchain(ctx)
    ctx.actions.run(
        executable = toolchain.ar_executable,
        arguments = [arguments],
        inputs = depset(objects, transitive = [toolchain.all_files]),
        outputs = [archive],
        mnemonic = "Archive",
    )

    headers = [
        header
        for header in library.compilation_context.headers.to_list()
        if header.owner.workspace_name == ctx.label.workspace_name and
           header.owner.package != "tools"
    ]
    headers += ctx.files.optional
    manifest = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(manifest, struct(
        archive = archive.short_path,
        compile_flags = COPTS,
        headers = [header.short_path for header in headers],
        optional = [header.short_path for header in ctx.files.optional],
        link_flags = link_flags,
        shared = ctx.file.shared.short_path,
        shared_link_flags = shared_flags(inputs.flags),
        umbrella = ctx.attr.umbrella,
        version = ctx.attr.version,
    ).to_json())
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(program, "#!/bin/sh\nexec {} {} \"$@\"\n".format(
        ctx.executable._program.short_path,
        manifest.short_path,
    ), is_executable = True)
    runfiles = ctx.runfiles(headers + [archive, ctx.file.shared, manifest])
    return DefaultInfo(
        executable = program,
        runfiles = runfiles.merge(
            ctx.attr._program[DefaultInfo].default_runfiles,
        ),
    )

installer = rule(
    implementation = _installer_impl,
    doc = "A program that copies a library to --prefix=DIR; see install.py.",
    attrs = {
        "library": attr.label(mandatory = True, providers = [CcInfo]),
        "optional": attr.label_list(
            allow_files = [".h"],
            doc = "Headers that need more than the library does.",
        ),
        "shared": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "The shared library with the same content.",
        ),
        "umbrella": attr.string(
            mandatory = True,
            doc = "The header that users include.",
        ),
        "version": attr.string(mandatory = True),
        "_cc_toolchain": attr.label(
            default = Label("@bazel_tools//tools/cpp:current_cc_toolchain"),
        ),
        "_program": attr.label(
            default = Label("//tools:install_program"),
            executable = True,
            cfg = "target",
        ),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    executable = True,
)
