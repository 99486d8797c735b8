// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/python_contenders.h"
#include "experiments/bench/training.h"
#include "experiments/bench/workloads.h"
#include "experiments/nets/nets.h"
#include "experiments/nets/pictures.h"
#include "experiments/nets/sentences.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr int64_t kImages = 64;
constexpr int64_t kSequences = 4;
constexpr int64_t kLength = 256;
constexpr int64_t kSize = 256;
constexpr int64_t kLayers = 4;

// The shape of all-MiniLM-L6-v2.
constexpr int64_t kEncoderSequences = 8;
constexpr EncoderNetOptions kEncoder = {.vocabulary = kLetters,
                                        .length = 128,
                                        .layers = 6,
                                        .size = 384,
                                        .heads = 12};

struct NetWork {
  std::string name;
  Lessons (*lessons)();
  MakeNet net;
  int64_t batch_size;
  double forward_flops;  // of a batch
  double first_flops;    // of them in a layer whose input has no gradient
};

double ConvFlops(int64_t size, int64_t kernel, int64_t from, int64_t to) {
  return 2. * size * size * kernel * kernel * from * to;
}

double LeNetFlops() {
  return ConvFlops(10, 5, 6, 16) + 2. * (400 * 120 + 120 * 84 + 84 * 10);
}

double CifarConvFlops() {
  return ConvFlops(32, 3, 32, 32) + ConvFlops(16, 3, 32, 64) +
         2. * (8 * 8 * 64 * 128 + 128 * 10);
}

// After the first convolution: blocks of 32, 64 and 128 channels.
double ResNetFlops() {
  return 2 * ConvFlops(32, 3, 32, 32) + ConvFlops(16, 3, 32, 64) +
         ConvFlops(16, 3, 64, 64) + ConvFlops(16, 1, 32, 64) +
         ConvFlops(8, 3, 64, 128) + ConvFlops(8, 3, 128, 128) +
         ConvFlops(8, 1, 64, 128) + 2. * 128 * 10;
}

// Of a letter: four maps of attention and two of the perceptron, its scores
// against all letters and the sum of their values, and its logits.
double TransformerFlops(int64_t layers, int64_t size, int64_t length) {
  return layers * (2. * 12 * size * size + 4. * length * size) +
         2. * kLetters * size;
}

std::vector<NetWork> Nets() {
  const double lenet_first = ConvFlops(28, 5, 1, 6);
  const double cifar_first = ConvFlops(32, 3, 3, 32);
  return {
      {.name = "lenet",
       .lessons = [] { return DrawnDigits(2 * kImages, kImages, 1); },
       .net = LeNetOf(),
       .batch_size = kImages,
       .forward_flops = kImages * (lenet_first + LeNetFlops()),
       .first_flops = kImages * lenet_first},
      {.name = "cifar_conv",
       .lessons = [] { return DrawnPatterns(2 * kImages, kImages, 1); },
       .net = CifarConv(),
       .batch_size = kImages,
       .forward_flops = kImages * (cifar_first + CifarConvFlops()),
       .first_flops = kImages * cifar_first},
      {.name = "gpt2_mini",
       .lessons =
           [] { return LetterLessons(2 * kSequences, kSequences, kLength, 1); },
       .net = Gpt2Mini({.vocabulary = kLetters,
                        .length = kLength,
                        .layers = kLayers,
                        .size = kSize}),
       .batch_size = kSequences,
       .forward_flops =
           kSequences * kLength * TransformerFlops(kLayers, kSize, kLength),
       .first_flops = 0},
      {.name = "resnet",
       .lessons = [] { return DrawnPatterns(2 * kImages, kImages, 1); },
       .net = ResNetStack(),
       .batch_size = kImages,
       .forward_flops = kImages * (cifar_first + ResNetFlops()),
       .first_flops = kImages * cifar_first},
      {.name = "encoder",
       .lessons =
           [] {
             return LetterLessons(2 * kEncoderSequences, kEncoderSequences,
                                  kEncoder.length, 1);
           },
       .net = EncoderNet(kEncoder),
       .batch_size = kEncoderSequences,
       .forward_flops =
           kEncoderSequences * kEncoder.length *
           TransformerFlops(kEncoder.layers, kEncoder.size, kEncoder.length),
       .first_flops = 0}};
}

// The first batch, the parameters and the states of `values`.
PythonTask TaskOf(const NetWork& net, bool trains, const NamedArrays& values) {
  PythonTask task{.arrays = {},
                  .net = net.name,
                  .trains = trains,
                  .momentum = SupervisedOptions().momentum,
                  .rate = kNetRate};
  for (const auto& [name, array] : values) {
    const bool is_inputs = absl::EndsWith(name, "_inputs");
    if (is_inputs || absl::EndsWith(name, "_classes")) {
      const Dims dims(array.dims().begin() + 1, array.dims().end());
      NdArray batch(array.dtype(), dims);
      std::copy_n(array.data(), batch.bytes(), batch.data());
      task.arrays.emplace(is_inputs ? "x" : "y", std::move(batch));
    } else if (!absl::StrContains(name, '.')) {
      task.arrays.emplace(name, array);
    }
  }
  return task;
}

WorkloadMaker MakerOf(const NetWork& net, bool trains) {
  const std::string name = "net/" + net.name + (trains ? "" : "-forward");
  auto make = [=](const Setting& setting) -> absl::StatusOr<Workload> {
    Workload workload{.name = name,
                      .probe = ProbeKind::kFma,
                      .work = trains ? 3 * net.forward_flops - net.first_flops
                                     : net.forward_flops};
    OCANNL_ASSIGN_OR_RETURN(
        NetTraining prepared,
        PrepareNet(net.lessons(), net.net, net.batch_size, setting.runs));
    Training& training = trains ? prepared.step : prepared.forward;
    PythonTask task = TaskOf(net, trains, training.first_values);
    OCANNL_RETURN_IF_ERROR(AddProgram(setting,
                                      {.program = std::move(training.step),
                                       .given = training.first_values,
                                       .first = training.loss},
                                      workload));
    AddPython(setting, std::move(task), /*steps=*/1, workload);
    return workload;
  };
  return {.name = name, .brief = false, .make = make};
}

}  // namespace

std::vector<WorkloadMaker> NetWorkloads() {
  std::vector<WorkloadMaker> makers;
  for (const NetWork& net : Nets()) {
    makers.push_back(MakerOf(net, /*trains=*/true));
    makers.push_back(MakerOf(net, /*trains=*/false));
  }
  return makers;
}

}  // namespace ocannl
