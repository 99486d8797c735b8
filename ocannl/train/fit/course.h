// SPDX-License-Identifier: Apache-2.0
//
// Course: what decides the course of a training beside the number of its steps.
// A checkpoint keeps it, so that a run that goes on from it has the same.
#ifndef OCANNL_TRAIN_FIT_COURSE_H_
#define OCANNL_TRAIN_FIT_COURSE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/train/checkpoint/saved_arrays.h"

namespace ocannl::train {

struct FitSetting {
  std::string name, value;
  // Whether the value names the examples to train on. Then these are compared,
  // and not the values: the same file may be in another place.
  bool is_data = false;
  // Whether a training may go on with another value. Fit tells of it.
  bool may_differ = false;
  std::string hash = "";  // of the examples; set by Fit
};

struct Course {
  std::string name = "";  // of the training
  std::vector<FitSetting> settings = {};
  std::string prefix = "";  // of the names of settings in messages
};

// JSON, and back. Error: the text is not one of ToText.
std::string ToText(const Course& course);
absl::StatusOr<Course> ParseCourse(absl::string_view text);

// Returns the settings that differ and may, as they were saved: "epochs=7", or
// nothing. Error: the file at `path` is of another training, or was saved with
// other values of settings that both have; it names them, and both values.
absl::StatusOr<std::string> CompareCourses(absl::string_view path,
                                           const Course& saved,
                                           const Course& given);

// Error: the arrays of the file are not `state`, which is that of `given`:
// their names or types differ. The file may have `own` arrays beside it.
absl::Status CheckNetwork(absl::string_view path,
                          absl::Span<const ArrayEntry> found,
                          absl::Span<const Array> state,
                          absl::Span<const absl::string_view> own,
                          const Course& given);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_FIT_COURSE_H_
