// SPDX-License-Identifier: Apache-2.0
//
// The speed of the interpreter: the training step of //experiments:moons
// against equivalent plain C++ loops at -O1 (moons_plain.h), interleaved.
//
//   bazel run //experiments:bench_interp
//
// First checks that both train alike. Exits with 1 if they do not, or if the
// interpreter's median step takes more than --most_ratio plain ones.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "experiments/moons_data.h"
#include "experiments/moons_model.h"
#include "experiments/moons_plain.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/interp/interp_backend.h"

ABSL_FLAG(int, rounds, 301, "Timings of either side.");
ABSL_FLAG(int, steps, 20, "Training steps per timing.");
ABSL_FLAG(double, most_ratio, 20, "Fail if the interpreter is slower.");

namespace ocannl {
namespace {

LabelledPoints Points() {
  absl::StatusOr<LabelledPoints> points =
      HalfMoons(kMoonsBatches * kMoonsBatch / 2, /*seed=*/1);
  CHECK_OK(points);
  return *std::move(points);
}

std::unique_ptr<MoonsModel> Model() {
  absl::StatusOr<std::unique_ptr<MoonsModel>> moons = MakeMoons(Points(), {});
  CHECK_OK(moons);
  CHECK_EQ((*moons)->steps, kMoonsSteps);
  return *std::move(moons);
}

// The step, linked to parameters that have their first values.
Routine LinkStep(const MoonsModel& moons, const Context& context) {
  absl::StatusOr<Routine> init = ToRoutine(context, moons.init, {});
  CHECK_OK(init);
  CHECK_OK(init->Run());
  absl::StatusOr<Routine> step = ToRoutine(init->context(), moons.step, {});
  CHECK_OK(step);
  return *std::move(step);
}

// The points, and the parameters as they are in `context`.
MoonsArrays InitialArrays(const Context& context) {
  LabelledPoints points = Points();
  MoonsArrays arrays{};
  CHECK_EQ(sizeof(arrays.x), points.coordinates.size() * sizeof(float));
  CHECK_EQ(sizeof(arrays.y), points.labels.size() * sizeof(float));
  std::memcpy(arrays.x, points.coordinates.data(), sizeof(arrays.x));
  std::memcpy(arrays.y, points.labels.data(), sizeof(arrays.y));
  auto fill = [&](const char* name, auto& weights) {
    absl::StatusOr<NdArray> values = context.Read(name);
    CHECK_OK(values);
    CHECK_EQ(values->bytes(), sizeof(weights));
    std::memcpy(weights, values->data(), sizeof(weights));
  };
  fill("w1", arrays.w1);
  fill("b1", arrays.b1);
  fill("w2", arrays.w2);
  fill("b2", arrays.b2);
  fill("w3", arrays.w3);
  return arrays;
}

class Bench {
 public:
  void PlainSteps(int count) {
    for (; count > 0; --count, ++plain_steps_) {
      PlainMoonsStep(plain_steps_ % kMoonsBatches, plain_steps_ % kMoonsSteps,
                     arrays_);
    }
  }

  void InterpSteps(int count) {
    for (; count > 0; --count, ++interp_steps_) {
      CHECK_OK(step_.Set("batch_n", interp_steps_ % kMoonsBatches));
      CHECK_OK(step_.Set("step", interp_steps_ % kMoonsSteps));
      CHECK_OK(step_.Run());
    }
    stream_.Sync();  // runs may wait until somebody looks
  }

  // The greatest relative difference of the losses of the next `count` steps.
  double Disagreement(int count) {
    double most = 0;
    for (; count > 0; --count) {
      PlainSteps(1);
      InterpSteps(1);
      absl::StatusOr<NdArray> loss = context_.Read("scalar_loss");
      CHECK_OK(loss);
      double plain = arrays_.loss[0];
      double difference = std::abs(loss->AsDouble(0) - plain);
      most = std::max(most, difference / std::max(1.0, std::abs(plain)));
    }
    return most;
  }

 private:
  std::unique_ptr<MoonsModel> moons_ = Model();
  interp::InterpBackend backend_;
  Device device_{"host", &backend_};
  Stream stream_{&device_};
  Context context_{&stream_};
  Routine step_ = LinkStep(*moons_, context_);
  MoonsArrays arrays_ = InitialArrays(context_);
  int plain_steps_ = 0;
  int interp_steps_ = 0;
};

struct Timing {
  double median, low, high;  // the middle, and the tenths on both sides
};

Timing Summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t last = times.size() - 1;
  return {times[last / 2], times[last / 10], times[last - last / 10]};
}

template <class F>
double Microseconds(F f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - start)
      .count();
}

int Main() {
  int rounds = absl::GetFlag(FLAGS_rounds);
  int steps = absl::GetFlag(FLAGS_steps);
  CHECK(rounds > 0 && steps > 0) << "--rounds and --steps count from 1";
  Bench bench;
  double disagreement = bench.Disagreement(2 * kMoonsBatches);
  std::vector<double> plain, interp, ratios;
  for (int i = 0; i < rounds; ++i) {
    plain.push_back(Microseconds([&] { bench.PlainSteps(steps); }) / steps);
    interp.push_back(Microseconds([&] { bench.InterpSteps(steps); }) / steps);
    ratios.push_back(interp.back() / plain.back());
  }
  std::printf("one moons step, us; %d interleaved rounds of %d steps\n", rounds,
              steps);
  std::printf("%-14s%9s%9s%9s\n", "", "median", "10%", "90%");
  auto print = [](const char* name, const Timing& timing) {
    std::printf("%-14s%9.2f%9.2f%9.2f\n", name, timing.median, timing.low,
                timing.high);
  };
  print("plain C++ -O1", Summary(plain));
  print("interpreter", Summary(interp));
  print("ratio", Summary(ratios));
  std::printf("losses of %d steps agree within %.1e\n", 2 * kMoonsBatches,
              disagreement);
  bool fast = Summary(ratios).median <= absl::GetFlag(FLAGS_most_ratio);
  if (!fast) std::printf("FAILED: the interpreter is too slow\n");
  bool alike = disagreement < 1e-4;
  if (!alike) std::printf("FAILED: the losses differ\n");
  return fast && alike ? 0 : 1;
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return ocannl::RunMain([] { return ocannl::Main(); });
}
