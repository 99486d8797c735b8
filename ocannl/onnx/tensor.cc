// SPDX-License-Identifier: Apache-2.0
//
// Arrays of ONNX files.
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/wire.h"

namespace ocannl::onnx {
namespace {

struct NamedCode {
  int64_t code;
  DType dtype;
};

constexpr NamedCode kOnnxDTypes[] = {
    {1, DType::kF32},     {2, DType::kU8},    {4, DType::kU16},
    {6, DType::kI32},     {7, DType::kI64},   {9, DType::kBool},
    {10, DType::kF16},    {11, DType::kF64},  {12, DType::kU32},
    {13, DType::kU64},    {16, DType::kBF16}, {17, DType::kF8E4M3},
    {19, DType::kF8E5M2},
};

// The names of the others, for messages.
constexpr std::pair<int64_t, absl::string_view> kOtherTypes[] = {
    {3, "int8"},
    {5, "int16"},
    {8, "string"},
    {14, "complex64"},
    {15, "complex128"},
    {18, "float8e4m3fnuz"},
    {20, "float8e5m2fnuz"},
    {21, "uint4"},
    {22, "int4"},
    {23, "float4e2m1"},
    {24, "float8e8m0"},
    {25, "uint2"},
    {26, "int2"}};

enum TensorField {
  kDims = 1,
  kDType = 2,
  kFloats = 4,
  kInts = 5,
  kLongs = 7,
  kRaw = 9,
  kDoubles = 10,
  kUnsigned = 11,
  kExternal = 13,
  kLocation = 14,
};

// Where data in a file of its own lies.
struct External {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length = std::nullopt;
};

absl::Status ReadEntry(absl::string_view message, External& external) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields, ReadFields(message));
  absl::string_view key, value;
  for (const Field& field : fields) {
    if (field.number == 1) key = field.bytes;
    if (field.number == 2) value = field.bytes;
  }
  if (key == "location") external.location = std::string(value);
  uint64_t number = 0;
  if (key != "offset" && key != "length") return absl::OkStatus();
  if (!absl::SimpleAtoi(value, &number)) {
    return UserError("the ", key, " of its external data is `", value,
                     "`, not a number of bytes");
  }
  if (key == "offset") {
    external.offset = number;
  } else {
    external.length = number;
  }
  return absl::OkStatus();
}

// The path of external data. A model may come from anywhere, so it reads only
// files of its own folder, and follows no link out of it.
absl::StatusOr<std::string> PathOf(const External& external,
                                   const std::string& folder) {
  const std::filesystem::path location = external.location;
  const bool climbs =
      absl::c_linear_search(location, std::filesystem::path(".."));
  if (location.empty() || location.is_absolute() || climbs) {
    return UserError("its data is in `", external.location,
                     "`, which is not a path inside of the model's folder");
  }
  if (folder.empty()) {
    return UserError("its data is in the file `", external.location,
                     "`; read the model with ReadModelFile");
  }
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(folder, error);
  if (error) return UserError(folder, ": ", error.message());
  const std::filesystem::path path =
      std::filesystem::canonical(root / location, error);
  if (error) {
    return absl::NotFoundError(absl::StrCat("its data is in `",
                                            (root / location).string(),
                                            "`: ", error.message()));
  }
  const auto [end, ignored] =
      std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (end != root.end()) {
    return UserError("its data is in `", external.location,
                     "`, a link to a file outside of the model's folder");
  }
  OCANNL_RETURN_IF_ERROR(CheckOrdinaryFile(path.string(), "a file of weights"));
  return path.string();
}

absl::Status LoadExternal(const std::string& path, uint64_t offset,
                          NdArray& array) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(array.data()),
            static_cast<std::streamsize>(array.bytes()));
  if (file.good()) return absl::OkStatus();
  return UserError(path, " has no ", array.bytes(), " bytes from byte ", offset,
                   " on");
}

