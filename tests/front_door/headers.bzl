"""The headers of libraries, as data of a test that compiles with them."""

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
