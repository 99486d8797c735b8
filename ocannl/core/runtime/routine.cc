// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/routine.h"

#include <chrono>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

absl::Status StaticRef::Set(int64_t value) {
  const StaticIndex& index = cell_->index;
  if (value < 0 || (index.range != kUnranged && value >= index.range)) {
    return absl::OutOfRangeError(absl::StrCat(
        "static index `", index.name, "` of routine `", cell_->routine,
        "` cannot be ", value, "; set a value from 0",
        index.range == kUnranged ? "" : absl::StrCat(" to ", index.range - 1)));
  }
  cell_->value = value;
  return absl::OkStatus();
}

Routine::Routine(LoopProgram program, Context context)
    : program_(std::move(program)), context_(std::move(context)) {
  for (const StaticIndex& index : program_.statics) {
    statics_.push_back(
        StaticRef(std::make_shared<StaticRef::Cell>(StaticRef::Cell{
            .index = index, .routine = program_.name, .value = std::nullopt})));
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
  absl::InlinedVector<int64_t, 4> values;
  for (const StaticRef& ref : statics_) {
    if (!ref.value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "static index `", ref.name(), "` of routine `", program_.name,
          "` was never set; call Set(\"", ref.name(), "\", value)"));
    }
    values.push_back(*ref.value());
  }
  if (runs() == 0) OCANNL_RETURN_IF_ERROR(CheckReady());
  auto start = std::chrono::steady_clock::now();
  context_.stream().Run(*executable_, buffers_, values);
  record_->seconds += SecondsSince(start);
  if (++record_->runs > 1) return absl::OkStatus();
  for (size_t i = 0; i < arrays_.size(); ++i) {
    // What is read as well was written before.
    if (program_.buffers[i].role == Role::kOut) arrays_[i]->written = true;
  }
  return absl::OkStatus();
}

}  // namespace ocannl
