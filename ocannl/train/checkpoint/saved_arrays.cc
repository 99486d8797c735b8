// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/saved_arrays.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl::train {

std::string ToString(const ArrayEntry& entry) {
  return absl::StrCat(
      entry.name, ": ",
      entry.dtype ? DescribeArray(*entry.dtype, entry.dims) : "dtype unknown");
}

absl::Status FileError(absl::string_view path, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("`", path, "`: ", message));
}

std::string NamesHint(absl::Span<const std::string> found) {
  std::vector<std::string> first;
  for (const std::string& name : found.subspan(0, 8)) {
    first.push_back(absl::CHexEscape(name));
  }
  return absl::StrCat("; it has ", absl::StrJoin(first, ", "),
                      found.size() > first.size() ? ", ..." : "",
                      "; give RestoreOptions::names where arrays have other ",
                      "names there");
}

absl::StatusOr<std::vector<size_t>> FindAll(
    absl::string_view path, const std::vector<std::string>& found,
    absl::Span<const Array> wanted, bool extra) {
  absl::flat_hash_map<absl::string_view, size_t> left;
  for (size_t k = 0; k < found.size(); ++k) {
    if (left.emplace(found[k], k).second) continue;
    return FileError(
        path, absl::StrCat("it has two arrays `", absl::CHexEscape(found[k]),
                           "`; save it again"));
  }
  std::vector<size_t> places;
  for (const Array& array : wanted) {
    auto place = left.find(array.name);
    if (place == left.end()) {
      return FileError(
          path, absl::StrCat("it has no `", array.name, "`", NamesHint(found)));
    }
    places.push_back(place->second);
    left.erase(place);
  }
  if (extra) return places;
  for (const std::string& name : found) {
    if (!left.contains(name)) continue;
    return FileError(path, absl::StrCat("it has `", absl::CHexEscape(name),
                                        "`, which nobody asks for; ask for ",
                                        "all that was saved"));
  }
  return places;
}

absl::Status CheckType(absl::string_view path, const Array& wanted, DType dtype,
                       const Dims& dims) {
  if (dtype == wanted.dtype && dims == wanted.dims) return absl::OkStatus();
  return FileError(
      path,
      absl::StrCat("`", wanted.name, "` is ", DescribeArray(dtype, dims),
                   ", not ", DescribeArray(wanted.dtype, wanted.dims), ": the ",
                   dtype != wanted.dtype ? "precision" : "shape",
                   " differs; use the model that it belongs to"));
}

absl::Status CheckLimit(const std::string& path, absl::Span<const Array> arrays,
                        const DataLimit& limit) {
  const int64_t file_bytes = FileBytes(path);
  int64_t left = limit.BytesFor(file_bytes);
  for (const Array& array : arrays) {
    const absl::StatusOr<int64_t> bytes = ByteSize(array.dtype, array.dims);
    if (!bytes.ok()) return FileError(path, bytes.status().message());
    if (*bytes > left) return ExceedsLimit(path, file_bytes, limit);
    left -= *bytes;
  }
  return absl::OkStatus();
}

}  // namespace ocannl::train
