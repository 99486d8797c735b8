"""What a WORKSPACE needs to use this project; see examples/WORKSPACE."""

load("//third_party:system_deps.bzl", "offline_bazel_rules", "system_deps")

def ocannl_deps():
    """Declares the repositories that `@ocannl//ocannl` depends on."""
    offline_bazel_rules()
    system_deps()
