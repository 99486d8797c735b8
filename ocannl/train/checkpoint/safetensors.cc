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
#include "absl/strings/escaping.h"
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

// What the header says of an array, and where its numbers are.
struct Entry {
  ArrayEntry array;
  Part part;
};

// Error: `json` says nothing sensible.
absl::StatusOr<Entry> EntryOf(const std::string& path, const std::string& name,
                              const Json& json) {
  auto error = [&](absl::string_view message) {
    return FileError(path, absl::StrCat("`", absl::CHexEscape(name), "` has ",
                                        message, "; save it again"));
  };
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (json.is_object() && json.size() == 3 && json.contains(key)) continue;
    return error("not just dtype, shape and data_offsets");
  }
  Entry entry{.array = {.name = name, .dtype = {}, .dims = {}}, .part = {}};
  const Json& text = json["dtype"];
  if (text.is_string()) {
    entry.array.dtype = DTypeOf(text.get_ref<const std::string&>());
  }
  const std::optional<Dims> dims = IntegersOf(json["shape"]);
  const std::optional<Dims> ends = IntegersOf(json["data_offsets"]);
  if (!dims || !ends || ends->size() != 2) {
    return error("no valid shape or data_offsets");
  }
  entry.array.dims = *dims;
  entry.part = Part(ends->front(), ends->back());
  return entry;
}

// Error: the entry is not what is wanted.
absl::Status CheckEntry(const std::string& path, const Array& wanted,
                        const Entry& entry) {
  const auto& [array, part] = entry;
  if (!array.dtype) {
    return FileError(path,
                     absl::StrCat("`", wanted.name, "` has a dtype other than ",
                                  DTypeNames(), "; convert it before saving"));
  }
  OCANNL_RETURN_IF_ERROR(CheckType(path, wanted, *array.dtype, array.dims));
  OCANNL_ASSIGN_OR_RETURN(const int64_t size,
                          ByteSize(*array.dtype, array.dims));
  if (part.second - part.first == size) return absl::OkStatus();
  return FileError(path,
                   absl::StrCat("`", wanted.name, "` has another number ",
                                "of bytes than its shape; save it ", "again"));
}

// Sees the names of the arrays in a header, also those that are there twice,
// and stops at what no header has: anything as deep as no entry is.
class HeaderNames : public nlohmann::json_sax<Json> {
 public:
  const std::vector<std::string>& names() const { return names_; }

  bool key(string_t& name) override {
    if (depth_ == 1 && name != kMetadata) names_.push_back(name);
    return true;
  }
  bool start_object(size_t) override { return ++depth_ <= kMostDepth; }
  bool start_array(size_t) override { return ++depth_ <= kMostDepth; }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static constexpr int kMostDepth = 3;  // header, entry, shape
  int depth_ = 0;
  std::vector<std::string> names_;
};

// The header with the names of its arrays, twice where they are there twice.
absl::StatusOr<Json> ParseHeader(const std::string& path,
                                 absl::string_view text,
                                 std::vector<std::string>& names) {
  // The library's own callbacks take time in the square of the entries.
  HeaderNames seen;
  if (Json::sax_parse(text, &seen)) {
    Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    names = seen.names();
    if (header.is_object()) return header;
  }
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

// What stands in front of the numbers.
struct Front {
  std::vector<Entry> entries;
  std::vector<size_t> places;  // of what is wanted, in `entries`
  Json hashes;
  uint64_t size;
};

// That of `file`, which stands at its end.
absl::StatusOr<Front> ReadFront(const std::string& path, std::ifstream& file,
                                absl::Span<const Array> wanted, bool extra) {
  if (!file) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  const uint64_t size = file.tellg();
  uint64_t length = 0;
  file.seekg(0);
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  Front front;
  front.size = sizeof(length) + length;
  if (!file || length > kMostHeaderBytes || front.size > size) {
    return FileError(path, absl::StrCat("it has no whole header of at most ",
                                        kMostHeaderBytes, " bytes"));
  }
  std::string text(length, '\0');
  file.read(text.data(), length);
  std::vector<std::string> names;
  OCANNL_ASSIGN_OR_RETURN(const Json header, ParseHeader(path, text, names));
  OCANNL_ASSIGN_OR_RETURN(front.places, FindAll(path, names, wanted, extra));
  std::vector<Part> parts;
  for (const std::string& name : names) {
    OCANNL_ASSIGN_OR_RETURN(front.entries.emplace_back(),
                            EntryOf(path, name, header[name]));
    parts.push_back(front.entries.back().part);
  }
  for (size_t k = 0; k < wanted.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(
        CheckEntry(path, wanted[k], front.entries[front.places[k]]));
  }
  OCANNL_RETURN_IF_ERROR(
      CheckContiguous(path, std::move(parts), size - front.size));
  front.hashes = header.value(kMetadata, Json());
  return front;
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
    const std::string& path, absl::Span<const Array> wanted, bool extra) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  OCANNL_ASSIGN_OR_RETURN(const Front front,
                          ReadFront(path, file, wanted, extra));
  std::vector<NdArray> arrays;
  for (size_t k = 0; k < wanted.size(); ++k) {
    NdArray& array = arrays.emplace_back(wanted[k].dtype, wanted[k].dims);
    file.seekg(front.size + front.entries[front.places[k]].part.first);
    file.read(reinterpret_cast<char*>(array.data()), array.bytes());
    const std::string hash = HashOf(array);
    if (!file ||
        (front.hashes.is_object() &&
         front.hashes.value(HashKey(wanted[k].name), Json(hash)) != hash)) {
      return FileError(path, absl::StrCat("`", wanted[k].name, "` is damaged; ",
                                          "restore from another copy"));
    }
    array.MakeBoolsValid();
  }
  return arrays;
}

absl::StatusOr<FileList> ListSafetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  OCANNL_ASSIGN_OR_RETURN(Front front,
                          ReadFront(path, file, {}, /*extra=*/true));
  FileList list;
  for (Entry& entry : front.entries) {
    list.is_ours |= front.hashes.is_object() &&
                    front.hashes.contains(HashKey(entry.array.name));
    list.entries.push_back(std::move(entry.array));
  }
  return list;
}

}  // namespace ocannl::train
