// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/migrating_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

// A checkpoint is due once the GPU has worked for so many times the seconds
// that it takes: it costs at most 5 % then. A log has at most so many entries,
// and holds so many bytes.
constexpr double kWorkPerCheckpoint = 20;
constexpr size_t kMostEntries = 4096;
constexpr size_t kMostBytes = size_t{64} << 20;

}  // namespace

class MigratingMemory::State {
 public:
  void Insert(std::byte* address, size_t bytes);
  void Erase(std::byte* address);
  void Copy(const std::byte* from, size_t bytes, std::byte* to, CopyKind kind);
  void SetGpu(const Backend* gpu);
  absl::StatusOr<Copies> Run(const Runs& runs);
  Copies BringToHost(absl::Span<const Role> roles,
                     absl::Span<std::byte* const> buffers, bool leaves);

 private:
  // What Allocate returned. Of an array that the log names, the host has the
  // value of the last checkpoint.
  struct Block {
    size_t bytes = 0;
    DeviceMemory on_gpu;  // owns nothing: there is no copy
    bool host_is_valid = true;
    bool gpu_is_valid = false;
    bool is_logged = false;
    Copies pending;  // of which the next run on the GPU tells
  };
  struct Place {
    std::byte* start;
    Block* block;
    size_t offset;
  };

  Place Find(const std::byte* address);
  void CopyIn(const std::byte* from, size_t bytes, std::byte* to);
  void NoteChanged(Block& block);
  absl::Status Prepare(const Runs& runs, std::vector<std::byte*>& addresses,
                       Copies& copied);
  void LogRuns(const Runs& runs);
  Copies Checkpoint();
  absl::Status FetchChanged(Copies& copied);
  void EndLog();
  void Drop(Block& block);
  void DropAll();
  absl::Status LoseGpu(const absl::Status& error);

  std::mutex mutex_;  // guards the rest, but for reads of num_copies_
  std::atomic<int64_t> num_copies_ = 0;  // on the GPU
  const Backend* gpu_ = nullptr;
  absl::Status status_ = absl::FailedPreconditionError("no GPU is open");
  std::map<const std::byte*, Block> blocks_;
  std::vector<std::function<void()>> log_;  // each does one thing again
  std::vector<std::pair<std::byte*, Block*>> logged_;
  size_t log_bytes_ = 0;
  size_t changed_bytes_ = 0;  // of blocks whose host value is an old one
  double log_seconds_ = 0;    // that the GPU takes for what the log has
};

void MigratingMemory::State::Insert(std::byte* address, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  blocks_[address].bytes = bytes;
}

void MigratingMemory::State::Erase(std::byte* address) {
  std::lock_guard<std::mutex> lock(mutex_);
  Block& block = *Find(address).block;
  if (block.is_logged) Checkpoint();
  Drop(block);
  blocks_.erase(address);
}

MigratingMemory::State::Place MigratingMemory::State::Find(
    const std::byte* address) {
  auto after = blocks_.upper_bound(address);
  CHECK(after != blocks_.begin()) << "an address of other memory";
  auto& [start, block] = *--after;
  const auto offset = static_cast<size_t>(address - start);
  CHECK_LE(offset, block.bytes) << "an address of other memory";
  return {const_cast<std::byte*>(start), &block, offset};
}

void MigratingMemory::State::SetGpu(const Backend* gpu) {
  std::lock_guard<std::mutex> lock(mutex_);
  gpu_ = gpu;
  status_ = absl::OkStatus();
}

