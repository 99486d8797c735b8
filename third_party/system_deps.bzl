"""Makes Bazel repositories of the libraries that Debian packages install.

Nothing is downloaded: a repository is a folder of symbolic links into /usr and
one of the *.BUILD files next to this one. `./bazelw` installs the packages.
"""

_LIB = "/usr/lib/x86_64-linux-gnu/"

def _system_library_impl(ctx):
    for link, target in ctx.attr.links.items():
        if not ctx.path(target).exists:
            fail("@{} needs {}. Install it: apt-get install {}".format(
                ctx.name,
                target,
                ctx.attr.package,
            ))
        ctx.symlink(target, link)
    ctx.file("WORKSPACE", "workspace(name = \"{}\")\n".format(ctx.name))
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

_system_library = repository_rule(
    implementation = _system_library_impl,
    doc = "A library of the operating system.",
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "links": attr.string_dict(
            mandatory = True,
            doc = "Path in the repository -> path in the system.",
        ),
        "package": attr.string(
            mandatory = True,
            doc = "Debian's name, for the error message.",
        ),
    },
    local = True,
)

def system_deps():
    """Declares every third-party C++ library of the project."""
    _system_library(
        name = "asmjit",
        build_file = Label("//third_party:asmjit.BUILD"),
        links = {
            "include/asmjit": "/usr/include/asmjit",
            "lib/libasmjit.a": _LIB + "libasmjit.a",
        },
        package = "libasmjit-dev",
    )
    _system_library(
        name = "com_google_absl",
        build_file = Label("//third_party:absl.BUILD"),
        links = {
            "include/absl": "/usr/include/absl",
            "lib/libabsl_base.a": _LIB + "libabsl_base.a",
        },
        package = "libabsl-dev",
    )
    _system_library(
        name = "com_google_benchmark",
        build_file = Label("//third_party:benchmark.BUILD"),
        links = {
            "include/benchmark": "/usr/include/benchmark",
        },
        package = "libbenchmark-dev",
    )
    _system_library(
        name = "com_google_googletest",
        build_file = Label("//third_party:googletest.BUILD"),
        links = {
            "include/gmock": "/usr/include/gmock",
            "include/gtest": "/usr/include/gtest",
            "lib/libgmock.a": _LIB + "libgmock.a",
            "lib/libgmock_main.a": _LIB + "libgmock_main.a",
            "lib/libgtest.a": _LIB + "libgtest.a",
        },
        package = "libgtest-dev libgmock-dev",
    )
    _system_library(
        name = "eigen",
        build_file = Label("//third_party:eigen.BUILD"),
        links = {
            "include/Eigen": "/usr/include/eigen3/Eigen",
            "include/unsupported": "/usr/include/eigen3/unsupported",
        },
        package = "libeigen3-dev",
    )
    _system_library(
        name = "libdwarf",
        build_file = Label("//third_party:libdwarf.BUILD"),
        links = {"include/libdwarf": "/usr/include/libdwarf"},
        package = "libdwarf-dev",
    )
    _system_library(
        name = "nlohmann_json",
        build_file = Label("//third_party:nlohmann_json.BUILD"),
        links = {"include/nlohmann": "/usr/include/nlohmann"},
        package = "nlohmann-json3-dev",
    )
    _system_library(
        name = "pybind11",
        build_file = Label("//third_party:pybind11.BUILD"),
        links = {
            "include/dlpack": "/usr/include/dlpack",
            "include/pybind11": "/usr/include/pybind11",
            "include/python3.11": "/usr/include/python3.11",
        },
        package = "libdlpack-dev pybind11-dev python3-dev",
    )
    _system_library(
        name = "xxhash",
        build_file = Label("//third_party:xxhash.BUILD"),
        links = {
            "include/xxhash.h": "/usr/include/xxhash.h",
            "lib/libxxhash.a": _LIB + "libxxhash.a",
        },
        package = "libxxhash-dev",
    )
    _system_library(
        name = "libzip",
        build_file = Label("//third_party:libzip.BUILD"),
        links = {
            "include/zip.h": "/usr/include/zip.h",
            "include/zipconf.h": "/usr/include/zipconf.h",
            "lib/libzip.so": _LIB + "libzip.so",
        },
        package = "libzip-dev",
    )
    _system_library(
        name = "zlib",
        build_file = Label("//third_party:zlib.BUILD"),
        links = {
            "include/zconf.h": "/usr/include/zconf.h",
            "include/zlib.h": "/usr/include/zlib.h",
            "lib/libz.a": _LIB + "libz.a",
        },
        package = "zlib1g-dev",
    )
    _system_library(
        name = "libsodium",
        build_file = Label("//third_party:libsodium.BUILD"),
        links = {
            "include/sodium": "/usr/include/sodium",
            "include/sodium.h": "/usr/include/sodium.h",
            "lib/libsodium.a": _LIB + "libsodium.a",
        },
        package = "libsodium-dev",
    )

def _folder_impl(ctx):
    for entry in ctx.path(ctx.attr.workspace_file).dirname.readdir():
        ctx.symlink(entry, entry.basename)

_folder = repository_rule(
    implementation = _folder_impl,
    doc = "A folder of this repository, whichever workspace it is part of.",
    attrs = {
        "workspace_file": attr.label(
            mandatory = True,
            allow_single_file = True,
            doc = "The WORKSPACE that stands in it.",
        ),
    },
    local = True,
)

def offline_bazel_rules():
    """Stands in for the rule sets that Debian's Bazel 4.2 would download.

    Newer Bazels bring their own. Debian's build has an empty version. What a
    workspace declares before stays as it is.
    """
    version = native.bazel_version
    if version and not version.startswith("4."):
        return
    for name in ["remote_coverage_tools", "rules_cc", "rules_java"]:
        if native.existing_rule(name) == None:
            _folder(
                name = name,
                workspace_file = Label("//third_party/bazel/%s:WORKSPACE" % name),
            )
