// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cli/input.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/cli/program_file.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/core/runtime/npy.h"

namespace ocannl {

namespace {

using loop_ir::Buffer;

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

// What to write for `source`, which is not a .npy file, if it names another
// file; empty: it does not.
std::string FileHint(absl::string_view source) {
  const size_t dot = std::min(source.rfind('.'), source.size());
  const std::string lower = absl::AsciiStrToLower(source.substr(dot));
  const absl::string_view end = lower;
  const bool has_end =
      end.size() > 1 && absl::ascii_isalpha(end[1]) &&
      absl::c_all_of(end.substr(1), absl::ascii_isalnum) &&
      source.find_first_not_of("0123456789.,+-eE ") != std::string::npos;
  const std::string path = UserPath(std::string(source));
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return "is a directory; give the path of a .npy file in it";
  }
  const std::string npy = absl::StrCat(source.substr(0, dot), ".npy");
  if (end == ".csv" || end == ".tsv" || end == ".txt") {
    return absl::StrCat(
        "is not a .npy file; to make one of it, run\n  python3 ",
        "-c 'import numpy; numpy.save(\"", npy, "\", numpy.loadtxt(\"", source,
        "\"", end == ".csv" ? ", delimiter=\",\"" : "", "))'");
  }
  if (end == ".npz") {
    return absl::StrCat("holds several arrays; to make a .npy file of one, run",
                        "\n  python3 -c 'import numpy; numpy.save(\"", npy,
                        "\", numpy.load(\"", source, "\")[\"NAME\"])'");
  }
  if (IsProgramFile(source)) {
    return "is a program; values are FILE.npy, range or numbers";
  }
  if (!has_end && !std::filesystem::exists(path, error)) return "";
  return "is not a .npy file; write it by numpy.save, and give its path";
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
      return UserError("--in=", input.name, ": `", part, "` is not a number ",
                       "that ", Name(dtype), " can hold; write FILE.npy, ",
                       "range or numbers with commas", LookalikeHint(part));
    }
    numbers.push_back(*constant);
  }
  if (static_cast<int64_t>(numbers.size()) == cells) return numbers;
  return UserError("--in=", input.name, " gives ", numbers.size(),
                   " numbers, but its shape has ", cells, " cells; give ",
                   cells, " numbers, or another shape");
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
absl::StatusOr<double> ParseStart(const InputFlag& input,
                                  absl::string_view start) {
  double first = 0;
  if (start.empty() || absl::SimpleAtod(start, &first)) return first;
  return UserError(
      "--in=", input.name, ": `", input.source,
      "` is not a range; write range or range+1, with a shape such "
      "as range:2,3");
}

absl::Status StoreRange(const InputFlag& input, absl::string_view start,
                        double first, NdArray& array) {
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
      return UserError("--in=", input.name, ": ", Name(dtype), " cannot hold ",
                       value, " of this range; give numbers");
    }
    Store(array, k, *cell);
  }
  return absl::OkStatus();
}

absl::StatusOr<NdArray> LoadFile(const InputFlag& input) {
  if (absl::StartsWith(input.source, "~")) {
    return UserError("--in=", input.name,
                     ": shells do not replace ~ after a =; ", "write $HOME",
                     absl::string_view(input.source).substr(1));
  }
  OCANNL_ASSIGN_OR_RETURN(NdArray values, ReadNpy(UserPath(input.source)));
  if (!input.shape) return values;
  Dims dims = input.shape->dims();
  if (NumElements(dims) == values.size()) return values.Reshaped(dims);
  return UserError("--in=", input.name, ": ", input.source, " has ",
                   values.size(), " cells, but the shape ",
                   ToString(*input.shape), " has ", NumElements(dims),
                   "; its own is ", absl::StrJoin(values.dims(), ","));
}

// Takes the brackets out of input.source, "[[1,2],[3,4]]", and returns the
// dims that they say.
class Brackets {
 public:
  absl::StatusOr<Dims> Take(InputFlag& input) {
    absl::string_view rest = input.source;
    std::vector<absl::string_view> numbers;
    while (!rest.empty()) {
      const char c = rest[0];
      const size_t end = std::min(rest.find_first_of("[],; "), rest.size());
      if (end == 0) rest.remove_prefix(1);
      const bool fits = c == '['   ? Open()
                        : c == ']' ? Close()
                                   : end == 0 || Number();
      if (!fits) break;
      if (end == 0) continue;
      numbers.push_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    if (sizes_.empty() && fits_ && !dims_.empty()) {
      input.source = absl::StrJoin(numbers, ",");
      return dims_;
    }
    return UserError("--in=", input.name, "=", input.source,
                     ": brackets hold rows of one length; write them as in "
                     "[1,2,3] or [[1,2],[3,4]]");
  }

 private:
  bool Open() {
    sizes_.push_back(0);
    // The first number says how deep all are; nothing follows the last bracket.
    return fits_ = dims_.empty() ||
                   (sizes_.size() > 1 && sizes_.size() <= dims_.size());
  }
  bool Close() {
    if (sizes_.empty() || sizes_.back() == 0) return fits_ = false;
    int64_t& size = dims_[sizes_.size() - 1];
    if (size == 0) size = sizes_.back();
    fits_ = size == sizes_.back();
    sizes_.pop_back();
    if (!sizes_.empty()) ++sizes_.back();
    return fits_;
  }
  bool Number() {
    if (dims_.empty()) dims_.resize(sizes_.size());
    if (sizes_.empty() || sizes_.size() != dims_.size()) return fits_ = false;
    ++sizes_.back();
    return true;
  }

  bool fits_ = true;
  Dims dims_;                   // 0: not known yet
  std::vector<int64_t> sizes_;  // of the open brackets so far
};

// "2|3->4"; a row that is left out is empty.
bool ParseShape(absl::string_view text, InputFlag& input) {
  const absl::StatusOr<ShapeSpec> spec = ParseRows(text);
  if (!spec.ok()) return false;
  input.shape = Shape();
  for (RowKind kind : kRowKinds) (*input.shape)[kind] = *(*spec)[kind];
  input.bases = *spec->bases;
  return absl::c_all_of(input.shape->dims(),
                        [](int64_t size) { return size <= kMaxCells; });
}

}  // namespace

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
  return UserError("--", flag, "=", text, ": write --", flag,
                   "=NAME=VALUE, where NAME has letters, digits and _");
}

