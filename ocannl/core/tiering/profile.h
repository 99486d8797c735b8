// SPDX-License-Identifier: Apache-2.0
//
// Profile: where the time of routines goes, nest by nest. ProfilingBackend
// (profiling_backend.h) fills it; ocannl/tiers/profile_report.h prints it.
#ifndef OCANNL_CORE_TIERING_PROFILE_H_
#define OCANNL_CORE_TIERING_PROFILE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ocannl/core/tiering/cost/nest_work.h"

namespace ocannl {

// Durations. Above kMost of them, every second, fourth, ... is kept.
class DurationSamples {
 public:
  static constexpr size_t kMost = 1024;

  void Add(int64_t nanoseconds);

  int64_t count() const { return count_; }  // of all
  // In seconds, 0 without samples: at least a `share`, in [0, 1], of the kept
  // samples are not longer. 0.5: the median.
  double Quantile(double share) const;

 private:
  int64_t count_ = 0;
  int64_t every_ = 1;
  std::vector<int64_t> kept_;
};

struct NestProfile {
  std::string name;    // "nest-2", its number in the scheduled program
  std::string writes;  // the arrays: "y, z"
  std::string origin;  // its assignments and source lines; empty: not known
  NestWork work;
  int threads = 1;
  int barriers = 0;  // before it, in a run of all nests
  DurationSamples time = {};
};

// Of one program on one tier.
struct ProgramProfile {
  std::string program;
  std::string tier;
  std::vector<NestProfile> nests;
  DurationSamples together;  // runs nest by nest, of all nests
  DurationSamples whole;     // runs of the code that runs without a profile

  mutable std::mutex mutex;  // guards the samples
};

// Thread-safe.
class Profile {
 public:
  // Of the process.
  static Profile& OfProcess();

  void Add(std::shared_ptr<const ProgramProfile> program);

  // In the order in which they were compiled.
  std::vector<std::shared_ptr<const ProgramProfile>> programs() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ProgramProfile>> programs_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_PROFILE_H_
