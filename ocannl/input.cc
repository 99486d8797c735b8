// SPDX-License-Identifier: Apache-2.0
#include "ocannl/input.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/core/runtime/npy.h"

namespace ocannl {
namespace {

constexpr int64_t kMaxCells = int64_t{1} << 30;
constexpr int64_t kMaxPrinted = 1000;

void Store(NdArray& array, int64_t at, double value) {
  Constant constant = MakeConstant(array.dtype(), value);
  size_t size = SizeOf(array.dtype());
  std::memcpy(array.data() + at * size, &constant.bits, size);
}

absl::StatusOr<std::vector<double>> ParseNumbers(const Input& input) {
  std::vector<double> numbers;
  for (absl::string_view part :
       absl::StrSplit(input.source, absl::ByAnyChar(", "), absl::SkipEmpty())) {
    double number;
    if (!absl::SimpleAtod(part, &number)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--in=", input.name, ": `", part, "` is not a number; write ",
          "FILE.npy, range or numbers with commas"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

// The text of one cell: a constant's without its dtype.
std::string PrintCell(const NdArray& array, int64_t at) {
  uint64_t bits = 0;
  size_t size = SizeOf(array.dtype());
  std::memcpy(&bits, array.data() + at * size, size);
  std::string text = PrintConstant(FromBits(array.dtype(), bits));
  return text.substr(0, text.find(':'));
}

}  // namespace

absl::Status SplitAssignment(absl::string_view flag, absl::string_view text,
                             std::string& name, std::string& value) {
  size_t at = text.find('=');
  if (at == absl::string_view::npos || at == 0) {
    return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", text,
                                                   " names nothing; write --",
                                                   flag, "=NAME=VALUE"));
  }
  name = std::string(text.substr(0, at));
  value = std::string(text.substr(at + 1));
  return absl::OkStatus();
}

absl::StatusOr<Shape> ParseShape(absl::string_view text) {
  Shape shape;
  absl::string_view rest = text;
  auto row = [&](RowKind kind, absl::string_view dims) {
    for (absl::string_view part : absl::StrSplit(dims, ',')) {
      int64_t size;
      if (!absl::SimpleAtoi(part, &size) || size < 1 || size > kMaxCells) {
        return false;
      }
      shape[kind].push_back(size);
    }
    return true;
  };
  bool ok = true;
  size_t bar = rest.find('|');
  if (bar != absl::string_view::npos) {
    if (bar > 0) ok = row(RowKind::kBatch, rest.substr(0, bar));
    rest.remove_prefix(bar + 1);
  }
  size_t arrow = rest.find("->");
  if (arrow != absl::string_view::npos) {
    if (arrow > 0) ok = ok && row(RowKind::kInput, rest.substr(0, arrow));
    rest.remove_prefix(arrow + 2);
  }
  if (!rest.empty()) ok = ok && row(RowKind::kOutput, rest);
  if (ok) return shape;
  return absl::InvalidArgumentError(
      absl::StrCat("`", text, "` is not a shape; write the sizes as ",
                   "batch|input->output, such as 2|3->4"));
}

absl::StatusOr<Input> ParseInput(absl::string_view text) {
  Input input;
  OCANNL_RETURN_IF_ERROR(SplitAssignment("in", text, input.name, input.source));
  size_t colon = input.source.rfind(':');
  if (colon != std::string::npos) {
    OCANNL_ASSIGN_OR_RETURN(input.shape,
                            ParseShape(input.source.substr(colon + 1)));
    input.source.resize(colon);
  }
  return input;
}

absl::StatusOr<NdArray> LoadInput(const Input& input, DType dtype,
                                  const Dims& dims) {
  if (absl::EndsWith(input.source, ".npy")) {
    return ReadNpy(UserPath(input.source));
  }
  __int128 cells = 1;
  for (int64_t dim : dims)
    cells = std::min<__int128>(cells * dim, kMaxCells + 1);
  if (cells > kMaxCells) {
    return absl::InvalidArgumentError(
        absl::StrCat("--in=", input.name, " has over 2^30 cells"));
  }
  NdArray array(dtype, dims);
  absl::string_view rest = input.source;
  if (absl::ConsumePrefix(&rest, "range")) {
    double first = 0;
    if (!rest.empty() && !absl::SimpleAtod(rest, &first)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--in=", input.name, ": `range", rest,
                       "` is not a range; write range or range+1"));
    }
    for (int64_t k = 0; k < array.size(); ++k) Store(array, k, first + k);
    return array;
  }
  OCANNL_ASSIGN_OR_RETURN(std::vector<double> numbers, ParseNumbers(input));
  if (static_cast<int64_t>(numbers.size()) != array.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--in=", input.name, " gives ", numbers.size(),
                     " numbers, but its shape has ", array.size(), " cells"));
  }
  for (int64_t k = 0; k < array.size(); ++k) Store(array, k, numbers[k]);
  return array;
}

absl::Status SetStatics(const CommandLine& line, Routine& routine) {
  for (const std::string& text : line.GetAll("set")) {
    std::string name;
    std::string value;
    OCANNL_RETURN_IF_ERROR(SplitAssignment("set", text, name, value));
    int64_t number;
    if (!absl::SimpleAtoi(value, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set=", text, ": `", value, "` is not an integer"));
    }
    OCANNL_RETURN_IF_ERROR(routine.Set(name, number));
  }
  return absl::OkStatus();
}

std::string PrintValues(const NdArray& array) {
  int64_t line = array.dims().empty() ? 1 : array.dims().back();
  int64_t shown = std::min(array.size(), kMaxPrinted);
  std::string text;
  for (int64_t k = 0; k < shown; ++k) {
    absl::StrAppend(&text, k % line == 0 ? "  " : " ", PrintCell(array, k));
    if ((k + 1) % line == 0 || k + 1 == shown) text += "\n";
  }
  if (shown < array.size()) {
    absl::StrAppend(&text, "  ... ", array.size() - shown,
                    " more; write them to a file with --out=DIR\n");
  }
  return text;
}

}  // namespace ocannl
