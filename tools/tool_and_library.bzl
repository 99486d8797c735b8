"""A program and a library under one name."""

# A link to `program` with the name of the target.
def link_to_program(ctx, program):
    link = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        output = link,
        target_file = program,
        is_executable = True,
    )
    return link

def _tool_and_library_impl(ctx):
    return [
        DefaultInfo(
            executable = link_to_program(ctx, ctx.executable.tool),
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
