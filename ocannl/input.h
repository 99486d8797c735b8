// SPDX-License-Identifier: Apache-2.0
//
// Inputs of the tool's commands: --in=NAME=SOURCE[:SHAPE].
//
//   x=data.npy        an array from a file
//   x=data.npy:2|3->4 its axes as batch|input->output
//   x=range:2|3->4    0, 1, 2, ... in memory order; range+1 starts at 1
//   x=4,9,0:3         numbers
#ifndef OCANNL_INPUT_H_
#define OCANNL_INPUT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct Input {
  std::string name;
  std::string source;
  std::optional<Shape> shape;
};

// Error: text of another form.
absl::StatusOr<Input> ParseInput(absl::string_view text);

// "2|3->4" as a shape; a row that is left out is empty. Error: other text.
absl::StatusOr<Shape> ParseShape(absl::string_view text);

// The values. Files bring their own dims and dtype; a range and numbers take
// `dims` and `dtype`. Errors: an unreadable file, text that is no number,
// numbers that do not fill `dims`.
absl::StatusOr<NdArray> LoadInput(const Input& input, DType dtype,
                                  const Dims& dims);

// Splits NAME=VALUE. Error: no `=`; the message names `flag`.
absl::Status SplitAssignment(absl::string_view flag, absl::string_view text,
                             std::string& name, std::string& value);

// Sets the static indices of `routine` as the --set flags of `line` say.
absl::Status SetStatics(const CommandLine& line, Routine& routine);

// All values in memory order, a line per run of the last axis; long arrays are
// cut and say so.
std::string PrintValues(const NdArray& array);

}  // namespace ocannl

#endif  // OCANNL_INPUT_H_
