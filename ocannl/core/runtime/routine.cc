// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/routine.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {
namespace {

// Arrays that a routine remembers to have merged without a copy.
constexpr size_t kMostSources = 64;

}  // namespace

absl::Status StaticRef::Set(int64_t value) {
  const int64_t range = index().range;
  if (value < 0 || (range != kUnranged && value >= range)) {
    return absl::OutOfRangeError(absl::StrCat(
        "static index `", name(), "` of routine `", cells_->routine,
        "` cannot be ", value, "; set a value from 0",
        range == kUnranged ? "" : absl::StrCat(" to ", range - 1)));
  }
  cells_->values[number_] = value;
  return absl::OkStatus();
}

Routine::Routine(Routine&&) noexcept = default;
Routine& Routine::operator=(Routine&&) noexcept = default;
Routine::~Routine() = default;

Routine::Routine(std::shared_ptr<const LinkedCode> code, Context context)
    : code_(std::move(code)), context_(std::move(context)) {
  const size_t count = program().statics.size();
  static_cells_ = std::make_shared<StaticRef::Cells>(
      StaticRef::Cells{.routine = name(),
                       .indices = program().statics,
                       .values = std::vector(count, StaticRef::kUnset)});
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
      absl::StrCat("routine `", program().name, "` has no static index `", name,
                   "`; it has", all.empty() ? " none" : ": " + all));
}

absl::Status Routine::Set(absl::string_view name, int64_t value) {
  OCANNL_ASSIGN_OR_RETURN(StaticRef ref, Static(name));
  return ref.Set(value);
}

absl::Status Routine::CheckReady() const {
  for (const StaticRef& ref : statics_) {
    if (ref.value()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("static index `", ref.name(), "` of routine `", name(),
                     "` was never set; call Set(\"", ref.name(), "\", value)"));
  }
  for (const Conflict& conflict : conflicts_) {
    if (conflict.earlier->runs > 0) continue;
    return absl::FailedPreconditionError(Describe(conflict, *record_));
  }
  OCANNL_RETURN_IF_ERROR(LostError(*record_));
  const bool is_written = absl::c_all_of(
      record_->reads, [](const DeviceArray* array) { return array->written; });
  if (is_written) return absl::OkStatus();
  return UnwrittenError(*record_, context_.AllArrays());
}

absl::Status Routine::CheckMerge() const {
  const DeviceArray* wanted = record_->merges;
  const DeviceArray* held = context_.stream().merge().held();
  if (wanted == held) return absl::OkStatus();
  auto describe = [](const DeviceArray& array) {
    return absl::StrCat("`", array.name, "`, ",
                        DescribeArray(array.dtype, array.dims));
  };
  return absl::FailedPreconditionError(absl::StrCat(
      "routine `", name(), "` reads ", describe(*wanted), ", from the merge ",
      "buffer, which holds ", held == nullptr ? "nothing" : describe(*held),
      "; call CopyToMerge(\"", wanted->name, "\", from) before it runs"));
}

// The code on what the merge buffer points at, if it does.
absl::StatusOr<const std::shared_ptr<const LinkedCode>*>
Routine::CodeToMerge() {
  const std::shared_ptr<const DeviceArray>& source =
      context_.stream().merge().points_at();
  if (source == nullptr) return &code_;
  if (pointing_.size() > kMostSources) pointing_.clear();
  std::shared_ptr<const LinkedCode>& code = pointing_[source];
  if (code != nullptr) return &code;
  DeviceArrays arrays = code_->arrays;
  for (std::shared_ptr<DeviceArray>& array : arrays) {
    if (array.get() != record_->merges) continue;
    array = std::const_pointer_cast<DeviceArray>(source);  // which it reads
  }
  OCANNL_ASSIGN_OR_RETURN(code,
                          LinkCode(context_.stream().device(), code_->program,
                                   code_->executable, std::move(arrays)));
  return &code;
}

absl::Status Routine::Run() {
  const std::shared_ptr<const LinkedCode>* code = &code_;
  if (record_->merges != nullptr) {
    OCANNL_RETURN_IF_ERROR(CheckMerge());
    OCANNL_ASSIGN_OR_RETURN(code, CodeToMerge());
  }
  if (runs() == 0) OCANNL_RETURN_IF_ERROR(CheckReady());
  OCANNL_RETURN_IF_ERROR(context_.ReadBy(*record_));
  OCANNL_RETURN_IF_ERROR(context_.stream().WaitForReaders(*code_));
  context_.stream().Run(*code, static_cells_->values);
  if (++record_->runs > 1) return absl::OkStatus();
  for (BufferId k : code_->arrays.ids()) {
    // What is read as well was written before.
    if (program().buffers[k].role == Role::kOut) {
      code_->arrays[k]->written = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace ocannl
