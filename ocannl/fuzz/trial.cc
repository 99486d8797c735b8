// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/trial.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/tiering/first_difference.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl::fuzz {
namespace {

NdArray Garbage(const Buffer& buffer, int byte) {
  NdArray array(buffer.dtype, buffer.dims);
  std::memset(array.data(), byte, array.bytes());
  return array;
}

Trial::Arrays FillBuffers(const LoopProgram& program, FillKind kind,
                          uint64_t seed) {
  Trial::Arrays arrays;
  for (const Buffer& buffer : program.buffers) {
    arrays.push_back(FillBuffer(buffer, kind, seed));
  }
  return arrays;
}

// The first time that a process asks about a backend, whose allocator is then
// used by all its code: reading the map takes as long as a small program.
bool IsNew(const Backend& backend) {
  static auto* const seen = new absl::flat_hash_set<const Backend*>;
  return seen->insert(&backend).second;
}

// The garbage of the interpreter and of the two runs.
constexpr int kGarbage[] = {0x5c, 0xff, 0x3b};

}  // namespace

std::string WritableExecutableMapping() {
  absl::StatusOr<std::string> maps = ReadFile("/proc/self/maps");
  CHECK_OK(maps);
  for (absl::string_view line : absl::StrSplit(*maps, '\n')) {
    std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() > 1 && absl::StrContains(words[1], 'w') &&
        absl::StrContains(words[1], 'x')) {
      return std::string(line);
    }
  }
  return "";
}

Trial::Trial(const LoopProgram& program, FillKind kind, uint64_t seed)
    : Trial(program, FillBuffers(program, kind, seed),
            FillStatics(program, seed)) {}

Trial::Trial(const LoopProgram& program, Arrays before,
             std::vector<int64_t> statics)
    : program_(program),
      before_(std::move(before)),
      statics_(std::move(statics)) {
  CHECK_OK(VerifyPromises(program));
  for (BufferId k : program.buffers.ids()) {
    const Buffer& buffer = program.buffers[k];
    expected_.push_back(IsInput(buffer.role) ? before_[k]
                                             : Garbage(buffer, kGarbage[0]));
  }
  std::vector<std::byte*> buffers;
  for (NdArray& array : expected_) buffers.push_back(array.data());
  auto executable = interp::InterpBackend().Compile(program);
  CHECK_OK(executable);
  (*executable)->Run(buffers, statics_);
}

std::string Trial::Try(const Backend& backend) const {
  auto executable = backend.Compile(program_);
  if (!executable.ok()) {
    return absl::StrCat("refused: ", executable.status().message());
  }
  if (IsNew(backend)) {
    const std::string mapping = WritableExecutableMapping();
    if (!mapping.empty()) {
      return absl::StrCat("writable and executable: ", mapping);
    }
  }
  const MemorySpace& space = backend.memory();
  for (int run = 0; run < (space.is_host() ? 2 : 3); ++run) {
    std::string error = TryOnce(**executable, space, /*at_start=*/run == 1);
    if (!error.empty()) return error;
  }
  return "";
}

std::string Trial::TryOnce(const Executable& executable,
                           const MemorySpace& space, bool at_start) const {
  const auto place =
      at_start ? GuardedBuffer::Place::kStart : GuardedBuffer::Place::kEnd;
  IdVector<BufferId, const GuardedBuffer*> guarded;
  std::deque<GuardedBuffer> written;
  std::vector<DeviceMemory> copies;  // of those, where the host's do not serve
  std::vector<std::byte*> buffers;
  for (BufferId k : program_.buffers.ids()) {
    const Buffer& buffer = program_.buffers[k];
    if (IsReadOnly(buffer.role)) {
      guarded.push_back(&read_only_
                             .try_emplace({k, at_start}, before_[k], place,
                                          /*writable=*/false)
                             .first->second);
    } else {
      guarded.push_back(&written.emplace_back(
          IsInput(buffer.role) ? before_[k]
                               : Garbage(buffer, kGarbage[at_start ? 1 : 2]),
          place, /*writable=*/true));
    }
    buffers.push_back(guarded.back()->data());
    if (space.is_host()) continue;
    auto copy = DeviceMemory::Allocate(before_[k].bytes(), space);
    CHECK_OK(copy);
    CHECK_OK(copy->CopyIn(guarded.back()->data()));
    buffers.back() = copy->address();
    copies.push_back(*std::move(copy));
  }
  executable.Run(buffers, statics_);
  for (BufferId k : program_.buffers.ids()) {
    const Buffer& buffer = program_.buffers[k];
    // To write there would have faulted.
    if (IsReadOnly(buffer.role) && space.is_host()) continue;
    size_t broken = guarded[k]->BrokenCanaryBytes();
    if (broken > 0) {
      return absl::StrCat(broken, " bytes ", at_start ? "after " : "before ",
                          buffer.name, " were written");
    }
    if (IsScratch(buffer.role)) continue;
    NdArray actual(buffer.dtype, buffer.dims);
    CHECK_OK(space.Copy(buffers[k.index], actual.bytes(), actual.data(),
                        CopyKind::kOut));
    std::string difference = FirstDifference(buffer, expected_[k], actual);
    if (!difference.empty()) return difference;
  }
  return "";
}

bool Trial::MostlyFinite() const {
  int64_t cells = 0;
  int64_t finite = 0;
  for (BufferId k : program_.buffers.ids()) {
    if (!IsResult(program_.buffers[k].role)) continue;
    for (int64_t cell = 0; cell < expected_[k].size(); ++cell) {
      finite += std::isfinite(expected_[k].AsDouble(cell)) ? 1 : 0;
    }
    cells += expected_[k].size();
  }
  return 10 * finite > 9 * cells;
}

}  // namespace ocannl::fuzz
