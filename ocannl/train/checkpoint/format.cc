// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/format.h"

#include <algorithm>
#include <filesystem>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/checkpoint/npz.h"
#include "ocannl/train/checkpoint/safetensors.h"

namespace ocannl::train {
namespace {

constexpr Format kFormats[] = {
    {".npz", &WriteNpz, &ReadNpz, &ListNpz},
    {".safetensors", &WriteSafetensors, &ReadSafetensors, &ListSafetensors}};

}  // namespace

absl::StatusOr<Format> FormatOf(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  for (const Format& format : kFormats) {
    if (format.extension == extension) return format;
  }
  return FileError(path, "its name must end in .npz or .safetensors");
}

absl::StatusOr<Format> Readable(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, FormatOf(path));
  OCANNL_RETURN_IF_ERROR(CheckOrdinaryFile(path, "what was saved"));
  return format;
}

absl::Status CheckNames(const std::string& path,
                        absl::Span<const Array> arrays) {
  if (arrays.empty()) {
    return FileError(path, "there is nothing to save or restore");
  }
  absl::flat_hash_set<absl::string_view> names;
  for (const Array& array : arrays) {
    const std::string& name = array.name;
    if (!std::all_of(name.begin(), name.end(), absl::ascii_isprint)) {
      return FileError(path, absl::StrCat("the name `", absl::CHexEscape(name),
                                          "` is not of printable ASCII; ",
                                          "rename the tensor"));
    }
    if (!names.insert(name).second) {
      return FileError(path, absl::StrCat("`", name, "` is given twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace ocannl::train