void MigratingMemory::State::Copy(const std::byte* from, size_t bytes,
                                  std::byte* to, CopyKind kind) {
  if (bytes == 0 || from == to) return;
  if (num_copies_.load(std::memory_order_relaxed) == 0) {
    std::memmove(to, from, bytes);
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (kind == CopyKind::kIn) return CopyIn(from, bytes, to);
  const auto [start, block, offset] = Find(from);
  if (kind == CopyKind::kWithin) {
    if (!block->host_is_valid) block->pending.Add(Checkpoint());
    return CopyIn(from, bytes, to);
  }
  if (!block->host_is_valid) {
    const absl::Status copied =
        gpu_->memory().Copy(block->on_gpu.address() + offset, bytes, to, kind);
    if (copied.ok()) return;
    LoseGpu(copied).IgnoreError();
  }
  std::memmove(to, from, bytes);
}

// Of bytes of the host.
void MigratingMemory::State::CopyIn(const std::byte* from, size_t bytes,
                                    std::byte* to) {
  const auto [start, block, offset] = Find(to);
  if (block->is_logged && !block->gpu_is_valid) Checkpoint();  // scratch
  if (block->is_logged) {
    const absl::Status copied = gpu_->memory().Copy(
        from, bytes, block->on_gpu.address() + offset, CopyKind::kIn);
    if (!copied.ok()) LoseGpu(copied).IgnoreError();
  }
  if (!block->is_logged) {
    std::memmove(to, from, bytes);
    block->gpu_is_valid = false;
    return;
  }
  log_.push_back([to, values = std::vector<std::byte>(from, from + bytes)] {
    std::memcpy(to, values.data(), values.size());
  });
  log_bytes_ += bytes;
  NoteChanged(*block);
  block->pending.Add({bytes, 1});
  if (log_bytes_ >= kMostBytes) Checkpoint();
}

void MigratingMemory::State::NoteChanged(Block& block) {
  if (!std::exchange(block.host_is_valid, false)) return;
  changed_bytes_ += block.bytes;
}

// Copies to the GPU what it lacks for a run, and gives the addresses there.
absl::Status MigratingMemory::State::Prepare(const Runs& runs,
                                             std::vector<std::byte*>& addresses,
                                             Copies& copied) {
  for (size_t k = 0; k < runs.roles.size(); ++k) {
    if (IsScratch(runs.roles[k])) continue;
    const auto [start, block, offset] = Find(runs.buffers[k]);
    copied.Add(std::exchange(block->pending, {}));
    if (block->on_gpu.address() == nullptr) {
      OCANNL_ASSIGN_OR_RETURN(
          block->on_gpu, DeviceMemory::Allocate(block->bytes, gpu_->memory()));
      ++num_copies_;
    }
    if (IsInput(runs.roles[k]) && !block->gpu_is_valid) {
      OCANNL_RETURN_IF_ERROR(block->on_gpu.CopyIn(start));
      block->gpu_is_valid = true;
      copied.Add({block->bytes, 1});
    }
    addresses[k] = block->on_gpu.address() + offset;
  }
  return absl::OkStatus();
}

absl::StatusOr<Copies> MigratingMemory::State::Run(const Runs& runs) {
  std::lock_guard<std::mutex> lock(mutex_);
  OCANNL_RETURN_IF_ERROR(status_);
  std::vector<std::byte*> addresses(runs.buffers.size());
  Copies copied;
  absl::Status status = Prepare(runs, addresses, copied);
  if (absl::IsResourceExhausted(status)) {
    // Copies that other code left may have the memory.
    Checkpoint();
    DropAll();
    OCANNL_RETURN_IF_ERROR(status_);
    status = Prepare(runs, addresses, copied);
    if (absl::IsResourceExhausted(status)) {
      DropAll();
      return status;
    }
  }
  if (!status.ok()) return LoseGpu(status);
  std::vector<int64_t> statics(runs.statics.begin(), runs.statics.end());
  runs.gpu_code->Repeat(addresses, absl::MakeSpan(statics), runs.steps,
                        runs.count);
  status = gpu_->RunStatus();
  if (!status.ok()) return LoseGpu(status);
  LogRuns(runs);
  absl::c_copy(statics, runs.statics.begin());
  const double checkpoint_seconds =
      runs.seconds_per_byte * static_cast<double>(changed_bytes_);
  if (log_.size() >= kMostEntries ||
      log_seconds_ >= kWorkPerCheckpoint * checkpoint_seconds) {
    Checkpoint();
  }
  return copied;
}

// With the static indices that they began with.
void MigratingMemory::State::LogRuns(const Runs& runs) {
  for (size_t k = 0; k < runs.roles.size(); ++k) {
    if (runs.buffers[k] == nullptr) continue;  // scratch that the code has
    const auto [start, block, offset] = Find(runs.buffers[k]);
    if (!std::exchange(block->is_logged, true)) {
      logged_.push_back({start, block});
    }
    if (!IsResult(runs.roles[k])) continue;
    NoteChanged(*block);
    block->gpu_is_valid = true;
  }
  log_.push_back(
      [code = runs.host_code,
       buffers = std::vector(runs.buffers.begin(), runs.buffers.end()),
       statics = std::vector(runs.statics.begin(), runs.statics.end()),
       steps = std::vector(runs.steps.begin(), runs.steps.end()),
       count = runs.count]() mutable {
        code->Repeat(buffers, absl::MakeSpan(statics), steps, count);
      });
  log_seconds_ += runs.gpu_seconds;
}

Copies MigratingMemory::State::BringToHost(absl::Span<const Role> roles,
                                           absl::Span<std::byte* const> buffers,
                                           bool leaves) {
  Copies copied;
  if (num_copies_.load(std::memory_order_relaxed) == 0) return copied;
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::pair<Block*, bool>> blocks;  // and whether it is written
  bool is_due = false;
  for (size_t k = 0; k < roles.size(); ++k) {
    if (IsScratch(roles[k])) continue;
    Block* const block = Find(buffers[k]).block;
    const bool is_written = IsResult(roles[k]);
    is_due |= !block->host_is_valid || (is_written && block->is_logged);
    blocks.push_back({block, is_written});
  }
  if (is_due || leaves) copied = Checkpoint();
  for (const auto& [block, is_written] : blocks) {
    if (is_written) block->gpu_is_valid = false;
    if (leaves) Drop(*block);
  }
  return copied;
}

// Afterwards the host has all values, and the log is empty.
Copies MigratingMemory::State::Checkpoint() {
  Copies copied;
  if (log_.empty()) return copied;
  const absl::Status fetched = FetchChanged(copied);
  if (fetched.ok()) {
    EndLog();
  } else {
    LoseGpu(fetched).IgnoreError();
  }
  return copied;
}

// No value of the host is replaced before all are there: those of the last
// checkpoint are needed until then.
absl::Status MigratingMemory::State::FetchChanged(Copies& copied) {
  std::vector<DeviceMemory> values;
  for (const auto& [start, block] : logged_) {
    if (block->host_is_valid) continue;
    OCANNL_ASSIGN_OR_RETURN(values.emplace_back(),
                            DeviceMemory::Allocate(block->bytes));
    OCANNL_RETURN_IF_ERROR(block->on_gpu.CopyOut(values.back().address()));
    copied.Add({block->bytes, 1});
  }
  OCANNL_RETURN_IF_ERROR(gpu_->RunStatus());
  size_t next = 0;
  for (const auto& [start, block] : logged_) {
    if (block->host_is_valid) continue;
    std::memcpy(start, values[next++].address(), block->bytes);
  }
  return absl::OkStatus();
}

void MigratingMemory::State::EndLog() {
  for (const auto& [start, block] : logged_) {
    block->host_is_valid = true;
    block->is_logged = false;
  }
  logged_.clear();
  log_.clear();
  log_bytes_ = changed_bytes_ = 0;
  log_seconds_ = 0;
}

void MigratingMemory::State::Drop(Block& block) {
  if (block.on_gpu.address() == nullptr) return;
  block.on_gpu = DeviceMemory();
  block.gpu_is_valid = false;
  --num_copies_;
}

void MigratingMemory::State::DropAll() {
  for (auto& [start, block] : blocks_) Drop(block);
}

// Does on the host what the log has, on the values of the last checkpoint.
// Returns the error.
absl::Status MigratingMemory::State::LoseGpu(const absl::Status& error) {
  status_.Update(error);
  DefaultFloatEnvironment guard;
  for (const std::function<void()>& redo : log_) redo();
  EndLog();
  DropAll();
  return error;
}

MigratingMemory::MigratingMemory() : state_(std::make_unique<State>()) {}
MigratingMemory::~MigratingMemory() = default;

absl::StatusOr<std::byte*> MigratingMemory::Allocate(size_t bytes) const {
  OCANNL_ASSIGN_OR_RETURN(std::byte * address, HostMemory().Allocate(bytes));
  state_->Insert(address, bytes);
  return address;
}

void MigratingMemory::Free(std::byte* address) const {
  state_->Erase(address);
  HostMemory().Free(address);
}

absl::Status MigratingMemory::Copy(const std::byte* from, size_t bytes,
                                   std::byte* to, CopyKind kind) const {
  state_->Copy(from, bytes, to, kind);
  return absl::OkStatus();
}

void MigratingMemory::SetGpu(const Backend* gpu) { state_->SetGpu(gpu); }

absl::StatusOr<Copies> MigratingMemory::RunOnGpu(const Runs& runs) {
  return state_->Run(runs);
}

Copies MigratingMemory::BringToHost(absl::Span<const Role> roles,
                                    absl::Span<std::byte* const> buffers,
                                    bool leaves) {
  return state_->BringToHost(roles, buffers, leaves);
}

}  // namespace ocannl
