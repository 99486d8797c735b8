// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/data/files.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/npy.h"
#include "zlib.h"

namespace ocannl::train {
namespace {

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

absl::Status Damaged(absl::string_view name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
}

// A big-endian integer of T's size.
template <class T>
T Load(const char* bytes) {
  T value = 0;
  for (size_t k = 0; k < sizeof(T); ++k) {
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[k]));
  }
  return value;
}

// Cells of an IDX file: Bits of them as From, as To.
template <class Bits, class From, class To>
NdArray Cells(const Dims& dims, const char* bytes) {
  NdArray array(DTypeOf<To>(), dims);
  for (To& cell : array.values<To>()) {
    cell = static_cast<To>(std::bit_cast<From>(Load<Bits>(bytes)));
    bytes += sizeof(Bits);
  }
  return array;
}

}  // namespace

absl::StatusOr<std::string> ReadData(const std::string& path,
                                     const DataLimit& limit) {
  OCANNL_RETURN_IF_ERROR(CheckOrdinaryFile(path, "a file of data"));
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(
      gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) {
    return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  const int64_t file_bytes = FileBytes(path);
  const auto most = static_cast<size_t>(limit.BytesFor(file_bytes));
  std::string data;
  constexpr size_t kPart = size_t{1} << 20;
  while (true) {
    const size_t size = data.size();
    data.resize(size + kPart);
    const int read = gzread(file.get(), data.data() + size, kPart);
    if (read < 0) {
      int code = 0;
      return Damaged(path, gzerror(file.get(), &code));
    }
    data.resize(size + static_cast<size_t>(read));
    if (read == 0) break;
    if (data.size() > most) return ExceedsLimit(path, file_bytes, limit);
  }
  // gzread takes the end of a file for that of the data.
  int code = Z_OK;
  const char* error = gzerror(file.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END) return Damaged(path, error);
  return data;
}

absl::Status ForEachCsvRow(
    absl::string_view text, char separator,
    absl::FunctionRef<absl::Status(const CsvRow& row)> visit) {
  int64_t line_number = 0;
  bool is_first = true;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (++line_number == 1) absl::ConsumePrefix(&line, kByteOrderMark);
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    CsvRow row = {.line = line,
                  .line_number = line_number,
                  .numbers = {},
                  .fields = 0,
                  .is_first = std::exchange(is_first, false)};
    for (absl::string_view field : absl::StrSplit(line, separator)) {
      ++row.fields;
      float number;
      if (absl::SimpleAtof(field, &number)) row.numbers.push_back(number);
    }
    OCANNL_RETURN_IF_ERROR(visit(row));
  }
  return absl::OkStatus();
}

std::string QuoteRow(const CsvRow& row) {
  return absl::StrCat("\"", absl::CHexEscape(row.line.substr(0, 60)), "\"");
}

absl::StatusOr<NdArray> ParseCsv(absl::string_view text, absl::string_view name,
                                 char separator) {
  // Each cell has a letter, and ends with a separator or a line, so that the
  // text bounds the cells and the vector never grows to more.
  std::vector<float> numbers;
  const size_t ends =
      absl::c_count(text, separator) + absl::c_count(text, '\n');
  numbers.reserve(std::min(ends + 1, (text.size() + 1) / 2));
  int64_t rows = 0, columns = 0;
  auto add = [&](const CsvRow& row) -> absl::Status {
    if (row.is_first && row.numbers.empty()) return absl::OkStatus();
    if (rows == 0) columns = static_cast<int64_t>(row.fields);
    if (row.numbers.size() != row.fields ||
        static_cast<int64_t>(row.fields) != columns) {
      return Damaged(
          absl::StrCat(name, ":", row.line_number),
          absl::StrCat(QuoteRow(row), "; write ", columns, " numbers, with \"",
                       absl::CHexEscape(absl::string_view(&separator, 1)),
                       "\" between them"));
    }
    numbers.insert(numbers.end(), row.numbers.begin(), row.numbers.end());
    ++rows;
    return absl::OkStatus();
  };
  OCANNL_RETURN_IF_ERROR(ForEachCsvRow(text, separator, add));
  if (rows == 0) return Damaged(name, "there are no rows of numbers");
  return NdArray::Of<float>({rows, columns}, numbers);
}

