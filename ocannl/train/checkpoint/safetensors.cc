// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/safetensors.h"

#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl::train {
namespace {

using Json = nlohmann::json;

constexpr char kMetadata[] = "__metadata__";
// What JSON becomes in memory takes up to 24 times as much.
constexpr size_t kMostHeaderBytes = 1 << 19;

// "F32", "F8_E4M3"
std::string TextOf(DType dtype) {
  return absl::StrReplaceAll(absl::AsciiStrToUpper(Name(dtype)),
                             {{"F8", "F8_"}});
}

std::optional<DType> DTypeOf(absl::string_view text) {
  std::optional<DType> dtype = FindDType(
      absl::StrReplaceAll(absl::AsciiStrToLower(text), {{"f8_", "f8"}}));
  return dtype && TextOf(*dtype) == text ? dtype : std::nullopt;
}

std::string HashOf(const NdArray& array) {
  return absl::StrCat(
      absl::Hex(XXH3_64bits(array.data(), array.bytes()), absl::kZeroPad16));
}
std::string HashKey(absl::string_view name) {
  return absl::StrCat("xxh3_64 ", name);
}

// Where the bytes of an array begin and end, behind the header.
using Part = std::pair<int64_t, int64_t>;

std::optional<Dims> IntegersOf(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  Dims integers;
  for (const Json& item : json) {
    if (!item.is_number_unsigned()) return std::nullopt;
    integers.push_back(item.get<int64_t>());
    if (integers.back() < 0) return std::nullopt;  // beyond 2^63
  }
  return integers;
}

// Where an entry of the header says that the wanted array is. Errors: it says
// nothing sensible, or something else of its dtype or shape.
absl::StatusOr<Part> PartOf(const std::string& path, const Array& wanted,
                            const Json& entry) {
  auto error = [&](absl::string_view message) {
    return FileError(path, absl::StrCat("`", wanted.name, "` has ", message));
  };
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (entry.is_object() && entry.size() == 3 && entry.contains(key)) continue;
    return error("not just dtype, shape and data_offsets; save it again");
  }
  const Json& text = entry["dtype"];
  const std::optional<DType> dtype =
      text.is_string() ? DTypeOf(text.get_ref<const std::string&>())
                       : std::nullopt;
  if (!dtype) {
    return error(absl::StrCat("a dtype other than ", DTypeNames(),
                              "; convert it before saving"));
  }
  const std::optional<Dims> dims = IntegersOf(entry["shape"]);
  const std::optional<Dims> ends = IntegersOf(entry["data_offsets"]);
  if (!dims || !ends || ends->size() != 2) {
    return error("no valid shape or data_offsets; save it again");
  }
  OCANNL_RETURN_IF_ERROR(CheckType(path, wanted, *dtype, *dims));
  OCANNL_ASSIGN_OR_RETURN(const int64_t size, ByteSize(*dtype, *dims));
  if (ends->back() - ends->front() == size) {
    return Part(ends->front(), ends->back());
  }
  return error("another number of bytes than its shape; save it again");
}

// The header with the names of its arrays, twice where they are there twice.
absl::StatusOr<Json> ParseHeader(const std::string& path,
                                 absl::string_view text,
                                 std::vector<std::string>& names) {
  bool too_deep = false;
  auto keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1 &&
        parsed.get_ref<const std::string&>() != kMetadata) {
      names.push_back(parsed.get<std::string>());
    }
    const bool opens = event == Json::parse_event_t::object_start ||
                       event == Json::parse_event_t::array_start;
    too_deep |= opens && depth > 2;
    return !too_deep;
  };
  Json header = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (!too_deep && header.is_object()) return header;
  return FileError(path, "its header is not that of a .safetensors file");
}

// Error: the parts leave gaps, overlap, or end elsewhere than the file.
absl::Status CheckContiguous(const std::string& path, std::vector<Part> parts,
                             int64_t size) {
  std::sort(parts.begin(), parts.end());
  bool contiguous = true;
  int64_t at = 0;
  for (const auto& [begin, end] : parts) {
    contiguous &= begin == at;
    at = end;
  }
  if (contiguous && at == size) return absl::OkStatus();
  return FileError(path,
                   "its arrays overlap, leave gaps, or end elsewhere than the "
                   "file; copy or save it again");
}

}  // namespace

absl::Status WriteSafetensors(const std::string& path,
                              std::vector<NamedArray> arrays) {
  // The largest elements first: all stand where their size divides the offset.
  std::stable_sort(arrays.begin(), arrays.end(), [](auto& a, auto& b) {
    return SizeOf(a.second.dtype()) > SizeOf(b.second.dtype());
  });
  Json header;
  size_t end = 0;
  for (const auto& [name, array] : arrays) {
    if (name == kMetadata) {
      return FileError(path, absl::StrCat("no array can have the name `", name,
                                          "`; rename the tensor"));
    }
    header[kMetadata][HashKey(name)] = HashOf(array);
    header[name] = {{"dtype", TextOf(array.dtype())},
                    {"shape", array.dims()},
                    {"data_offsets", {end, end + array.bytes()}}};
    end += array.bytes();
  }
  std::string text = header.dump();
  text.append(7 - (text.size() + 7) % 8, ' ');  // to a multiple of 8
  if (text.size() > kMostHeaderBytes) {
    return FileError(path, "there are too many arrays; save them as .npz");
  }
  const uint64_t length = text.size();
  std::string contents(reinterpret_cast<const char*>(&length), sizeof(length));
  contents.reserve(sizeof(length) + length + end);
  contents.append(text);
  for (auto& [name, array] : arrays) {
    absl::StrAppend(&contents, array.AsString());
    array = NdArray();  // makes room
  }
  return WriteFile(path, contents);
}

absl::StatusOr<std::vector<NdArray>> ReadSafetensors(
    const std::string& path, absl::Span<const Array> wanted) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  const uint64_t size = file.tellg();
  uint64_t length = 0;
  file.seekg(0);
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  const uint64_t front = sizeof(length) + length;
  if (!file || length > kMostHeaderBytes || front > size) {
    return FileError(path, absl::StrCat("it has no whole header of at most ",
                                        kMostHeaderBytes, " bytes"));
  }
  std::string text(length, '\0');
  file.read(text.data(), length);
  std::vector<std::string> names;
  OCANNL_ASSIGN_OR_RETURN(const Json header, ParseHeader(path, text, names));
  OCANNL_RETURN_IF_ERROR(FindAll(path, names, wanted).status());
  std::vector<Part> parts;
  for (const Array& array : wanted) {
    OCANNL_ASSIGN_OR_RETURN(parts.emplace_back(),
                            PartOf(path, array, header[array.name]));
  }
  OCANNL_RETURN_IF_ERROR(CheckContiguous(path, parts, size - front));
  const Json hashes = header.value(kMetadata, Json());
  std::vector<NdArray> arrays;
  for (size_t k = 0; k < wanted.size(); ++k) {
    NdArray& array = arrays.emplace_back(wanted[k].dtype, wanted[k].dims);
    file.seekg(front + parts[k].first);
    file.read(reinterpret_cast<char*>(array.data()), array.bytes());
    const std::string hash = HashOf(array);
    if (!file || (hashes.is_object() &&
                  hashes.value(HashKey(wanted[k].name), Json(hash)) != hash)) {
      return FileError(path, absl::StrCat("`", wanted[k].name, "` is damaged; ",
                                          "restore from another copy"));
    }
    array.MakeBoolsValid();
  }
  return arrays;
}

}  // namespace ocannl::train
