// SPDX-License-Identifier: Apache-2.0
//
// Steps of training on 1 to 1,024 ranks, as experiments/support/step_time.h
// simulates them from sizes and times that were measured:
//
//   bazel run //experiments:step_time
//   mpirun -n 2 bazel-bin/experiments/step_time --distributed=mpi
//
// The second one measures the messages between two ranks.
#include "experiments/support/step_time.h"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <vector>

#include "absl/strings/str_format.h"
#include "experiments/support/experiment_main.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/ranks.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl {
namespace {

struct NamedNetwork {
  const char* name;
  Network network;
};

// The best of three runs of the second command on two virtual CPUs of an AMD
// EPYC, with Open MPI 4.1.4 and `--mca btl self,vader` for "memory", and
// `--mca btl self,tcp` for "loopback". 10 GbE has the latency of loopback,
// which is a lower bound, and the line rate of IEEE 802.3ae.
constexpr double kAdd = 1 / 26.6e9;
constexpr NamedNetwork kNetworks[] = {
    {"memory", {0.44e-6, 1 / 5.58e9, kAdd}},
    {"loopback", {6.01e-6, 1 / 2.26e9, kAdd}},
    {"10 GbE", {6.01e-6, 8 / 10e9, kAdd}},
};

// A third of ms_per_step is the forward pass, as it has a third of the
// products; the rest has the update in it: `gpt2_mini --epochs=1 --examples=200
// --tier=x86 --threads=1`, the best of three runs on the same machine. Sizes
// are those of the parameters in --save.
constexpr StepCost kGpt2Mini = {.forward_seconds = 36.7e-3 / 3,
                                .backward_seconds = 36.7e-3 * 2 / 3,
                                .bytes = 3'220'480,
                                .arrays = 68};

constexpr int kBuckets = 8;

void PrintTable() {
  std::cout << "Milliseconds of a step of gpt2_mini, and with merges in "
            << kBuckets << " buckets\n\nranks";
  for (const NamedNetwork& named : kNetworks) {
    std::cout << absl::StrFormat("%22s", named.name);
  }
  std::cout << "\n";
  for (int ranks = 1; ranks <= 1024; ranks *= 2) {
    std::cout << absl::StrFormat("%5d", ranks);
    for (const auto& [name, network] : kNetworks) {
      std::cout << absl::StrFormat(
          "%14.1f %7.1f", 1e3 * StepSeconds(kGpt2Mini, network, ranks, 1),
          1e3 * StepSeconds(kGpt2Mini, network, ranks, kBuckets));
    }
    std::cout << "\n";
  }
}

// Seconds of a message of that size: half of the shortest time there and back.
absl::StatusOr<double> MessageSeconds(train::Communicator& ranks, size_t size,
                                      int times) {
  std::vector<std::byte> bytes(size);
  const int other = 1 - ranks.rank();
  double least = 1e9;
  for (int k = 0; k < times; ++k) {
    const double start = train::SteadySeconds();
    for (const bool sends : {ranks.rank() == 0, ranks.rank() == 1}) {
      OCANNL_RETURN_IF_ERROR(sends
                                 ? ranks.Send(other, bytes)
                                 : ranks.Receive(other, absl::MakeSpan(bytes)));
    }
    least = std::min(least, (train::SteadySeconds() - start) / 2);
  }
  return least;
}

// Seconds to add so many bytes of floats to others.
double AddSeconds(size_t size, int times) {
  std::vector<float> sum(size / sizeof(float));
  const std::vector<float> terms(sum.size(), 1);
  double least = 1e9;
  for (int k = 0; k < times; ++k) {
    const double start = train::SteadySeconds();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += terms[i];
    least = std::min(least, (train::SteadySeconds() - start));
  }
  CHECK_EQ(sum.back(), static_cast<float>(times));  // it was done
  return least;
}

absl::Status Run(train::Communicator* ranks) {
  if (ranks == nullptr) {
    PrintTable();
    return absl::OkStatus();
  }
  if (ranks->ranks() != 2) {
    return absl::InvalidArgumentError(
        "messages are measured between two ranks; "
        "start it with mpirun -n 2");
  }
  constexpr size_t kLarge = 16 << 20;
  OCANNL_ASSIGN_OR_RETURN(const double latency,
                          MessageSeconds(*ranks, 8, 2000));
  OCANNL_ASSIGN_OR_RETURN(const double large,
                          MessageSeconds(*ranks, kLarge, 30));
  std::cout << absl::StrFormat(
      "%.2f us a message, %.2f GB/s, %.2f GB/s added\n", 1e6 * latency,
      kLarge / (large - latency) / 1e9, kLarge / AddSeconds(kLarge, 30) / 1e9);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ProgramMain(
      "step_time", "Tells how long steps of training take on many machines.",
      ocannl::FlagsOf(ocannl::kRankFlags),
      [](const ocannl::CommandLine& line) {
        return ocannl::RunRanks(line, ocannl::Run);
      },
      argc, argv);
}
