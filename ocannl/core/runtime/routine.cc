// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/routine.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {

absl::Status StaticRef::Set(int64_t value) {
  const int64_t range = index().range;
  if (value < 0 || (range != kUnranged && value >= range)) {
    return absl::OutOfRangeError(absl::StrCat(
        "static index `", name(), "` of routine `", cells_->routine,
        "` cannot be ", value, "; set a value from 0",
        range == kUnranged ? "" : absl::StrCat(" to ", range - 1)));
  }
  cells_->values[number_] = value;
  cells_->is_set[number_] = true;
  return absl::OkStatus();
}

Routine::Routine(LoopProgram program, Context context)
    : program_(std::move(program)), context_(std::move(context)) {
  const size_t count = program_.statics.size();
  static_cells_ = std::make_shared<StaticRef::Cells>(
      StaticRef::Cells{.routine = program_.name,
                       .indices = program_.statics,
                       .values = std::vector<int64_t>(count),
                       .is_set = std::vector<bool>(count)});
  for (size_t k = 0; k < count; ++k) {
    statics_.push_back(StaticRef(static_cells_, k));
  }
}

absl::StatusOr<StaticRef> Routine::Static(absl::string_view name) const {
  for (const StaticRef& ref : statics_) {
    if (ref.name() == name) return ref;
  }
  std::string all =
      absl::StrJoin(statics_, ", ", [](std::string* out, const StaticRef& ref) {
        absl::StrAppend(out, ref.name());
      });
  return absl::NotFoundError(
      absl::StrCat("routine `", program_.name, "` has no static index `", name,
                   "`; it has", all.empty() ? " none" : ": " + all));
}

absl::Status Routine::Set(absl::string_view name, int64_t value) {
  OCANNL_ASSIGN_OR_RETURN(StaticRef ref, Static(name));
  return ref.Set(value);
}

absl::Status Routine::CheckReady() const {
  for (const StaticRef& ref : statics_) {
    if (ref.value()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "static index `", ref.name(), "` of routine `", program_.name,
        "` was never set; call Set(\"", ref.name(), "\", value)"));
  }
  for (const Conflict& conflict : conflicts_) {
    if (conflict.earlier->runs > 0) continue;
    return absl::FailedPreconditionError(Describe(conflict, *record_));
  }
  for (const DeviceArray* array : record_->reads) {
    if (array->written) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "routine `", program_.name, "` reads `", array->name,
        "`, which was never written; call Write(\"", array->name,
        "\", values) on its context, or run a routine that computes it"));
  }
  return absl::OkStatus();
}

absl::Status Routine::Run() {
  using Clock = std::chrono::steady_clock;
  if (runs() == 0) OCANNL_RETURN_IF_ERROR(CheckReady());
  const Clock::time_point start = timed_ ? Clock::now() : Clock::time_point();
  context_.stream().Run(*executable_, buffers_, static_cells_->values);
  if (timed_) {
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
  }
  if (++record_->runs > 1) return absl::OkStatus();
  for (size_t i = 0; i < arrays_.size(); ++i) {
    // What is read as well was written before.
    if (program_.buffers[i].role == Role::kOut) arrays_[i]->written = true;
  }
  return absl::OkStatus();
}

}  // namespace ocannl
