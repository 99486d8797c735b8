// SPDX-License-Identifier: Apache-2.0
//
// Inputs of the tool's commands: --in=NAME=SOURCE[:SHAPE].
//
//   x=data.npy        an array from a file
//   x=data.npy:2|3->4 its axes as batch|input->output
//   x=range:2|3->4    0, 1, 2, ... in memory order; range+1 starts at 1
//   'x=range:8,8,3 rgb'   a basis behind a size
//   x=4,9,0:3         numbers
//   x=[[4,9],[0,1]]   numbers in rows, as output axes unless a shape follows
#ifndef OCANNL_CLI_INPUT_H_
#define OCANNL_CLI_INPUT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct InputFlag {
  std::string name;
  std::string source;
  std::optional<Shape> shape;
  Bases bases = {};  // of its rows
};

// Numbers in brackets have the shape that these say: of output axes, or of the
// kinds that the text says. Errors: text of another form; rows of other
// lengths.
absl::StatusOr<InputFlag> ParseInput(absl::string_view text);

// The --in flag that gives `buffer` numbers to try it with: "--in=w=range:2,3".
std::string ExampleInput(const loop_ir::Buffer& buffer);

// Error: the source names a file that is not .npy; the message says how to make
// one of it.
absl::Status CheckNoOtherFile(const InputFlag& input);

// The values, in the input's shape if it has one. Without one, files bring
// their own dims and a range and numbers take `dims`. Files bring their own
// dtype. Errors: an unreadable file, numbers that `dtype` cannot hold or that
// do not fill the shape.
absl::StatusOr<NdArray> LoadInput(const InputFlag& input, DType dtype,
                                  const Dims& dims);

// Splits NAME=VALUE. Error: no `=` or no name; the message names `flag`.
absl::Status SplitAssignment(absl::string_view flag, absl::string_view text,
                             std::string& name, std::string& value);

// Sets the static indices of `routine` as the --set flags of `line` say. Error:
// one that is left without a value.
absl::Status SetStatics(const CommandLine& line, Routine& routine);

}  // namespace ocannl

#endif  // OCANNL_CLI_INPUT_H_
