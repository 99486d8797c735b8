// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/tiered_backend.h"

#include <atomic>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/core/loop/canonical_text.h"

namespace ocannl {
namespace {

// Runs of one program on one tier.
struct RunCount {
  std::atomic<int64_t> runs = 0;
  std::atomic<int64_t> nanoseconds = 0;

  void Add(double seconds) {
    runs.fetch_add(1, std::memory_order_relaxed);
    nanoseconds.fetch_add(static_cast<int64_t>(seconds * 1e9),
                          std::memory_order_relaxed);
  }
};

std::string Describe(absl::string_view tier, const RunCount& count) {
  return absl::StrFormat("%s %d runs, %.3g ms", tier, count.runs.load(),
                         1e-6 * count.nanoseconds.load());
}

}  // namespace

// What the report tells of one program.
struct TieredBackend::Record {
  std::string name;
  std::string origin;  // of its code
  std::shared_ptr<TieredCode> code;
  RunCount first;
  RunCount second;
};

class TieredBackend::TieredExecutable : public Executable {
 public:
  TieredExecutable(std::shared_ptr<TieredCode> code, const Tiering* tiering,
                   std::shared_ptr<Record> record)
      : code_(std::move(code)),
        tiering_(*tiering),
        record_(std::move(record)) {}

  // What is linked without scratch memory never runs on the first tier: the
  // second is there by then, and stays.
  bool HasScratch() const override {
    const Executable* second = code_->second();
    return second != nullptr && second->HasScratch();
  }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    if (code_->second() == nullptr) code_->PromoteIfDue();
    const Executable* second = code_->second();
    if (second != nullptr && record_ == nullptr) {
      return second->Run(buffers, statics);
    }
    const double start = tiering_.now();
    (second != nullptr ? *second : code_->first()).Run(buffers, statics);
    const double seconds = tiering_.now() - start;
    if (second == nullptr) code_->AddRunOfFirst(seconds);
    if (record_ == nullptr) return;
    (second != nullptr ? record_->second : record_->first).Add(seconds);
  }

  void Repeat(absl::Span<std::byte* const> buffers, absl::Span<int64_t> statics,
              absl::Span<const int64_t> steps, int64_t count) const override {
    const Executable* second = code_->second();
    if (second != nullptr && record_ == nullptr) {
      return second->Repeat(buffers, statics, steps, count);
    }
    Executable::Repeat(buffers, statics, steps, count);
  }

 private:
  const std::shared_ptr<TieredCode> code_;
  const Tiering& tiering_;
  const std::shared_ptr<Record> record_;  // null: no report is wanted
};

// On the GPU or on the host, wherever the program is.
class TieredBackend::MigratingExecutable : public Executable {
 public:
  MigratingExecutable(std::shared_ptr<MigratingCode> code,
                      std::shared_ptr<const Executable> on_host)
      : code_(std::move(code)), on_host_(std::move(on_host)) {}

  bool HasScratch() const override { return on_host_->HasScratch(); }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    absl::InlinedVector<int64_t, 4> values(statics.begin(), statics.end());
    const absl::InlinedVector<int64_t, 4> steps(statics.size(), 0);
    Repeat(buffers, absl::MakeSpan(values), steps, 1);
  }

  void Repeat(absl::Span<std::byte* const> buffers, absl::Span<int64_t> statics,
              absl::Span<const int64_t> steps, int64_t count) const override {
    if (code_->Repeat(on_host_, buffers, statics, steps, count)) return;
    on_host_->Repeat(buffers, statics, steps, count);
  }

 private:
  const std::shared_ptr<MigratingCode> code_;
  const std::shared_ptr<const Executable> on_host_;
};

TieredBackend::TieredBackend(Tiering tiering, const TieredOptions& options)
    : tiering_(std::move(tiering)),
      options_(options),
      cache_(options.cache_size) {}

absl::StatusOr<std::shared_ptr<TieredCode>> TieredBackend::CodeOf(
    const LoopProgram& program, std::string* origin) const {
  std::string key = CanonicalText(program);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::shared_ptr<TieredCode>* code = cache_.Find(key)) {
      ++hits_;
      *origin = "code of an equal program";
      return *code;
    }
    ++misses_;
    *origin = cache_.dropped() == 0
                  ? "new code: no program of this shape so far"
                  : absl::StrCat(
                        "new code: no program of this shape among "
                        "the last ",
                        options_.cache_size);
  }
  auto code = std::make_shared<TieredCode>(
      program, &tiering_, options_.background ? &thread_ : nullptr);
  OCANNL_RETURN_IF_ERROR(code->Start());
  OCANNL_RETURN_IF_ERROR(CheckNotCancelled());  // a tier may have left it
  std::lock_guard<std::mutex> lock(mutex_);
  // Another thread may have come first.
  if (cache_.Find(key) == nullptr) cache_.Insert(std::move(key), code);
  return code;
}

std::unique_ptr<Executable> TieredBackend::ExecutableOf(
    const LoopProgram& program, std::shared_ptr<TieredCode> code,
    std::string origin) const {
  std::shared_ptr<Record> record;
  if (options_.report) {
    record = std::make_shared<Record>();
    record->name = program.name;
    record->origin = std::move(origin);
    record->code = code;
    std::lock_guard<std::mutex> lock(mutex_);
    records_.push_back(record);
  }
  std::shared_ptr<MigratingCode> migrating = code->migrating();
  auto on_host = std::make_unique<TieredExecutable>(std::move(code), &tiering_,
                                                    std::move(record));
  if (migrating == nullptr) return on_host;
  return std::make_unique<MigratingExecutable>(std::move(migrating),
                                               std::move(on_host));
}

absl::StatusOr<std::unique_ptr<Executable>> TieredBackend::Compile(
    const LoopProgram& program) const {
  std::string origin;
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<TieredCode> code,
                          CodeOf(program, &origin));
  return ExecutableOf(program, std::move(code), std::move(origin));
}

absl::StatusOr<std::unique_ptr<Executable>> TieredBackend::CompileHot(
    const LoopProgram& program) const {
  if (tiering_.gpu != nullptr) {
    std::string origin;
    OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<TieredCode> code,
                            CodeOf(program, &origin));
    code->Hasten();
    return ExecutableOf(program, std::move(code), std::move(origin));
  }
  absl::StatusOr<std::unique_ptr<Executable>> code =
      tiering_.second->Compile(program);
  return code.ok() ? std::move(code) : tiering_.first->Compile(program);
}

std::string TieredBackend::Report() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string text = absl::StrCat(
      "tiers: ", tiering_.first->name(), ", then ", tiering_.second->name(),
      "; cache of code: ", hits_, " hits, ", misses_, " misses, ",
      cache_.dropped(), " dropped\n");
  for (const std::shared_ptr<Record>& record : records_) {
    absl::StrAppend(&text, record->name, ": ",
                    Describe(tiering_.first->name(), record->first), "; ",
                    Describe(tiering_.second->name(), record->second), "\n  ",
                    record->origin, "; ", record->code->Describe(), "\n");
  }
  absl::StrAppend(&text, tiering_.second->Report());
  if (tiering_.gpu != nullptr) absl::StrAppend(&text, tiering_.gpu->Report());
  return text;
}

}  // namespace ocannl
