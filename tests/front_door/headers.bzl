"""The headers of libraries, and their examples, for tests that compile them."""

def _headers_impl(ctx):
    all = depset(transitive = [
        dep[CcInfo].compilation_context.headers
        for dep in ctx.attr.deps
    ])

    # A unity build takes sources for headers (tools/cc.bzl).
    files = [file for file in all.to_list() if file.extension != "cc"]
    return [DefaultInfo(
        files = depset(files),
        runfiles = ctx.runfiles(files),
    )]

headers = rule(
    implementation = _headers_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def _header_examples_impl(ctx):
    all = depset(transitive = [
        dep[CcInfo].compilation_context.headers
        for dep in ctx.attr.deps
    ])
    headers = [
        file
        for file in all.to_list()
        if file.extension == "h" and file.short_path.startswith("ocannl/")
    ]
    ctx.actions.run_shell(
        inputs = headers + [ctx.file._script],
        outputs = [ctx.outputs.out],
        command = "python3 \"$@\"",
        arguments = [ctx.file._script.path, ctx.outputs.out.path] +
                    [header.path for header in headers],
        mnemonic = "HeaderExamples",
        use_default_shell_env = True,
    )

header_examples = rule(
    implementation = _header_examples_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "out": attr.output(mandatory = True),
        "_script": attr.label(
            default = "//tests/front_door:header_examples.py",
            allow_single_file = True,
        ),
    },
)