// Appends the elements of a field that is not raw: packed fixed-size numbers
// as they are, and the low bytes of each varint.
absl::Status AppendElements(const Field& field, size_t size,
                            std::string& elements) {
  const bool is_fixed = field.number == kFloats || field.number == kRaw ||
                        field.number == kDoubles;
  if (is_fixed) {
    absl::StrAppend(&elements, field.bytes);
    return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(std::vector<uint64_t> numbers, ReadNumbers(field));
  static_assert(std::endian::native == std::endian::little);
  for (uint64_t number : numbers) {
    elements.append(reinterpret_cast<const char*>(&number), size);
  }
  return absl::OkStatus();
}

// What a TensorProto says. `fields` hold its data.
struct TensorHead {
  int64_t code = 0;
  Dims dims = {};
  bool is_external = false;
  External external = {};
};

absl::StatusOr<TensorHead> ReadHead(const std::vector<Field>& fields) {
  TensorHead head;
  for (const Field& field : fields) {
    if (field.number == kDims) {
      OCANNL_ASSIGN_OR_RETURN(std::vector<uint64_t> sizes, ReadNumbers(field));
      head.dims.insert(head.dims.end(), sizes.begin(), sizes.end());
    } else if (field.number == kDType) {
      head.code = static_cast<int64_t>(field.value);
    } else if (field.number == kExternal) {
      OCANNL_RETURN_IF_ERROR(ReadEntry(field.bytes, head.external));
    } else if (field.number == kLocation) {
      head.is_external = field.value == 1;
    }
  }
  return head;
}

}  // namespace

absl::StatusOr<DType> DTypeOfCode(int64_t code) {
  for (const auto& [known, dtype] : kOnnxDTypes) {
    if (known == code) return dtype;
  }
  for (const auto& [other, name] : kOtherTypes) {
    if (other != code) continue;
    return absl::UnimplementedError(
        absl::StrCat("the engine has no elements of type ", name));
  }
  return absl::UnimplementedError(
      absl::StrCat("elements of type ", code, ", which ONNX does not define"));
}

int64_t CodeOfDType(DType dtype) {
  for (const auto& [code, known] : kOnnxDTypes) {
    if (known == dtype) return code;
  }
  return 0;
}

absl::StatusOr<NdArray> ReadTensor(absl::string_view message,
                                   const std::string& folder) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields, ReadFields(message));
  OCANNL_ASSIGN_OR_RETURN(const TensorHead head, ReadHead(fields));
  OCANNL_ASSIGN_OR_RETURN(const DType dtype, DTypeOfCode(head.code));
  OCANNL_ASSIGN_OR_RETURN(const int64_t bytes, ByteSize(dtype, head.dims));
  // The sizes are compared before there is memory for what the dims ask for.
  auto misfit = [&](uint64_t given) {
    return UserError(DescribeArray(dtype, head.dims), " has ", bytes,
                     " bytes, but its data has ", given);
  };
  if (head.is_external) {
    OCANNL_ASSIGN_OR_RETURN(const std::string path,
                            PathOf(head.external, folder));
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(path, error);
    const uint64_t offset = std::min(size, head.external.offset);
    const uint64_t given = head.external.length.value_or(size - offset);
    if (error || given != static_cast<uint64_t>(bytes) ||
        given > size - offset) {
      return misfit(std::min(given, size - offset));
    }
    NdArray array(dtype, head.dims);
    OCANNL_RETURN_IF_ERROR(LoadExternal(path, offset, array));
    array.MakeBoolsValid();
    return array;
  }
  std::string elements;
  for (const Field& field : fields) {
    switch (field.number) {
      case kFloats:
      case kInts:
      case kLongs:
      case kRaw:
      case kDoubles:
      case kUnsigned:
        OCANNL_RETURN_IF_ERROR(AppendElements(field, SizeOf(dtype), elements));
    }
  }
  if (elements.size() != static_cast<uint64_t>(bytes)) {
    return misfit(elements.size());
  }
  NdArray array(dtype, head.dims);
  // An array of no cells has no memory.
  if (bytes > 0) std::memcpy(array.data(), elements.data(), elements.size());
  array.MakeBoolsValid();
  return array;
}

}  // namespace ocannl::onnx
