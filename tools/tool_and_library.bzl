"""A program and a library under one name."""

def _tool_and_library_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = program,
        target_file = ctx.executable.tool,
        is_executable = True,
    )
    return [
        DefaultInfo(
            executable = program,
            runfiles = ctx.attr.tool[DefaultInfo].default_runfiles,
        ),
        ctx.attr.library[CcInfo],
    ]

tool_and_library = rule(
    implementation = _tool_and_library_impl,
    doc = "`bazel run` runs the tool; in `deps`, it is the library.",
    attrs = {
        "library": attr.label(mandatory = True, providers = [CcInfo]),
        "tool": attr.label(
            mandatory = True,
            executable = True,
            cfg = "target",
        ),
    },
    executable = True,
)