absl::StatusOr<InputFlag> ParseInput(absl::string_view text) {
  InputFlag input;
  OCANNL_RETURN_IF_ERROR(SplitAssignment("in", text, input.name, input.source));
  // A path may have a colon of its own.
  const size_t colon = absl::EndsWith(input.source, ".npy")
                           ? std::string::npos
                           : input.source.rfind(':');
  if (colon != std::string::npos) {
    const std::string shape = input.source.substr(colon + 1);
    input.source.resize(colon);
    if (!ParseShape(shape, input)) {
      return UserError("--in=", text, ": `", shape,
                       "` is not a shape; write sizes ",
                       "from 1 to 2^30 as batch|input->output, such as 2|3->4",
                       LookalikeHint(shape));
    }
  }
  if (!absl::StartsWith(input.source, "[")) return input;
  OCANNL_ASSIGN_OR_RETURN(const Dims dims, Brackets().Take(input));
  if (!input.shape) {
    input.shape = Shape();
    (*input.shape)[RowKind::kOutput] = dims;
  }
  if (input.shape->dims() == dims) return input;
  return UserError("--in=", text, ": the brackets have the sizes ",
                   absl::StrJoin(dims, ","), ", the shape ",
                   absl::StrJoin(input.shape->dims(), ","),
                   "; leave one of them out");
}

std::string ExampleInput(const Buffer& buffer) {
  const int64_t cells = NumElements(buffer.dims);
  const bool fits = (buffer.dtype != DType::kBool || cells <= 2) &&
                    (buffer.dtype != DType::kU8 || cells <= 1 << 8) &&
                    (buffer.dtype != DType::kU16 || cells <= 1 << 16);
  if (!fits) return absl::StrCat("--in=", buffer.name, "=FILE.npy");
  if (buffer.dims.empty()) return absl::StrCat("--in=", buffer.name, "=1");
  return absl::StrCat("--in=", buffer.name,
                      "=range:", absl::StrJoin(buffer.dims, ","));
}

absl::Status CheckNoOtherFile(const InputFlag& input) {
  if (absl::EndsWith(input.source, ".npy")) return absl::OkStatus();
  const std::string hint = FileHint(input.source);
  if (hint.empty()) return absl::OkStatus();
  return UserError("--in=", input.name, ": ", input.source, " ", hint);
}

absl::StatusOr<NdArray> LoadInput(const InputFlag& input, DType dtype,
                                  const Dims& dims) {
  if (absl::EndsWith(input.source, ".npy")) return LoadFile(input);
  OCANNL_RETURN_IF_ERROR(CheckNoOtherFile(input));
  const Dims wanted = input.shape ? input.shape->dims() : dims;
  const absl::StatusOr<int64_t> cells = ByteSize(DType::kU8, wanted);
  if (!cells.ok() || *cells > kMaxCells) {
    return UserError("--in=", input.name, " has over 2^30 cells");
  }
  // The text is checked before there is memory for what it asks for.
  absl::string_view rest = input.source;
  if (absl::ConsumePrefix(&rest, "range")) {
    OCANNL_ASSIGN_OR_RETURN(const double first, ParseStart(input, rest));
    NdArray array(dtype, wanted);
    OCANNL_RETURN_IF_ERROR(StoreRange(input, rest, first, array));
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
      return UserError("--set=", text, ": `", value, "` is not an integer");
    }
    const absl::Status set = routine.Set(name, number);
    if (absl::EndsWith(set.message(), "it has none")) {
      return UserError("--set=", text, ": ", set.message(),
                       "; leave the flag out");
    }
    OCANNL_RETURN_IF_ERROR(set);
  }
  for (const StaticRef& index : routine.statics()) {
    if (index.value()) continue;
    std::string last =
        index.range() ? absl::StrCat(" to ", *index.range() - 1) : "";
    return UserError("static index `", index.name(),
                     "` has no value; add --set=", index.name(),
                     "=N, with N from 0", last);
  }
  return absl::OkStatus();
}

}  // namespace ocannl
