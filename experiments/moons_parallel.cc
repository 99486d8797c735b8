// SPDX-License-Identifier: Apache-2.0
//
// Trains the half-moons network on several devices at once, of which each has a
// part of every batch:
//
//   bazel run //experiments:moons_parallel -- --devices=4 --threads_at_once=2
//   mpirun -n 4 bazel-bin/experiments/moons_parallel --distributed=mpi
//
// The bits depend on the number of devices, and not on that of the threads or
// of the processes.
#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/moons_data.h"
#include "experiments/support/experiment_main.h"
#include "experiments/support/fit_flags.h"
#include "experiments/support/terminal_plot.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/ranks.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/example_train_loop.h"
#include "ocannl/train/fit/metrics_log.h"
#include "ocannl/train/parallel/replicas.h"
#include "ocannl/train/params_hash.h"

namespace ocannl {
namespace {

std::vector<Flag> Flags() {
  std::vector<Flag> flags = {
      {"devices", "0", "that share each batch; 0: 2, or one in each process"},
      {"threads_at_once", "0", "that serve the devices; 0: a processor each"},
      {"epochs", "60", "how often all points are seen"},
      {"batch_size", "20", "points of one step, of all devices together"},
      {"len", "400", "points of each moon"},
      {"seed", "1", "of the points and of the parameters' first values"},
      LogFlag()};
  absl::c_move(FlagsOf(kRankFlags), std::back_inserter(flags));
  return flags;
}

train::MakeExamples Rows(const std::string& name,
                         const std::vector<float>& values, int64_t size) {
  return [=, &values](Graph& graph, const Dims& batch) {
    const std::vector<float> whole(values.begin(),
                                   values.begin() + NumElements(batch) * size);
    return Data(graph, name,
                NdArray::Of<float>({batch[0], batch[1], size}, whole),
                {.rows = {batch, Dims{size}, Dims{}}});
  };
}

double Accuracy(train::TrainedExample& trained, const LabelledPoints& points) {
  int64_t right = 0;
  for (size_t k = 0; k < points.labels.size(); ++k) {
    const auto score = trained.Infer(NdArray::Of<float>(
        {2}, {points.coordinates[2 * k], points.coordinates[2 * k + 1]}));
    right += score.ok() && (score->AsDouble(0) > 0) == (points.labels[k] > 0);
  }
  return static_cast<double>(right) / static_cast<double>(points.labels.size());
}

// Of all processes.
absl::StatusOr<int64_t> DevicesOf(const CommandLine& line,
                                  const train::Communicator* ranks) {
  OCANNL_ASSIGN_OR_RETURN(const int64_t count, line.GetInt("devices", 0, 64));
  const int64_t processes = ranks == nullptr ? 1 : ranks->ranks();
  if (count == 0) return std::max<int64_t>(2, processes);
  if (count >= processes) return count;
  return absl::InvalidArgumentError(
      absl::StrCat("--devices=", count, " is less than one for each of the ",
                   processes, " processes"));
}

// Prints eight of the epochs, and writes all to `log`.
std::function<void(const train::EpochReport&)> TellEpochs(
    int64_t epochs, int64_t devices,
    const std::optional<train::MetricsLog>& log, absl::Status& logged) {
  return [&, epochs, devices,
          start = train::SteadySeconds()](const train::EpochReport& epoch) {
    const int64_t epochs_done = epoch.at_epoch + 1;
    // A step of a report is of one device; the last of an epoch may lack some.
    const int64_t steps = (epoch.at_step / epochs_done + devices - 1) / devices;
    const double mean_loss = epoch.epoch_loss / static_cast<double>(steps);
    if (log) {
      logged.Update(log->Write({.epoch = epochs_done,
                                .step = epochs_done * steps,
                                .loss = mean_loss,
                                .rate = epoch.learning_rate,
                                .seconds = train::SteadySeconds() - start}));
    }
    if ((epochs - epochs_done) % ((epochs + 7) / 8) != 0) return;
    std::cout << absl::StrFormat("Epoch=%d, step=%d, lr=%.4g, mean loss=%.4g\n",
                                 epochs_done, epochs_done * steps,
                                 epoch.learning_rate, mean_loss);
  };
}

absl::Status Run(const CommandLine& line, train::Communicator* ranks) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  OCANNL_ASSIGN_OR_RETURN(const int64_t count, DevicesOf(line, ranks));
  OCANNL_ASSIGN_OR_RETURN(const int64_t threads,
                          line.GetInt("threads_at_once", 0, 64));
  OCANNL_ASSIGN_OR_RETURN(const int64_t len, line.GetInt("len", 1, 1'000'000));
  OCANNL_ASSIGN_OR_RETURN(const int64_t seed,
                          line.GetInt("seed", 0, 0xfffffffe));
  train::ExampleTrainOptions options = {.seed = static_cast<uint32_t>(seed),
                                        .data_len = 2 * len,
                                        .weight_decay = 1e-4,
                                        .communicator = ranks};
  OCANNL_ASSIGN_OR_RETURN(options.epochs, line.GetInt("epochs", 1, 100'000));
  OCANNL_ASSIGN_OR_RETURN(options.batch_size,
                          line.GetInt("batch_size", 1, 1'000'000));
  std::optional<train::MetricsLog> log;
  if (line.Has("log") && (ranks == nullptr || ranks->rank() == 0)) {
    OCANNL_ASSIGN_OR_RETURN(
        log, train::MetricsLog::Open(UserPath(line.GetString("log")), 0));
  }
  absl::Status logged;
  options.per_epoch_callback = TellEpochs(options.epochs, count, log, logged);
  OCANNL_ASSIGN_OR_RETURN(
      const LabelledPoints points,
      HalfMoons(static_cast<int>(len), static_cast<uint32_t>(seed)));
  VirtualDevices devices(backend,
                         train::ReplicasHere(static_cast<int>(count), ranks),
                         static_cast<int>(threads));
  OCANNL_ASSIGN_OR_RETURN(
      const std::unique_ptr<train::TrainedExample> trained,
      train::ExampleTrainLoop(
          devices, options, Rows("moons", points.coordinates, 2),
          Rows("classes", points.labels, 1),
          [](Graph& graph) -> train::Net {
            return train::Mlp({&graph, ""}, {.sizes = {16, 16, 1}});
          },
          [](Tensor output, Tensor expectation) {
            return Relu(1 - Mul(expectation, output));
          }));
  OCANNL_RETURN_IF_ERROR(logged);
  std::vector<double> mean_losses;
  const double steps = static_cast<double>(trained->batch_losses.size()) /
                       static_cast<double>(options.epochs);
  for (double sum : trained->epoch_losses) mean_losses.push_back(sum / steps);
  std::cout << TerminalLinePlot(
      {"Mean loss of each epoch", "epoch", "loss", mean_losses}, {.rows = 6});
  OCANNL_ASSIGN_OR_RETURN(
      const std::string hash,
      train::ParamsHash(devices[0].context,
                        train::AllParameters(trained->model, trained->loss)));
  const nlohmann::ordered_json result = {
      {"experiment", "moons_parallel"},
      {"tier", std::string(backend->name())},
      {"devices", count},
      {"final_epoch_loss", trained->epoch_losses.back()},
      {"accuracy", Accuracy(*trained, points)},
      {"params_hash", hash}};
  std::cout << "RESULT " << result.dump() << std::endl;
  return absl::OkStatus();
}

absl::Status RunOnRanks(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(const int64_t bucket, BucketBytesOf(line));
  if (bucket > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--distributed=", line.GetString("distributed"),
                     ": moons_parallel merges all gradients at once; give "
                     "--distributed=mpi"));
  }
  return RunRanks(line,
                  [&](train::Communicator* ranks) { return Run(line, ranks); });
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ExperimentMain(
      "moons_parallel",
      "Trains the half-moons network on several devices at once.",
      ocannl::Flags(), ocannl::RunOnRanks, argc, argv);
}
