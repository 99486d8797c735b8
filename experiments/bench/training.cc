// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/training.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/moons_data.h"
#include "experiments/moons_plain.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl {

namespace {

// `code`, part of `model`, with the values that Start leaves, if wanted.
absl::StatusOr<Training> TrainingOf(train::FitCode& model,
                                    const Assignments& code,
                                    const std::string& loss, bool with_values) {
  Training training{.step = {}, .first_values = {}, .loss = loss};
  OCANNL_ASSIGN_OR_RETURN(training.step, CompileProgram(code, {}));
  if (!with_values) return training;
  interp::InterpBackend backend;
  Device device("host", &backend);
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(const Context context, model.Start(Context(&stream)));
  for (const Array& array : code.arrays) {
    if (array.data == nullptr) continue;
    training.first_values.emplace(array.name, array.data->Reshaped(array.dims));
  }
  for (const std::string& name : context.ArrayNames()) {
    OCANNL_ASSIGN_OR_RETURN(NdArray values, context.Read(name));
    training.first_values.emplace(name, std::move(values));
  }
  return training;
}

// The same numbers, which a BoundProgram takes.
NdArray AsFloats(const NdArray& array) {
  NdArray floats(DType::kF32, array.dims());
  for (int64_t k = 0; k < array.size(); ++k) {
    floats.values<float>()[k] = static_cast<float>(array.AsDouble(k));
  }
  return floats;
}

Examples AsFloats(const Examples& examples) {
  return {.inputs = AsFloats(examples.inputs),
          .classes = AsFloats(examples.classes)};
}

}  // namespace

absl::StatusOr<Moons> PrepareMoons() {
  OCANNL_ASSIGN_OR_RETURN(
      LabelledPoints points,
      HalfMoons(kMoonsBatches * kMoonsBatch / 2, /*seed=*/1));
  Moons moons;
  OCANNL_ASSIGN_OR_RETURN(moons.model, MakeMoons(points, {}));
  CHECK_EQ(moons.model->batches * MoonsOptions().epochs, kMoonsSteps);
  OCANNL_ASSIGN_OR_RETURN(
      moons.training, TrainingOf(*moons.model, moons.model->step, "scalar_loss",
                                 /*with_values=*/true));
  return moons;
}

absl::StatusOr<NetTraining> PrepareNet(const Lessons& lessons,
                                       const MakeNet& net, int64_t batch_size,
                                       bool with_values) {
  const Lessons floats = {.train = AsFloats(lessons.train),
                          .test = AsFloats(lessons.test),
                          .classes = lessons.classes};
  OCANNL_ASSIGN_OR_RETURN(
      std::unique_ptr<train::FitCode> supervised,
      MakeSupervised(floats, net,
                     {.batch_size = batch_size, .rate = kNetRate}));
  NetTraining training;
  OCANNL_ASSIGN_OR_RETURN(
      training.step,
      TrainingOf(*supervised, supervised->step, "loss", with_values));
  OCANNL_ASSIGN_OR_RETURN(
      training.forward,
      TrainingOf(*supervised, supervised->test, "test_loss", with_values));
  return training;
}

absl::StatusOr<Training> MlpTraining(const Mlp& mlp) {
  Training training{.step = {}, .first_values = {}, .loss = "loss"};
  OCANNL_ASSIGN_OR_RETURN(training.step, MlpProgram(mlp));
  auto add = [&](std::string name, Dims dims, double scale) {
    NdArray array = FilledArray(name, dims, static_cast<float>(scale), 0);
    training.first_values.emplace(std::move(name), std::move(array));
  };
  add("x", {mlp.batch, mlp.sizes[0]}, 2);
  add("y", {mlp.batch, mlp.sizes.back()}, 2);
  for (size_t layer = 1; layer < mlp.sizes.size(); ++layer) {
    int64_t in = mlp.sizes[layer - 1], out = mlp.sizes[layer];
    add(absl::StrCat("w", layer), {out, in},
        std::sqrt(24. / static_cast<double>(in)));
    if (layer + 1 < mlp.sizes.size()) {
      add(absl::StrCat("b", layer), {out}, 0.1);
    }
  }
  return training;
}

std::vector<NamedMlp> TrainingMlps() {
  std::vector<NamedMlp> mlps = {
      {"mlp/small", {.sizes = {2, 64, 64, 2}, .batch = 64}},
      {"mlp/mid", {.sizes = {2, 256, 256, 1}, .batch = 64}},
      {"mlp/wide", {.sizes = {256, 1024, 1024, 10}, .batch = 256}}};
  for (int64_t width : {8, 16, 32, 64, 128, 256, 512}) {
    mlps.push_back({absl::StrCat("width/", width),
                    {.sizes = {2, width, width, 1}, .batch = 64}});
  }
  return mlps;
}

}  // namespace ocannl
