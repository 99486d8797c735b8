// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cli/input.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/cd/parse.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/core/runtime/npy.h"

namespace ocannl {
namespace {

constexpr int64_t kMaxCells = int64_t{1} << 30;

void Store(NdArray& array, int64_t at, const Constant& constant) {
  size_t size = SizeOf(array.dtype());
  std::memcpy(array.data() + at * size, &constant.bits, size);
}

std::optional<Constant> ParseCell(absl::string_view text, DType dtype) {
  if (dtype != DType::kBool) return ParseConstant(text, dtype);
  bool value;
  if (!absl::SimpleAtob(text, &value)) return std::nullopt;
  return MakeConstant(dtype, value);
}

// As many as there are cells.
absl::StatusOr<std::vector<Constant>> ParseNumbers(const InputFlag& input,
                                                   DType dtype, int64_t cells) {
  std::vector<absl::string_view> parts =
      absl::StrSplit(input.source, absl::ByAnyChar(", "), absl::SkipEmpty());
  std::vector<Constant> numbers;
  for (absl::string_view part : parts) {
    std::optional<Constant> constant = ParseCell(part, dtype);
    if (!constant) {
      return Wrong("--in=", input.name, ": `", part, "` is not a number ",
                   "that ", Name(dtype), " can hold; write FILE.npy, ",
                   "range or numbers with commas");
    }
    numbers.push_back(*constant);
  }
  if (static_cast<int64_t>(numbers.size()) == cells) return numbers;
  return Wrong("--in=", input.name, " gives ", numbers.size(),
               " numbers, but its shape has ", cells, " cells");
}

// The cell `k` of a range whose cell 0 is `first`; none if its integer does not
// hold it.
std::optional<Constant> CellOfRange(const Constant& first, int64_t k) {
  const int bits = 8 * static_cast<int>(SizeOf(first.dtype));
  const Constant cell = {first.dtype,
                         (first.bits + k) & (~uint64_t{0} >> (64 - bits))};
  // What wraps around is far away.
  const double moved = ToDouble(cell) - ToDouble(first);
  if (std::abs(moved - static_cast<double>(k)) >= std::ldexp(1, bits - 1)) {
    return std::nullopt;
  }
  return cell;
}

// `start` is what follows `range`: empty, or +1.
absl::Status StoreRange(const InputFlag& input, absl::string_view start,
                        NdArray& array) {
  double first = 0;
  if (!start.empty() && !absl::SimpleAtod(start, &first)) {
    return Wrong("--in=", input.name, ": `", input.source,
                 "` is not a range; write range or range+1");
  }
  const DType dtype = array.dtype();
  std::optional<Constant> whole;  // a double skips integers beyond 2^53
  if (IsInteger(dtype)) {
    whole = start.empty() ? MakeConstant(dtype, 0)
                          : ParseConstant(absl::StripPrefix(start, "+"), dtype);
  }
  for (int64_t k = 0; k < array.size(); ++k) {
    const double value = first + static_cast<double>(k);
    std::optional<Constant> cell = MakeConstant(dtype, value);
    if (whole) {
      cell = CellOfRange(*whole, k);
    } else if (!IsFloat(ComputeDType(dtype)) &&
               (ToDouble(*cell) != value || std::abs(value) >= 0x1p53)) {
      cell = std::nullopt;
    }
    if (!cell) {
      return Wrong("--in=", input.name, ": ", Name(dtype), " cannot hold ",
                   value, " of this range; give numbers");
    }
    Store(array, k, *cell);
  }
  return absl::OkStatus();
}

absl::StatusOr<NdArray> LoadFile(const InputFlag& input) {
  OCANNL_ASSIGN_OR_RETURN(NdArray values, ReadNpy(UserPath(input.source)));
  if (!input.shape) return values;
  Dims dims = input.shape->dims();
  if (NumElements(dims) == values.size()) return values.Reshaped(dims);
  return Wrong("--in=", input.name, ": ", input.source, " has ", values.size(),
               " cells, but the shape ", ToString(*input.shape), " has ",
               NumElements(dims));
}

// "2|3->4"; a row that is left out is empty.
bool ParseShape(absl::string_view text, InputFlag& input) {
  const absl::StatusOr<ShapeSpec> spec = ParseRows(text);
  if (!spec.ok()) return false;
  input.shape = Shape();
  for (RowKind kind : kRowKinds) (*input.shape)[kind] = *(*spec)[kind];
  input.bases = spec->bases;
  return absl::c_all_of(input.shape->dims(),
                        [](int64_t size) { return size <= kMaxCells; });
}

}  // namespace

absl::Status WithSource(const absl::Status& status, absl::string_view text) {
  constexpr size_t kWidth = 78;
  const std::string message(status.message());
  size_t number;
  size_t column;
  if (std::sscanf(message.c_str(), "line %zu, column %zu:", &number, &column) !=
      2) {
    return status;
  }
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (number < 1 || number > lines.size()) return status;
  std::string line = absl::StrCat(lines[number - 1], " ");  // for its end
  if (column < 1 || column > line.size()) return status;
  // The column counts bytes.
  for (char& c : line) {
    if (!absl::ascii_isprint(c)) c = absl::ascii_isspace(c) ? ' ' : '?';
  }
  size_t at = column - 1;
  if (line.size() > kWidth) {
    const size_t first =
        std::min(at - std::min(at, kWidth / 2), line.size() - kWidth);
    const bool goes_on = first + kWidth < line.size();
    line = line.substr(first, kWidth);
    if (first > 0) line.replace(0, 3, "...");
    if (goes_on) line.replace(kWidth - 3, 3, "...");
    at -= first;
  }
  absl::StripTrailingAsciiWhitespace(&line);
  if (line.empty()) return status;
  return absl::Status(status.code(), absl::StrCat(message, "\n  ", line, "\n  ",
                                                  std::string(at, ' '), "^"));
}

bool IsProgramFile(absl::string_view path) {
  return absl::EndsWith(path, ".ll") || absl::EndsWith(path, ".cd");
}

namespace {

absl::StatusOr<ProgramFile> ParseFile(const std::string& path,
                                      absl::string_view text) {
  ProgramFile file;
  if (absl::EndsWith(path, ".cd")) {
    OCANNL_ASSIGN_OR_RETURN(file.code, ParseCd(text));
    OCANNL_ASSIGN_OR_RETURN(file.program, LowerToRun(*file.code));
    OCANNL_RETURN_IF_ERROR(Verify(file.program));
  } else {
    OCANNL_ASSIGN_OR_RETURN(file.program, ParseVerified(text, VerifyPromises));
  }
  return file;
}

}  // namespace

absl::StatusOr<ProgramFile> ReadProgram(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(std::string text, ReadText(UserPath(path)));
  absl::StatusOr<ProgramFile> file = ParseFile(path, text);
  if (file.ok()) return file;
  return Wrong(path, ": ", WithSource(file.status(), text).message());
}

absl::Status SplitAssignment(absl::string_view flag, absl::string_view text,
                             std::string& name, std::string& value) {
  size_t at = std::min(text.find('='), text.size());
  name = std::string(text.substr(0, at));
  value = std::string(absl::ClippedSubstr(text, at + 1));
  bool is_name = !name.empty() && !absl::ascii_isdigit(name[0]) &&
                 absl::c_all_of(name, [](char c) {
                   return absl::ascii_isalnum(c) || c == '_' || c == '.';
                 });
  if (is_name && at < text.size()) return absl::OkStatus();
  return Wrong("--", flag, "=", text, ": write --", flag,
               "=NAME=VALUE, where NAME has letters, digits and _");
}

absl::StatusOr<InputFlag> ParseInput(absl::string_view text) {
  InputFlag input;
  OCANNL_RETURN_IF_ERROR(SplitAssignment("in", text, input.name, input.source));
  // A path may have a colon of its own.
  size_t colon = input.source.rfind(':');
  if (colon == std::string::npos || absl::EndsWith(input.source, ".npy")) {
    return input;
  }
  std::string shape = input.source.substr(colon + 1);
  input.source.resize(colon);
  if (ParseShape(shape, input)) return input;
  return Wrong("--in=", text, ": `", shape, "` is not a shape; write sizes ",
               "from 1 to 2^30 as batch|input->output, such as 2|3->4");
}

absl::StatusOr<NdArray> LoadInput(const InputFlag& input, DType dtype,
                                  const Dims& dims) {
  if (absl::EndsWith(input.source, ".npy")) return LoadFile(input);
  const Dims wanted = input.shape ? input.shape->dims() : dims;
  const absl::StatusOr<int64_t> cells = ByteSize(DType::kU8, wanted);
  if (!cells.ok() || *cells > kMaxCells) {
    return Wrong("--in=", input.name, " has over 2^30 cells");
  }
  // The text is checked before there is memory for what it asks for.
  absl::string_view rest = input.source;
  if (absl::ConsumePrefix(&rest, "range")) {
    NdArray array(dtype, wanted);
    OCANNL_RETURN_IF_ERROR(StoreRange(input, rest, array));
    return array;
  }
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Constant> numbers,
                          ParseNumbers(input, dtype, *cells));
  NdArray array(dtype, wanted);
  for (size_t k = 0; k < numbers.size(); ++k) Store(array, k, numbers[k]);
  return array;
}

absl::Status SetStatics(const CommandLine& line, Routine& routine) {
  for (const std::string& text : line.GetAll("set")) {
    std::string name;
    std::string value;
    OCANNL_RETURN_IF_ERROR(SplitAssignment("set", text, name, value));
    int64_t number;
    if (!absl::SimpleAtoi(value, &number)) {
      return Wrong("--set=", text, ": `", value, "` is not an integer");
    }
    OCANNL_RETURN_IF_ERROR(routine.Set(name, number));
  }
  for (const StaticRef& index : routine.statics()) {
    if (index.value()) continue;
    std::string last =
        index.range() ? absl::StrCat(" to ", *index.range() - 1) : "";
    return Wrong("static index `", index.name(),
                 "` has no value; add --set=", index.name(),
                 "=N, with N from 0", last);
  }
  return absl::OkStatus();
}

}  // namespace ocannl
