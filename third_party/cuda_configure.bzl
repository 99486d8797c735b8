"""Finds the CUDA toolkit, or makes a repository that says there is none.

  @local_config_cuda//:headers  cc_library with cuda.h and nvrtc.h
  @local_config_cuda//:nvrtc    cc_library with libnvrtc as well

Both targets exist on every machine; they define HAVE_CUDA=1 with a toolkit and
HAVE_CUDA=0 without. CUDA_HOME chooses a toolkit; CUDA_HOME=none builds without.
"""

_WITH_TOOLKIT = """package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/*.h"]),
    defines = ["HAVE_CUDA=1"],
    includes = ["include"],
)

cc_library(
    name = "nvrtc",
    srcs = glob(["lib/libnvrtc.so*"]),
    data = glob(["lib/libnvrtc-builtins.so*"]),
    # libnvrtc opens libnvrtc-builtins by its bare name; of the two kinds of
    # run path, the linker's old one is the kind that applies there too.
    linkopts = [
        "-Wl,--disable-new-dtags,-rpath,{library_folder}",
        "-ldl",
    ],
    deps = [":headers"],
)
"""

_WITHOUT_TOOLKIT = """package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    defines = ["HAVE_CUDA=0"],
)

cc_library(
    name = "nvrtc",
    deps = [":headers"],
)
"""

def _library_folder(ctx, home):
    for folder in ["lib64", "lib", "targets/x86_64-linux/lib"]:
        path = home + "/" + folder
        if ctx.path(path + "/libnvrtc.so").exists:
            return path
    return None

def _cuda_configure_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    headers = [home + "/include/" + name for name in ["cuda.h", "nvrtc.h"]]
    library_folder = None
    if home.startswith("/") and all([ctx.path(h).exists for h in headers]):
        library_folder = _library_folder(ctx, home)

    ctx.file("WORKSPACE", "workspace(name = \"{}\")\n".format(ctx.name))
    if not library_folder:
        ctx.file("BUILD.bazel", _WITHOUT_TOOLKIT)
        return

    # Two headers rather than the folder, whose thousands of files would be
    # inputs of every action.
    for header in headers:
        ctx.symlink(header, "include/" + ctx.path(header).basename)
    for entry in ctx.path(library_folder).readdir():
        name = entry.basename
        if name.startswith("libnvrtc") and ".so" in name and ".alt" not in name:
            ctx.symlink(entry, "lib/" + name)
    ctx.file(
        "BUILD.bazel",
        _WITH_TOOLKIT.format(library_folder = library_folder),
    )

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    configure = True,
    environ = ["CUDA_HOME"],
    local = True,
)
