#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the experiments as users do: what they print fits a terminal of 80
columns and 24 rows, what they write is where they say, and training goes on
from a file as if it had never stopped.
"""

import gzip
import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import zipfile

PROGRAMS = ["moons", "moons_parallel", "lenet", "gpt2_mini", "digits",
            "digit_addition", "circles_conv", "names", "text", "reverse",
            "embed", "bench/bench_main"]


def run(program, *flags, cwd=None):
    """What the program prints to stdout."""
    path = pathlib.Path("experiments", program).resolve()
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("OCANNL_")}
    # Another test has the other processors.
    environment["OCANNL_THREADS"] = "1"
    return subprocess.run([path, *flags], check=True, capture_output=True,
                          text=True, cwd=cwd, env=environment).stdout


def fault(program, *flags, code=1):
    """What the program, which fails with the code, prints to stderr."""
    try:
        run(program, *flags)
    except subprocess.CalledProcessError as error:
        assert error.returncode == code, error.returncode
        return error.stderr
    raise AssertionError(f"{program} {flags} ended well")


def rows(text):
    """How many rows of a terminal the text takes."""
    return sum(max(1, -(-len(line) // 80)) for line in text.splitlines())


def result(text):
    name, _, fields = text.splitlines()[-1].partition(" ")
    assert name == "RESULT", text
    return json.loads(fields)


class ProgramsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assertFits(self, text):
        lines = [line for line in text.splitlines()
                 if not line.startswith("RESULT ")]
        self.assertLessEqual(max(map(len, lines)), 80, text)
        self.assertLessEqual(rows(text), 23, text)  # and the prompt

    def test_a_screen_has_the_result(self):
        text = run("moons")
        self.assertFits(text)
        self.assertRegex(text, "Epoch=80, step=6400, lr=[^ ]+, mean loss=")
        mean = result(text)["final_epoch_loss"]
        self.assertIn(f", mean loss={mean:.4g}\n", text)
        self.assertIn("decision boundary", text)
        self.assertIn("--plot_dir=DIR", text)
        self.assertFits(run("lenet", "--examples=100", "--epochs=20"))

    def test_verbose_tells_of_every_epoch(self):
        text = run("moons", "--verbose", "--epochs=30", "--len=50")
        self.assertEqual(text.count("Epoch="), 30)
        for title in "Learning rate:", "Loss:", "Log-loss, ":
            self.assertEqual(text.count("\n" + title), 1)
        self.assertLessEqual(max(map(len, text.splitlines()[:-1])), 80)
        text = run("lenet", "--verbose", "--examples=100", "--epochs=10")
        self.assertEqual(text.count("Epoch="), 10)
        text = run("moons", "--verbose=2", "--epochs=2", "--len=50")
        self.assertRegex(text, r"(?m)^Epoch=2, step=19, batch=9, lr=[\d.]+, "
                         r"loss=[\d.]+, epoch loss=[\d.]+$")
        self.assertEqual(text.count("batch="), 20)
        self.assertIn("--verbose=3 is neither true nor false, nor 2",
                      fault("moons", "--verbose=3", code=2))

    def test_noise(self):
        flags = ["--epochs=1", "--len=50"]
        hashes = {result(run("moons", *flags, *noise))["params_hash"]
                  for noise in ([], ["--noise=0.1"], ["--noise=0"])}
        self.assertEqual(len(hashes), 2)
        self.assertIn("--noise=-1 is not a number of at least 0",
                      fault("moons", "--noise=-1", code=2))

    def test_figures_and_stages_are_where_it_says(self):
        text = run("moons", "--plot_dir=plots", "--explain=stages",
                   cwd=self.folder)
        self.assertIn("boundary are in\nplots, as .svg and .png\n", text)
        for name in "learning_rate", "loss", "log_loss", "boundary":
            svg = (self.folder / "plots" / (name + ".svg")).read_text()
            self.assertTrue(svg.startswith("<svg"))
            png = (self.folder / "plots" / (name + ".png")).read_bytes()
            self.assertEqual(struct.unpack(">4sII", png[12:24]),
                             (b"IHDR", 1440, 880))
        run("lenet", "--examples=100", "--epochs=2", "--plot_dir=lenet",
            cwd=self.folder)
        self.assertTrue((self.folder / "lenet" / "loss.png").exists())
        self.assertIn("The stages of trace_1 are in stages\n", text)
        run("gpt2_mini", "--examples=10", "--length=8", "--layers=1",
            "--size=8", "--epochs=1", "--explain=stages", cwd=self.folder)
        written = {path.name for path in (self.folder / "stages").iterdir()}
        step = "scalar_loss_gradient_then_sgd_update"
        self.assertLess({step + ".cd", step + ".ll", step + ".shapes",
                         "trace_1.ll", "step.cd", "step.ll"}, written)

    def test_other_curves(self):
        for data in "circles", "spirals":
            text = run("moons", f"--data={data}", "--epochs=200")
            self.assertFits(text)
            self.assertGreater(result(text)["accuracy"], 0.95)

    def test_devices_at_once(self):
        flags = ["--epochs=5", "--len=100", "--devices=4", "--batch_size=40"]
        results = [result(run("moons_parallel", *flags,
                              f"--threads_at_once={threads}"))
                   for threads in (1, 2, 4)]
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log.json"
            text = run("moons_parallel", "--epochs=3", f"--log={log}")
            self.assertFits(text)
            epochs = [json.loads(line) for line in log.read_text().splitlines()]
            self.assertEqual([(each["epoch"], each["step"]) for each in epochs],
                             [(1, 40), (2, 80), (3, 120)])
            mean = result(text)["final_epoch_loss"]
            self.assertAlmostEqual(epochs[-1]["loss"], mean)
            self.assertIn(f", mean loss={mean:.4g}\n", text)
        text = run("moons_parallel")
        self.assertGreater(result(text)["accuracy"], 0.97)

    def test_the_page_has_the_simulation(self):
        text = run("step_time")
        self.assertFits(text)
        page = pathlib.Path("docs/distributed.md").read_text(encoding="utf-8")
        for line in text.splitlines():
            self.assertIn(f"    {line}\n" if line else "\n", page)

    def test_sequences_of_one_letter(self):
        text = run("gpt2_mini", "--examples=20", "--length=1", "--layers=1",
                   "--size=8", "--epochs=2")
        self.assertEqual(result(text)["steps"], 4)

    def test_shards_of_one_process(self):
        flags = ["--examples=24", "--length=8", "--layers=1", "--size=8",
                 "--epochs=3", "--batch_size=12"]
        whole = result(run("gpt2_mini", *flags, "--shards=3"))
        self.assertEqual(whole["shards"], 3)
        # One example each.
        self.assertEqual(result(run("gpt2_mini", *flags, "--shards=12"))["steps"],
                         whole["steps"])
        file = self.folder / "one.npz"
        run("gpt2_mini", *flags, "--shards=3", "--epochs_now=1",
            f"--save={file}")
        text = run("gpt2_mini", *flags, "--shards=3", f"--load={file}")
        self.assertEqual(result(text)["params_hash"], whole["params_hash"])

    def test_shards_share_the_scale_of_a_loss(self):
        flags = ["--examples=24", "--length=8", "--layers=1", "--size=8",
                 "--epochs=30", "--batch_size=12", "--dtype=f16"]
        one, three = (result(run("gpt2_mini", *flags, f"--shards={shards}"))
                      for shards in (1, 3))
        self.assertLess(one["test_loss"], 3)
        self.assertLess(abs(one["test_loss"] - three["test_loss"]), 0.05)

    def digits(self):
        """A file of images of two classes: the left and the right half."""
        rows = []
        for k in range(200):
            half = k % 2
            cells = [(k * 7 + i * 5) % 11 + (60 if i % 4 // 2 == half else 0)
                     for i in range(16)]
            rows.append(",".join(map(str, cells + [half])))
        path = self.folder / "halves.csv.gz"
        path.write_bytes(gzip.compress("\n".join(rows).encode()))
        return path

    def test_digits_of_a_file(self):
        data = f"--data={self.digits()}"
        text = run("digits", data, "--epochs=4", "--batch_size=10")
        self.assertFits(text)
        self.assertEqual(result(text)["test_right"], 1)
        # Shuffled, and yet training goes on where it stopped.
        flags = [data, "--epochs=5", "--batch_size=10"]
        whole = result(run("digits", *flags))
        file = self.folder / "half.npz"
        run("digits", *flags, "--epochs_now=2", f"--save={file}")
        text = run("digits", *flags, f"--load={file}")
        self.assertEqual(result(text)["params_hash"], whole["params_hash"])
        with self.assertRaises(subprocess.CalledProcessError) as error:
            run("digits", f"--data={self.folder}/none.csv")
        self.assertIn("none.csv", error.exception.stderr)

    def test_text_has_a_limit(self):
        folder = self.folder / "texts"
        folder.mkdir()
        text = b"a b c d e\n" * 400_000
        (folder / "a.gz").write_bytes(gzip.compress(text))
        self.assertIn("more than 1 MiB, the limit", fault(
            "text", f"--data={folder}", "--data_limit=1"))

    def goes_on(self, program, *flags):
        """The result of a training, which one that was stopped has too."""
        text = run(program, *flags, f"--plot_dir={self.folder / program}")
        self.assertFits(text)
        self.assertTrue((self.folder / program / "loss.png").exists())
        whole = result(text)
        self.assertEqual(whole["experiment"], program)
        file = self.folder / "half.npz"
        run(program, *flags, "--epochs_now=2", f"--save={file}")
        rest = result(run(program, *flags, f"--load={file}"))
        self.assertEqual(rest["params_hash"], whole["params_hash"])
        return whole

    def test_sums_of_digits(self):
        whole = self.goes_on("digit_addition", f"--data={self.digits()}",
                             "--examples=400", "--epochs=4",
                             "--batch_size=10")
        self.assertEqual(whole["test_right"], 1)

    def test_circles_are_counted(self):
        whole = self.goes_on("circles_conv", "--examples=1500", "--epochs=6",
                             "--batch_size=25")
        self.assertGreater(whole["test_right"], 0.6)  # by chance: 0.2

    def test_names_are_made_up(self):
        words = self.folder / "words"
        names = [a + b + c for a in ("An", "Ber", "Ca") for b in ("na", "lo", "ri")
                 for c in ("", "n", "sa", "bel")]
        words.write_text("\n".join(names + ["tree", "O'Brien"]))
        for model in "bigram", "mlp", "batchnorm", "transformer":
            text = run("names", f"--data={words}", f"--model={model}",
                       "--epochs=20", "--batch_size=16")
            self.assertFits(text)
            shown = [word for line in text.splitlines()
                     if line.startswith("  ") and "test:" not in line
                     for word in line.split()]
            self.assertEqual(len(shown), 10)
            self.assertTrue(all(set(word) <= set("abcelnorist.")
                                for word in shown), shown)
            self.assertGreater(len(set(shown)), 2, shown)
        with self.assertRaises(subprocess.CalledProcessError) as error:
            run("names", f"--data={words}", "--sample=hot")
        self.assertIn("--sample=hot is no temp", error.exception.stderr)
        # The likeliest letters make one name.
        text = run("names", f"--data={words}", "--epochs=1", "--sample=0",
                   "--batch_size=16")
        greedy = [word for line in text.splitlines()
                  if line.startswith("  ") and "test:" not in line
                  for word in line.split()]
        self.assertEqual(len(greedy), 10)
        self.assertEqual(len(set(greedy)), 1)
        # The transformer has learned the few names that there are.
        self.assertGreaterEqual(
            sum(word[:-1].capitalize() in names for word in shown), 5, shown)

    def test_text_is_written(self):
        (self.folder / "a").write_text("the owl sees a boat. " * 400)
        text = run("text", f"--data={self.folder}", "--examples=200",
                   "--length=16", "--size=32", "--epochs=40", "--tier=x86")
        written = text.splitlines()[-2]
        self.assertGreater(written.count("the owl sees a boat."), 10, written)

    def test_sequences_are_reversed(self):
        whole = self.goes_on("reverse", "--examples=1500", "--epochs=4",
                             "--batch_size=20", "--length=6", "--size=32",
                             "--tier=x86")
        self.assertGreaterEqual(whole["reversed"], 0.99)
        self.assertEqual(whole["same_without_cache"], 1)

    def test_bench_dumps_what_it_compiles(self):
        run("bench/bench_main", "--filter=gemm/10x16x2,compile/layers_1",
            "--dump=programs", cwd=self.folder)
        programs = {path.name: path.read_text()
                    for path in (self.folder / "programs").iterdir()}
        self.assertLess({"gemm_10x16x2.ll", "compile_layers_1.ll"},
                        set(programs))
        self.assertIn("out c : f32[10, 16]", programs["gemm_10x16x2.ll"])

    def test_training_goes_on_where_it_stopped(self):
        flags = ["--epochs=7", "--len=100"]
        whole = result(run("moons", *flags))
        self.assertEqual(whole["steps"], 140)
        for name in "half.npz", "half.safetensors":
            file = self.folder / name
            run("moons", *flags, "--epochs_now=3", f"--save={file}")
            text = run("moons", *flags, f"--load={file}", f"--save={file}")
            self.assertIn("Goes on at step 60 of 140.\n", text)
            for field in "params_hash", "final_epoch_loss", "accuracy":
                self.assertEqual(result(text)[field], whole[field])
            with self.assertRaises(subprocess.CalledProcessError) as error:
                run("moons", *flags, f"--load={file}")
            self.assertIn("140 steps are done, and 140 are to be",
                          error.exception.stderr)
            text = run("moons", "--epochs=9", "--len=100", f"--load={file}")
            self.assertIn("Goes on at step 140 of 180.\n"
                          "Saved with --epochs=7: ", text)
            self.assertIn("Epoch=9, step=180, ", text)

    def test_what_decides_the_course_stays(self):
        file = self.folder / "m.npz"
        data = self.digits()
        flags = {"moons": ["--epochs=3", "--len=100"],
                 "digits": ["--epochs=3", "--batch_size=10", f"--data={data}"]}
        for program, first, others in (
                ("moons", "--seed=1", ["--seed=2"]),
                ("moons", "--batch_size=10", ["--batch_size=20"]),
                ("moons", "--dtype=f32", ["--dtype=bf16"]),
                ("moons", "--hidden=16,16", ["--hidden=16"]),
                ("digits", "--rate=0.002", ["--rate=0.001"])):
            run(program, *flags[program], "--epochs_now=1", f"--save={file}")
            self.assertIn(
                f"saved with {first}, and this run has {others[0]};",
                fault(program, *flags[program], f"--load={file}", *others))
        # The same images in another place are the same, others are not.
        data = data.rename(self.folder / "moved.csv.gz")
        run("digits", *flags["digits"][:2], f"--data={data}", f"--load={file}")
        data.write_bytes(gzip.compress(
            "".join(f"{k % 7},1," * 8 + f"{k % 2}\n"
                    for k in range(200)).encode()))
        self.assertIn("moved.csv.gz", fault(
            "digits", *flags["digits"][:2], f"--data={data}",
            f"--load={file}"))
        self.assertIn("it is of `digits`, not of `moons`",
                      fault("moons", f"--load={file}"))

    def without(self, file, *names):
        """The file as a program that did not know these arrays has saved it."""
        old = file.with_name("old.npz")
        with zipfile.ZipFile(file) as saved, zipfile.ZipFile(old, "w") as some:
            for name in saved.namelist():
                if name.removesuffix(".npy") not in names:
                    some.writestr(name, saved.read(name))
        return old

    def test_files_of_before_go_on(self):
        flags = ["--epochs=3", "--len=100"]
        whole = result(run("moons", *flags))
        file = self.folder / "m.npz"
        run("moons", *flags, "--epochs_now=1", f"--save={file}")
        old = self.without(file, "course", "loss_so_far")
        text = run("moons", *flags, f"--load={old}")
        self.assertIn("The file has no flags to compare with these, and no "
                      "loss of its epoch.\n", text)
        for field in "params_hash", "final_epoch_loss", "steps":
            self.assertEqual(result(text)[field], whole[field])
        self.assertIn("of another network than this one of `moons`: it alone "
                      "has `b2`, `w3`",
                      fault("moons", *flags, "--hidden=16", f"--load={old}"))

    def test_the_losses_of_an_epoch_go_on_within_it(self):
        log = self.folder / "log.jsonl"
        losses = lambda: [(line["epoch"], line["step"], line["loss"])
                          for line in map(json.loads,
                                          log.read_text().splitlines())]
        shown = lambda text: [line for line in text.splitlines()
                              if line.startswith("Epoch=4, ")]
        for program, flags in (
                ("moons", ["--epochs=4", "--len=100", f"--log={log}"]),
                ("lenet", ["--epochs=4", "--examples=200", f"--log={log}"])):
            text = run(program, *flags)
            logged = losses()
            place = self.folder / program
            flags += [f"--checkpoints={place}", "--checkpoint_every=3"]
            run(program, *flags)
            # As if killed before the last one.
            sorted(place.iterdir())[-1].unlink()
            again = run(program, *flags)
            self.assertIn("Goes on at step ", again)
            self.assertEqual(len(shown(text)), 1)
            self.assertEqual(shown(again), shown(text))
            self.assertEqual(losses(), logged)
            for field in ("steps", "first_loss", "final_epoch_loss",
                          "params_hash"):
                self.assertEqual(result(again).get(field),
                                 result(text).get(field))

    def test_checkpoints_come_before_a_file_to_load(self):
        flags = ["--epochs=4", "--len=100"]
        file, place = self.folder / "m.npz", self.folder / "steps"
        run("moons", *flags, "--epochs_now=1", f"--save={file}")
        flags += [f"--load={file}", f"--checkpoints={place}"]
        text = run("moons", *flags, "--epochs_now=1")
        self.assertIn("Goes on at step 20 of 80.\n", text)
        self.assertNotIn("--load", text)
        text = run("moons", *flags)
        self.assertIn("Goes on at step 40 of 80.\nIt is the last one of "
                      f"--checkpoints; --load={file} is for when", text)

    def test_schedules(self):
        log = self.folder / "log.jsonl"
        data = [f"--data={self.digits()}", "--batch_size=10", "--rate=0.01",
                "--epochs=4"]  # 60 steps
        hashes = set()
        for schedule, last in (("constant", 0.01), ("cosine", 0.001),
                               ("step", 0.001), ("exponential", 0.001),
                               ("linear", 0.001), ("linear,warmup=30", 0.001)):
            flags = [*data, f"--schedule={schedule}", f"--log={log}"]
            whole = result(run("digits", *flags))
            rates = [json.loads(line)["rate"]
                     for line in log.read_text().splitlines()]
            self.assertAlmostEqual(rates[3], last, delta=2e-4)
            hashes.add(whole["params_hash"])
            if schedule not in ("cosine", "linear,warmup=30"):
                continue  # all go on from the number of the step
            file = self.folder / "half.npz"
            run("digits", *flags, "--epochs_now=1", f"--save={file}")
            rest = result(run("digits", *flags, f"--load={file}"))
            self.assertEqual(rest["params_hash"], whole["params_hash"])
        self.assertEqual(len(hashes), 6)
        with self.assertRaises(subprocess.CalledProcessError) as error:
            run("digits", *data, "--schedule=up")
        self.assertIn("--schedule=up is none of", error.exception.stderr)

    def test_checkpoints_between_epochs(self):
        flags = ["--epochs=5", "--len=100"]  # 100 steps
        whole = result(run("moons", *flags))
        kept = lambda place: sorted(int(path.stem.removeprefix("step_"))
                                    for path in place.iterdir())
        place = self.folder / "steps"
        flags += ["--checkpoints=" + str(place), "--checkpoint_every=7"]
        run("moons", *flags, "--epochs_now=3")
        self.assertEqual(kept(place), [49, 56, 60])
        (place / "step_000000000060.npz").unlink()  # as if killed before
        text = run("moons", *flags)
        self.assertIn("Goes on at step 56 of 100.\n", text)
        self.assertEqual(result(text)["params_hash"], whole["params_hash"])
        self.assertEqual(kept(place), [84, 91, 98])
        place = self.folder / "times"
        run("moons", *flags[:2], f"--checkpoints={place}",
            "--checkpoint_every=1ns")
        self.assertEqual(kept(place), [97, 98, 99])
        for wrong in "0", "3parsecs":
            with self.assertRaises(subprocess.CalledProcessError) as error:
                run("moons", *flags[:3], f"--checkpoint_every={wrong}")
            self.assertIn(f"--checkpoint_every: the interval `{wrong}`",
                          error.exception.stderr)
        with self.assertRaises(subprocess.CalledProcessError) as error:
            run("moons", "--checkpoint_every=5m")
        self.assertIn("needs --checkpoints=DIR", error.exception.stderr)

    def test_a_damaged_checkpoint_is_passed_over(self):
        flags = ["--epochs=5", "--len=100"]  # 100 steps
        whole = result(run("moons", *flags))
        place = self.folder / "steps"
        flags += ["--checkpoints=" + str(place), "--checkpoint_every=20"]
        run("moons", *flags, "--epochs_now=3")
        newest = place / "step_000000000060.npz"
        bytes_of_it = bytearray(newest.read_bytes())
        bytes_of_it[bytes_of_it.find(b"NUMPY") + 6] ^= 1  # in a .npy header
        newest.write_bytes(bytes_of_it)
        text = run("moons", *flags)
        self.assertIn("The checkpoint of step 60 is damaged and now called "
                      f"{newest}.damaged: ", text)
        self.assertIn("Goes on at step 40 of 100.\n", text)
        self.assertEqual(result(text)["params_hash"], whole["params_hash"])
        for path in place.glob("*.npz"):
            path.write_bytes(path.read_bytes()[:-30])
        with self.assertRaises(subprocess.CalledProcessError) as error:
            run("moons", *flags)
        self.assertIn(f"all checkpoints of {place} are damaged, the latest, "
                      f"`{place}/step_0000000000", error.exception.stderr)

    def test_metrics_of_each_epoch(self):
        log = self.folder / "log.jsonl"
        flags = ["--epochs=4", "--len=100", f"--log={log}"]
        strict = lambda: [json.loads(line, parse_constant=self.fail)
                          for line in log.read_text().splitlines()]
        run("moons", *flags)
        whole = strict()
        self.assertEqual([(line["epoch"], line["step"]) for line in whole],
                         [(1, 20), (2, 40), (3, 60), (4, 80)])
        self.assertLess(whole[3]["loss"], whole[0]["loss"])
        # Goes on where the checkpoint was, with the same figures.
        file = self.folder / "half.npz"
        run("moons", *flags, "--epochs_now=2", f"--save={file}")
        self.assertEqual(len(strict()), 2)
        run("moons", *flags, f"--load={file}")
        self.assertEqual(
            [{**line, "seconds": 0} for line in strict()],
            [{**line, "seconds": 0} for line in whole])
        run("digits", f"--data={self.digits()}", "--epochs=3",
            "--batch_size=10", "--rate=1e30", f"--log={log}")
        self.assertIsNone(strict()[2]["loss"])  # NaN
        self.assertLess(strict()[2]["accuracy"], 1)
        with self.assertRaises(subprocess.CalledProcessError) as error:
            run("moons", "--log=none/log", cwd=self.folder)
        self.assertIn("none/log", error.exception.stderr)
        self.assertNotIn("Epoch=", error.exception.stdout)

    def trace(self, path):
        """The spans of a trace, and the names of threads by number."""
        events = json.loads(path.read_text(), parse_constant=self.fail)
        spans = [event for event in events if event["ph"] == "X"]
        for span in spans:
            self.assertGreaterEqual(min(span["ts"], span["dur"]), 0)
        return spans, {event["tid"]: event["args"]["name"] for event in events
                       if event["name"] == "thread_name"}

    def test_trace_of_a_training(self):
        trace = self.folder / "trace.json"
        # One thread: how much is worth several depends on the processor.
        flags = ["--epochs=40", "--tier=x86", "--threads=1"]
        traced = result(run("moons", *flags, f"--trace={trace}"))
        plain = result(run("moons", *flags))
        self.assertEqual(traced["params_hash"], plain["params_hash"])
        spans, threads = self.trace(trace)
        step = "scalar_loss_gradient_then_sgd_update"
        found = {(span["cat"], span["name"]) for span in spans}
        self.assertLess(
            {("lower", step), ("compile,x86", step), ("run,x86", step),
             ("nest", step + ":nest-0"), ("run,x86", "trace_1"),
             ("copy", "to the host"), ("copy", "from the host")}, found)
        loops = [span for span in spans if span["name"] == "trace_1"
                 and span["cat"] == "run,x86"]
        self.assertGreater(max(loop["args"]["repetitions"] for loop in loops),
                           1)
        self.assertEqual(set(threads.values()), {"main"})

    def test_a_folder_to_debug(self):
        flags = ["--epochs=2", "--tier=x86"]
        plain = result(run("moons", *flags))
        found = result(run("moons", *flags, "--debug=all", cwd=self.folder))
        self.assertEqual(found["params_hash"], plain["params_hash"])
        step = "scalar_loss_gradient_then_sgd_update"
        folder = self.folder / "build_files/moons"
        self.assertLess({step + end for end in
                         (".cd", "-unoptimized.ll", ".ll", ".memory")},
                        {file.name for file in folder.iterdir()})
        log = (folder / "log.html").read_text()
        self.assertIn(f"stages <b>{step}</b></summary>\n<div><i>", log)
        self.assertRegex(log, f"run,x86 <b>{step}</b>.* times</summary>")
        run("moons", "--epochs=1", "--debug=runs", cwd=self.folder)
        self.assertIn(step, (folder / "runs.log").read_text())
        with self.assertRaises(subprocess.CalledProcessError) as error:
            run("moons", "--debug=most")
        self.assertIn("`most`", error.exception.stderr)

    def test_trace_of_streams(self):
        trace = self.folder / "trace.json"
        run("moons_parallel", "--epochs=2", "--devices=2",
            "--threads_at_once=2", f"--trace={trace}")
        spans, threads = self.trace(trace)
        by_thread = {name: {span["name"] for span in spans
                            if threads[span["tid"]] == name}
                     for name in threads.values()}
        self.assertLess({"scalar_loss_gradient", "within the device"},
                        by_thread["stream worker"])
        self.assertIn("for another stream", by_thread["main"])

    def test_trace_of_what_is_killed(self):
        trace = self.folder / "trace.json"
        program = pathlib.Path("experiments/moons").resolve()
        process = subprocess.Popen(
            [program, "--epochs=1000000", f"--trace={trace}"])
        while not trace.exists() or trace.stat().st_size < 20_000:
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), -signal.SIGINT)
        self.assertGreater(len(self.trace(trace)[0]), 100)
        with self.assertRaises(subprocess.CalledProcessError) as error:
            run("moons", "--trace=none/trace", cwd=self.folder)
        self.assertIn("none/trace", error.exception.stderr)

    def test_wrong_flags(self):
        for program in "moons", "lenet", "moons_parallel", "step_time":
            self.assertIn("unknown flag --foo;",
                          fault(program, "--foo", code=2))
            self.assertIn("`foo` is not a flag", fault(program, "foo", code=2))
        self.assertIn("unknown flag --rate; see --help",
                      fault("moons", "--rate=nan", code=2))
        self.assertIn("--rate=nan is not a number above 0",
                      fault("lenet", "--rate=nan", code=2))
        self.assertIn("--epochs=0 is not an integer",
                      fault("moons", "--epochs=0", code=2))
        for dtype in "f16", "f8e4m3", "f8e5m2":
            self.assertIn(f" {dtype}", run("moons", "--help"))
            self.assertIn(f" {dtype}", fault("moons", "--dtype=f64", code=2))
            run("moons", "--epochs=1", "--len=20", f"--dtype={dtype}")
        self.assertNotIn("--tier", run("step_time", "--help"))
        fault("step_time", "--check", code=2)

    def test_data_that_is_not_there(self):
        self.assertIn("No such file", fault("digits", "--data=nofile"))
        other = self.folder / "data.xls"
        other.write_text("1")
        self.assertIn("must end in .npz, .csv, ",
                      fault("digits", f"--data={other}"))

    def test_processes_of_mpirun_that_share_nothing(self):
        path = pathlib.Path("experiments/lenet").resolve()
        for rank, warns in ("0", True), ("1", False):
            ran = subprocess.run(
                [path, "--examples=50", "--epochs=1"], check=True,
                capture_output=True, text=True,
                env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2",
                     "OMPI_COMM_WORLD_RANK": rank})
            self.assertEqual("give --distributed=mpi" in ran.stderr, warns)

    def test_help_and_version(self):
        versions = {run(program, "--version") for program in PROGRAMS}
        self.assertEqual(len(versions), 1)
        self.assertRegex(versions.pop(), r"^ocannl \d+\.\d+\.\d+\n$")
        for program in PROGRAMS:
            text = run(program, "--help")
            self.assertFits(text)
            self.assertIn("--version", text)


if __name__ == "__main__":
    unittest.main()
