// SPDX-License-Identifier: Apache-2.0
//
// TieredCode: the code of one program on two tiers, and the choice between
// them.
//
// How long a run takes on the first tier and how long the second one takes to
// compile are predicted from the program. By the rule of ski rental (Karlin et
// al. 1988), compiling starts once the runs on the first tier took as long as
// compiling will. So the time is at most twice the least possible, however many
// runs follow. If the first run alone would take that long, compiling comes
// before it.
#ifndef OCANNL_CORE_TIERING_TIERED_CODE_H_
#define OCANNL_CORE_TIERING_TIERED_CODE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/tiering/background_thread.h"
#include "ocannl/core/tiering/gpu_tier.h"
#include "ocannl/core/tiering/migrating_code.h"

namespace ocannl {

// Seconds since some moment.
double SystemSeconds();

struct Tiering {
  const Backend* first;   // starts at once
  const Backend* second;  // runs faster

  // What predictions are made of: one operation of a run on the first tier,
  // and compiling for the second one. To measure: `bazel run
  // //experiments:bench -- --filter=compile/ --tiers=interp,x86`.
  double operation_seconds = 1e-9;
  double compile_seconds = 80e-6;
  double instruction_seconds = 0.5e-6;

  // From when on compiling is left to another thread.
  double background_seconds = 2e-3;

  std::function<double()> now = SystemSeconds;

  // To which programs move where it pays; null: there is none.
  std::shared_ptr<GpuTier> gpu = nullptr;
};

// Thread-safe.
class TieredCode : public std::enable_shared_from_this<TieredCode> {
 public:
  // `tiering` and `thread` must outlive the code; a null thread: there is no
  // processor for one.
  TieredCode(const LoopProgram& program, const Tiering* tiering,
             BackgroundThread* thread);

  // Compiles for one of the tiers. To be called before anything else. Error:
  // as of Backend::Compile of the first tier.
  absl::Status Start();

  // What to run now. Null second(): run first(), and say how long it took.
  // second() does not change once it is there.
  const Executable* second() const {
    return second_.load(std::memory_order_acquire);
  }
  const Executable& first() const { return *first_; }

  // Compiles for the second tier, or starts to, when it is time.
  void PromoteIfDue() {
    if (spent_.load(std::memory_order_relaxed) >=
        due_.load(std::memory_order_relaxed)) {
      Promote();
    }
  }
  void AddRunOfFirst(double seconds);

  // Compiles for the second tier now, unless it is being done.
  void Hasten();

  // Null: there is no GPU.
  const std::shared_ptr<MigratingCode>& migrating() const { return migrating_; }

  // When and why it was promoted, or why not.
  std::string Describe() const;

 private:
  void Promote();
  void CompileSecond();
  std::string DescribeSecond() const;

  const LoopProgram program_;
  const Tiering& tiering_;
  BackgroundThread* const thread_;
  double run_seconds_;      // predicted, on the first tier
  double compile_seconds_;  // predicted, for the second
  const std::shared_ptr<MigratingCode> migrating_;

  std::unique_ptr<const Executable> first_;
  std::atomic<const Executable*> second_ = nullptr;

  // In nanoseconds.
  std::atomic<int64_t> spent_ = 0;  // on the first tier
  std::atomic<int64_t> due_;        // promotion, when so much is spent
  std::atomic<int64_t> runs_ = 0;   // of the first tier

  mutable std::mutex mutex_;  // guards the rest
  std::unique_ptr<const Executable> second_owner_;
  int errors_ = 0;
  absl::Status error_;
  double compiled_in_ = 0;  // seconds, the errors included
  int64_t runs_before_ = 0;
  int64_t spent_before_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_TIERED_CODE_H_
