// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/npy.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/runtime/npy_header.h"

namespace ocannl {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMostHeaderBytes = kMostNpyFrontBytes - 12;

template <class... Parts>
absl::Status Error(absl::string_view name, const Parts&... parts) {
  return UserError("`", name, "`: ", parts...);
}

absl::Status Truncated(absl::string_view name, absl::string_view where) {
  return Error(name, "the file ends inside of its ", where,
               "; copy or save it again");
}

// `bytes` less the `size` bytes at its front, which are returned as a
// little-endian number.
uint32_t TakeNumber(size_t size, absl::string_view* bytes) {
  uint32_t number = 0;
  for (size_t i = size; i-- > 0;) {
    number = number << 8 | static_cast<uint8_t>((*bytes)[i]);
  }
  bytes->remove_prefix(size);
  return number;
}

// Copies numbers of `size` bytes whose first axis varies fastest.
void CopyFortranOrder(const char* from, size_t size, NdArray* to) {
  const Dims& dims = to->dims();
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < to->size(); ++i) {
    int64_t source = 0;
    for (size_t axis = dims.size(); axis-- > 0;) {
      source = source * dims[axis] + index[axis];
    }
    std::memcpy(to->data() + i * size, from + source * size, size);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

absl::StatusOr<NpyFront> ParseNpyFront(absl::string_view bytes,
                                       absl::string_view name) {
  const size_t all = bytes.size();
  if (all == 0) return Error(name, "the file is empty; save it again");
  if (!absl::ConsumePrefix(&bytes, kMagic)) {
    return Error(name, "this is no .npy file; save it with numpy.save");
  }
  if (bytes.size() < 2) return Truncated(name, "header");
  uint32_t major = TakeNumber(1, &bytes);
  uint32_t minor = TakeNumber(1, &bytes);
  if ((major != 1 && major != 2) || minor != 0) {
    return Error(name, "version ", major, ".", minor,
                 " of the format is not supported; save "
                 "it with version 1.0 or 2.0");
  }
  size_t size = major == 1 ? 2 : 4;
  if (bytes.size() < size) return Truncated(name, "header");
  size_t header = TakeNumber(size, &bytes);
  if (header > kMostHeaderBytes) {
    return Error(name, "a header of ", header, " bytes is longer than ",
                 kMostHeaderBytes, "; save it with numpy.save");
  }
  if (header > bytes.size()) return Truncated(name, "header");
  absl::StatusOr<NpyHeader> parsed = ParseNpyHeader(bytes.substr(0, header));
  if (!parsed.ok()) return Error(name, parsed.status().message());
  return NpyFront{.header = *std::move(parsed),
                  .bytes = all - bytes.size() + header};
}

absl::StatusOr<NdArray> ParseNpy(absl::string_view bytes,
                                 absl::string_view name) {
  OCANNL_ASSIGN_OR_RETURN(const NpyFront front, ParseNpyFront(bytes, name));
  const NpyHeader& header = front.header;
  bytes.remove_prefix(front.bytes);
  absl::StatusOr<int64_t> size = ByteSize(header.dtype, header.dims);
  if (!size.ok()) return Error(name, size.status().message());
  if (static_cast<uint64_t>(*size) != bytes.size()) {
    return Error(name, "its header promises ",
                 DescribeArray(header.dtype, header.dims), ", ", *size,
                 " bytes, but ", bytes.size(),
                 " bytes follow it; copy or save it again");
  }
  NdArray array(header.dtype, header.dims);
  if (header.fortran_order) {
    CopyFortranOrder(bytes.data(), SizeOf(header.dtype), &array);
  } else if (*size > 0) {
    std::memcpy(array.data(), bytes.data(), *size);
  }
  array.MakeBoolsValid();
  return array;
}

absl::StatusOr<std::string> FormatNpy(const NdArray& array) {
  if (array.dims().size() > kMostNpyAxes) {
    return UserError("an array of ", DescribeArray(array.dtype(), array.dims()),
                     " has more than ", kMostNpyAxes,
                     " axes; reshape it before saving");
  }
  std::string header = Format(NpyHeader{
      .dtype = array.dtype(), .dims = array.dims(), .fortran_order = false});
  // The numbers start at a multiple of 64, behind a newline.
  size_t front = kMagic.size() + 2 + 2;
  header.append(63 - (front + header.size()) % 64, ' ');
  header.push_back('\n');
  std::string length = {static_cast<char>(header.size() & 0xff),
                        static_cast<char>(header.size() >> 8)};
  return absl::StrCat(kMagic, absl::string_view("\x01\0", 2), length, header,
                      array.AsString());
}

absl::StatusOr<NdArray> ReadNpy(const std::string& path) {
  OCANNL_RETURN_IF_ERROR(CheckOrdinaryFile(path, "a .npy file"));
  OCANNL_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  return ParseNpy(bytes, path);
}

absl::Status WriteNpy(const std::string& path, const NdArray& array) {
  OCANNL_ASSIGN_OR_RETURN(std::string bytes, FormatNpy(array));
  return WriteFile(path, bytes);
}

}  // namespace ocannl
