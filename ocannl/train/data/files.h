// SPDX-License-Identifier: Apache-2.0
//
// Arrays and text of files that others write. Any of them may be compressed by
// gzip.
//
//   OCANNL_ASSIGN_OR_RETURN(NdArray digits, train::LoadCsv("digits.csv.gz"));
//
// .npy files are those of runtime/npy.h, .npz and .safetensors those of
// checkpoint/checkpoint.h. No file can crash the readers, or make them take
// more memory than a few times the greater of its size and the limit
// (data_limit.h).
#ifndef OCANNL_TRAIN_DATA_FILES_H_
#define OCANNL_TRAIN_DATA_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/train/data/data_limit.h"

namespace ocannl::train {

// The bytes of the file, decompressed. Errors name the path: the system's; a
// damaged file; ResourceExhausted, for more than the limit.
absl::StatusOr<std::string> ReadData(const std::string& path,
                                     const DataLimit& limit = {});

// A line of a CSV file that is neither empty nor a comment.
struct CsvRow {
  absl::string_view line;      // without what is blank at its ends
  int64_t line_number;         // from 1
  std::vector<float> numbers;  // of the fields that are numbers
  size_t fields;
  bool is_first;  // and may be a header
};

// Calls `visit` for each row of `text` until it returns an error, which is that
// of the call.
absl::Status ForEachCsvRow(
    absl::string_view text, char separator,
    absl::FunctionRef<absl::Status(const CsvRow& row)> visit);

// The begin of the row, for errors.
std::string QuoteRow(const CsvRow& row);

// Rows of numbers, as f32 {rows, columns}: fields are separated by commas or
// by `separator`. Empty lines and those that begin with # are skipped; the
// first line may be a header, of which no field is a number. Errors name file
// and line: what is no number, rows of other lengths; no rows.
absl::StatusOr<NdArray> ParseCsv(absl::string_view text, absl::string_view name,
                                 char separator = ',');
absl::StatusOr<NdArray> LoadCsv(const std::string& path, char separator = ',',
                                const DataLimit& limit = {});

// An array in the format of the MNIST files: magic number 0, 0, type, rank;
// big-endian sizes; big-endian cells, of u8, i16, i32, f32 or f64; i8 and i16
// become i32. Errors name the file and what is wrong with it, as are axes
// without cells.
absl::StatusOr<NdArray> ParseIdx(absl::string_view bytes,
                                 absl::string_view name);
absl::StatusOr<NdArray> LoadIdx(const std::string& path,
                                const DataLimit& limit = {});

// What LoadArray reads; -ubyte is MNIST's.
inline constexpr char kArrayEnds[] = ".csv, .tsv, .npy, .idx or -ubyte";

// The array of a file by the end of its name, but for .gz. Errors: NotFound, if
// it is not there; Unimplemented, if it has another end.
absl::StatusOr<NdArray> LoadArray(const std::string& path,
                                  const DataLimit& limit = {});

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DATA_FILES_H_
