// SPDX-License-Identifier: Apache-2.0
//
// MigratingCode: the code of one program for a GPU, and the choice between the
// GPU and the host, which migration_cost.h makes.
#ifndef OCANNL_CORE_TIERING_MIGRATING_CODE_H_
#define OCANNL_CORE_TIERING_MIGRATING_CODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/tiering/gpu_tier.h"
#include "ocannl/core/tiering/migration_cost.h"

namespace ocannl {

// Thread-safe.
class MigratingCode : public std::enable_shared_from_this<MigratingCode> {
 public:
  // The tier must outlive it. In the background: another thread opens the GPU
  // and compiles.
  MigratingCode(const LoopProgram& program, GpuTier* gpu, bool in_background);

  // Executable::Repeat on the GPU, if the program is there. False: the caller
  // must repeat it on the host, where its arrays are then. `host_code` is the
  // program's code for the host, which repeats the runs if the GPU fails.
  bool Repeat(const std::shared_ptr<const Executable>& host_code,
              absl::Span<std::byte* const> buffers, absl::Span<int64_t> statics,
              absl::Span<const int64_t> steps, int64_t count);

  // When and why it moved, or why not.
  std::string Describe() const;

 private:
  // Preparing: the GPU is opened and the program compiled. Refused: it stays on
  // the host for good.
  enum class State { kOnHost, kPreparing, kOnGpu, kRefused };

  struct Side {
    bool is_on_gpu;
    bool leaves_gpu;  // it was there until now
  };
  Side ChooseSide();
  void Prepare();
  void Account(const Copies& copied, int64_t count);
  // These need the mutex.
  void Move(State state);
  void Refuse(const absl::Status& error);
  void Tell(absl::string_view what, absl::string_view why);

  const LoopProgram program_;
  GpuTier& gpu_;
  const bool in_background_;
  std::vector<loop_ir::Role> roles_;

  mutable std::mutex mutex_;  // guards the rest
  State state_ = State::kOnHost;
  Forecast forecast_;
  Stay stay_;
  std::unique_ptr<const Executable> code_;  // null: not compiled
  std::string history_;
  int64_t events_ = 0;
  int64_t runs_ = 0;
  int64_t gpu_runs_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_MIGRATING_CODE_H_
