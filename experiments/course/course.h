// SPDX-License-Identifier: Apache-2.0
//
// Course: what decides the course of a training beside the number of its steps.
// A checkpoint keeps it, so that who goes on from it goes on with the same.
#ifndef EXPERIMENTS_COURSE_COURSE_H_
#define EXPERIMENTS_COURSE_COURSE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/train/checkpoint/saved_arrays.h"

namespace ocannl {

struct CourseFlag {
  std::string name, value;
  // Of what the value names, as a file; empty: the values are compared.
  std::string hash = "";
  // Whether a training may go on with another value. It is told of.
  bool may_differ = false;
};

struct Course {
  std::string experiment;
  std::vector<CourseFlag> flags;
};

// The flags of that name, as the line gives them.
std::vector<CourseFlag> CourseFlagsOf(const CommandLine& line,
                                      absl::Span<const std::string> names);

// A hash of examples.
std::string HashOf(absl::Span<const NdArray> arrays);

// JSON, and back. Error: it is none of ToText.
std::string ToText(const Course& course);
absl::StatusOr<Course> ParseCourse(absl::string_view text);

// Returns the flags that differ and may, as they were saved: "--epochs=7", or
// nothing. Error: the file at `path` is of another experiment, or was saved
// with other values of flags that both have; it names them, and both values.
absl::StatusOr<std::string> CompareCourses(absl::string_view path,
                                           const Course& saved,
                                           const Course& given);

// Error: what the file has is not `state`, which is that of `given`: its names
// or their types differ. The file may have `own` arrays beside it.
absl::Status CheckNetwork(absl::string_view path,
                          absl::Span<const train::ArrayEntry> found,
                          absl::Span<const Array> state,
                          absl::Span<const absl::string_view> own,
                          const Course& given);

}  // namespace ocannl

#endif  // EXPERIMENTS_COURSE_COURSE_H_