absl::StatusOr<NdArray> LoadCsv(const std::string& path, char separator,
                                const DataLimit& limit) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadData(path, limit));
  return ParseCsv(text, path, separator);
}

absl::StatusOr<NdArray> ParseIdx(absl::string_view bytes,
                                 absl::string_view name) {
  constexpr int kMostAxes = 8;
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0 || bytes[3] < 1 ||
      bytes[3] > kMostAxes) {
    return Damaged(name, "does not begin like an IDX file: 0, 0, type, rank");
  }
  const auto type = static_cast<unsigned char>(bytes[2]);
  const size_t rank = static_cast<size_t>(bytes[3]);
  const size_t front = 4 + 4 * rank;
  if (bytes.size() < front) return Damaged(name, "ends before its sizes");
  Dims dims;
  const size_t room = bytes.size() - front;
  size_t cells = 1;
  for (size_t k = 0; k < rank; ++k) {
    const auto size = Load<uint32_t>(bytes.data() + 4 + 4 * k);
    if (size == 0) return Damaged(name, "has an axis of no cells");
    if (cells > room / size) {
      return Damaged(name, "is shorter than its sizes say");
    }
    dims.push_back(size);
    cells *= size;
  }
  const char* data = bytes.data() + front;
  auto read = [&](size_t width, auto cells_of) -> absl::StatusOr<NdArray> {
    if (room == cells * width) return cells_of(dims, data);
    return Damaged(name, absl::StrCat("has ", room, " bytes of cells; its ",
                                      "sizes say ", cells * width));
  };
  switch (type) {
    case 0x08:
      return read(1, Cells<uint8_t, uint8_t, uint8_t>);
    case 0x09:
      return read(1, Cells<uint8_t, int8_t, int32_t>);
    case 0x0b:
      return read(2, Cells<uint16_t, int16_t, int32_t>);
    case 0x0c:
      return read(4, Cells<uint32_t, int32_t, int32_t>);
    case 0x0d:
      return read(4, Cells<uint32_t, float, float>);
    case 0x0e:
      return read(8, Cells<uint64_t, double, double>);
    default:
      return Damaged(name, absl::StrCat("has cells of the unknown type ",
                                        absl::Hex(type)));
  }
}

absl::StatusOr<NdArray> LoadIdx(const std::string& path,
                                const DataLimit& limit) {
  OCANNL_ASSIGN_OR_RETURN(const std::string bytes, ReadData(path, limit));
  return ParseIdx(bytes, path);
}

absl::StatusOr<NdArray> LoadArray(const std::string& path,
                                  const DataLimit& limit) {
  OCANNL_RETURN_IF_ERROR(CheckOrdinaryFile(path, "a file of data"));
  const absl::string_view name = absl::StripSuffix(path, ".gz");
  if (absl::EndsWith(name, ".csv")) return LoadCsv(path, ',', limit);
  if (absl::EndsWith(name, ".tsv")) return LoadCsv(path, '\t', limit);
  if (absl::EndsWith(name, ".idx") || absl::EndsWith(name, "-ubyte")) {
    return LoadIdx(path, limit);
  }
  if (absl::EndsWith(name, ".npy")) {
    OCANNL_ASSIGN_OR_RETURN(const std::string bytes, ReadData(path, limit));
    return ParseNpy(bytes, path);
  }
  return absl::UnimplementedError(absl::StrCat(
      path, ": its name must end in ", kArrayEnds, ", with .gz or not"));
}

}  // namespace ocannl::train
