// SPDX-License-Identifier: Apache-2.0
//
// Workload: a piece of work and everybody who does it.
//
//   Workload gemm{.name = "gemm/64x64x64", .probe = ProbeKind::kFma,
//                 .work = 2. * 64 * 64 * 64,
//                 .contenders = {interp, x86, eigen}};
#ifndef EXPERIMENTS_BENCH_WORKLOAD_H_
#define EXPERIMENTS_BENCH_WORKLOAD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/tiers/probes.h"

namespace ocannl {

// One way of doing the work.
struct Contender {
  std::string name;  // "x86-avx512", "gcc -O3"
  bool ours = false;
  // Does the work `runs` times and gives the seconds that it took.
  std::function<double(int64_t runs)> time;
  // What the work leaves behind when it begins with its first values; a peer
  // may leave out the end. Null: there is nothing to check.
  std::function<std::vector<float>()> result = nullptr;
  // 0: all bits as the definition says. Else how far from that a number may
  // be, relative to the greatest.
  double tolerance = 0;
};

struct Workload {
  std::string name;
  ProbeKind probe = ProbeKind::kClock;
  double work = 0;  // of one run in the probe's unit; 0: not comparable
  std::vector<Contender> contenders = {};  // of ours, the fastest tier last
  std::vector<std::string> missing = {};   // who is not here, and why
};

struct Tier {
  std::string name;
  const Backend* backend;
};

// What workloads are made for.
struct Setting {
  std::vector<Tier> tiers = {};
  int threads = 1;
  bool peers = true;        // all but ours, or none
  std::string python = "";  // the program that may have PyTorch and JAX
  bool runs = true;         // else programs are compiled only, without memory
};

struct WorkloadMaker {
  std::string name;
  bool brief;  // small enough for a test
  std::function<absl::StatusOr<Workload>(const Setting&)> make;
};

// The seconds of `runs` calls of `run`.
template <class F>
double SecondsOf(int64_t runs, F run) {
  auto start = std::chrono::steady_clock::now();
  for (; runs > 0; --runs) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_WORKLOAD_H_
