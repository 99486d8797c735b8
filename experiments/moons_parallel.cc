// SPDX-License-Identifier: Apache-2.0
//
// Trains the half-moons network on several devices, on a part of a batch each:
//
//   bazel run //experiments:moons_parallel -- --devices=4 --threads_at_once=2
//   mpirun -n 4 bazel-bin/experiments/moons_parallel --distributed=mpi
//
// The bits depend on the number of devices alone.
#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/moons_data.h"
#include "experiments/moons_model.h"
#include "experiments/support/experiment_main.h"
#include "experiments/support/fit_flags.h"
#include "experiments/support/terminal_plot.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/ranks.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/fit/metrics_log.h"
#include "ocannl/train/graph/params_hash.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/example_train_loop.h"
#include "ocannl/train/parallel/replicas.h"

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

absl::StatusOr<int64_t> DevicesOf(const CommandLine& line, int64_t processes) {
  OCANNL_ASSIGN_OR_RETURN(const int64_t count, line.GetInt("devices", 0, 64));
  if (count == 0) return std::max<int64_t>(2, processes);
  if (count >= processes) return count;
  return absl::InvalidArgumentError(
      absl::StrCat("--devices=", count, " is less than one for each of the ",
                   processes, " processes"));
}

// Prints eight epochs, logs all, and appends their mean losses to `losses`.
absl::StatusOr<std::function<void(const train::EpochReport&)>> Teller(
    const CommandLine& line, const train::Communicator* ranks, int64_t epochs,
    int64_t devices, std::vector<double>& losses, absl::Status& logged) {
  std::shared_ptr<train::MetricsLog> log;
  if (line.Has("log") && (ranks == nullptr || ranks->rank() == 0)) {
    OCANNL_ASSIGN_OR_RETURN(
        train::MetricsLog opened,
        train::MetricsLog::Open(UserPath(line.GetString("log")), 0, "--log"));
    log = std::make_shared<train::MetricsLog>(std::move(opened));
  }
  return [=, &losses, &logged,
          start = train::SteadySeconds()](const train::EpochReport& report) {
    const int64_t epoch = report.at_epoch + 1;
    // A step of a report is of one device; the last of an epoch may lack some.
    const int64_t steps = (report.at_step / epoch + devices - 1) / devices;
    losses.push_back(report.epoch_loss / static_cast<double>(steps));
    const train::EpochMetrics metrics = {epoch, epoch * steps, losses.back(),
                                         report.learning_rate,
                                         train::SteadySeconds() - start};
    if (log) logged.Update(log->Write(metrics));
    if ((epochs - epoch) % ((epochs + 7) / 8) != 0) return;
    std::cout << absl::StrFormat("Epoch=%d, step=%d, lr=%.4g, mean loss=%.4g\n",
                                 epoch, metrics.step, metrics.rate,
                                 metrics.loss);
  };
}

absl::Status Run(const CommandLine& line, train::Communicator* ranks) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  OCANNL_ASSIGN_OR_RETURN(
      const int64_t count,
      DevicesOf(line, ranks == nullptr ? 1 : ranks->ranks()));
  OCANNL_ASSIGN_OR_RETURN(int threads, line.GetInt("threads_at_once", 0, 64));
  OCANNL_ASSIGN_OR_RETURN(const int64_t len, line.GetInt("len", 1, 1'000'000));
  train::ExampleTrainOptions options = {
      .data_len = 2 * len,
      .rule = train::Sgd({.weight_decay = 1e-4}),
      .communicator = ranks};
  OCANNL_ASSIGN_OR_RETURN(options.seed, line.GetInt("seed", 0, 0xfffffffe));
  OCANNL_ASSIGN_OR_RETURN(options.epochs, line.GetInt("epochs", 1, 100'000));
  OCANNL_ASSIGN_OR_RETURN(options.batch_size,
                          line.GetInt("batch_size", 1, 1'000'000));
  std::vector<double> losses;
  absl::Status logged;
  OCANNL_ASSIGN_OR_RETURN(
      options.per_epoch_callback,
      Teller(line, ranks, options.epochs, count, losses, logged));
  OCANNL_ASSIGN_OR_RETURN(const LabelledPoints points,
                          HalfMoons(static_cast<int>(len), options.seed));
  VirtualDevices devices(
      backend, train::ReplicasHere(static_cast<int>(count), ranks), threads);
  OCANNL_ASSIGN_OR_RETURN(const std::unique_ptr<train::TrainedExample> trained,
                          TrainInParallel(devices, options, points));
  OCANNL_RETURN_IF_ERROR(logged);
  std::cout << TerminalLinePlot(
      {"Mean loss of each epoch", "epoch", "loss", losses}, {.rows = 6});
  OCANNL_ASSIGN_OR_RETURN(
      const std::string hash,
      train::ParamsHash(devices[0].context,
                        train::AllParameters(trained->model, trained->loss)));
  OCANNL_ASSIGN_OR_RETURN(const double accuracy, Accuracy(*trained, points));
  const nlohmann::ordered_json result = {{"experiment", "moons_parallel"},
                                         {"tier", std::string(backend->name())},
                                         {"devices", count},
                                         {"final_epoch_loss", losses.back()},
                                         {"accuracy", accuracy},
                                         {"params_hash", hash}};
  std::cout << "RESULT " << result.dump() << std::endl;
  return absl::OkStatus();
}

absl::Status RunOnRanks(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(const int64_t bucket, BucketBytesOf(line));
  if (bucket == 0) {
    return RunRanks(line, [&](auto* ranks) { return Run(line, ranks); });
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--distributed=", line.GetString("distributed"),
                   ": moons_parallel merges all gradients at once; give "
                   "--distributed=mpi"));
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ExperimentMain(
      "moons_parallel",
      "Trains the half-moons network on several devices at once.",
      ocannl::Flags(), ocannl::RunOnRanks, argc, argv);
}
