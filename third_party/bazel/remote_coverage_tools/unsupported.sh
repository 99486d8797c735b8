#!/bin/sh
echo "bazel coverage needs tools that are not in the tree" >&2
exit 1
