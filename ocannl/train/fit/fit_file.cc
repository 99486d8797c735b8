// SPDX-License-Identifier: Apache-2.0
//
// What a file has of a training, beside the state of the step: how far it is,
// and its course.
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/fit/fit_parts.h"

namespace ocannl::train {
namespace {

// Arrays that tell how far training is: steps; of their losses the first, the
// sum of the epoch, and how many are in it; and a Course as text.
constexpr char kStepsDone[] = "steps_done";
constexpr char kLossSoFar[] = "loss_so_far";
constexpr char kCourse[] = "course";
constexpr absl::string_view kOwn[] = {kStepsDone, kLossSoFar, kCourse};

NdArray BytesOf(const std::string& text) {
  NdArray bytes(DType::kU8, {static_cast<int64_t>(text.size())});
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

absl::StatusOr<std::vector<Array>> KeepProgress(const FitStep& step,
                                                const Course& course,
                                                const FitHistory& history) {
  const std::vector<std::pair<std::string, NdArray>> own = {
      {kStepsDone, NdArray::Of<int64_t>({}, {history.steps_done})},
      {kLossSoFar, NdArray::Of<double>(
                       {3}, {history.first_loss.value_or(0), history.epoch_sum,
                             static_cast<double>(history.epoch_steps)})},
      {kCourse, BytesOf(ToText(course))}};
  std::vector<Array> all = step.state;
  for (const auto& [name, value] : own) {
    all.push_back({.name = name, .dtype = value.dtype(), .dims = value.dims()});
  }
  OCANNL_RETURN_IF_ERROR(step.context.WriteAll(own));
  return all;
}

absl::StatusOr<std::string> RestoreProgress(const std::string& path,
                                            const FitStep& step,
                                            const Course& course,
                                            FitHistory& history) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<ArrayEntry> found,
                          ListArrays(path));
  auto has = [&](absl::string_view name) {
    return absl::c_any_of(
        found, [&](const ArrayEntry& entry) { return entry.name == name; });
  };
  std::string differs;
  if (has(kCourse)) {
    OCANNL_ASSIGN_OR_RETURN(const std::vector<NdArray> text,
                            LoadArrays(path, {kCourse}));
    absl::StatusOr<Course> saved = ParseCourse(text[0].AsString());
    if (!saved.ok()) return FileError(path, saved.status().message());
    OCANNL_ASSIGN_OR_RETURN(differs, CompareCourses(path, *saved, course));
  }
  OCANNL_RETURN_IF_ERROR(CheckNetwork(path, found, step.state, kOwn, course));
  std::vector<Array> wanted = step.state;
  wanted.push_back({.name = kStepsDone, .dtype = DType::kI64, .dims = {}});
  const bool has_loss = has(kLossSoFar);
  if (has_loss) {
    wanted.push_back({.name = kLossSoFar, .dtype = DType::kF64, .dims = {3}});
  }
  const Context& context = step.context;
  OCANNL_RETURN_IF_ERROR(
      RestoreParams(path, wanted, context,
                    {.allow_extra = true, .layout = FileLayout::kOcannl}));
  OCANNL_ASSIGN_OR_RETURN(const NdArray done, context.Read(kStepsDone));
  history.steps_done = done.values<int64_t>()[0];
  if (has_loss) {
    OCANNL_ASSIGN_OR_RETURN(const NdArray loss, context.Read(kLossSoFar));
    const auto values = loss.values<double>();
    history.first_loss = values[0];
    history.epoch_sum = values[1];
    history.epoch_steps = static_cast<int64_t>(values[2]);
  }
  std::string said;
  if (!differs.empty()) {
    absl::StrAppend(&said, "Saved with ", differs,
                    ": from here on, the course is another one.\n");
  }
  if (!has(kCourse)) {
    absl::StrAppend(&said, "The file has no flags to compare with these",
                    has_loss ? "" : ", and no loss of its epoch", ".\n");
  }
  return said;
}

}  // namespace ocannl::train
