// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/npz.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/runtime/npy.h"

namespace ocannl::train {
namespace {

constexpr absl::string_view kSuffix = ".npy";

// The comment of archives that we write, which NumPy does not.
constexpr absl::string_view kComment = "ocannl";

// Of each member of a list, which may have many: more than the header of every
// dtype that we have.
constexpr uint64_t kMostListedBytes = 4096;

// Gives up what was not closed.
using Archive = std::unique_ptr<zip_t, void (*)(zip_t*)>;

absl::Status ErrorOf(const std::string& path, zip_t* archive) {
  return FileError(path, zip_strerror(archive));
}

absl::StatusOr<Archive> Open(const std::string& path, int flags) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), flags, &code), &zip_discard);
  if (archive != nullptr) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  absl::Status status = FileError(path, zip_error_strerror(&error));
  zip_error_fini(&error);
  return status;
}

// `bytes` must outlive the archive.
bool Add(zip_t* archive, const std::string& name, absl::string_view bytes) {
  zip_source_t* source =
      zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
  if (source == nullptr) return false;
  const zip_int64_t index =
      zip_file_add(archive, absl::StrCat(name, kSuffix).c_str(), source, 0);
  if (index < 0) {
    zip_source_free(source);
    return false;
  }
  constexpr zip_uint16_t kFirstOfJanuary1980 = 1 << 5 | 1;
  return zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(archive, index, 0, kFirstOfJanuary1980, 0) == 0;
}

absl::StatusOr<std::vector<std::string>> NamesOf(const std::string& path,
                                                 zip_t* archive) {
  std::vector<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t k = 0; k < count; ++k) {
    const char* name = zip_get_name(archive, k, 0);
    if (name == nullptr) return ErrorOf(path, archive);
    names.emplace_back(absl::StripSuffix(name, kSuffix));
  }
  return names;
}

// The first `most` bytes of a member, or all.
absl::StatusOr<std::string> ReadMember(const std::string& path, zip_t* archive,
                                       size_t index, uint64_t most) {
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0) {
    return ErrorOf(path, archive);
  }
  // Those that NumPy uses; others may want much memory.
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    return FileError(
        path, absl::StrCat("`", stat.name, "` is compressed by another method ",
                           "than deflate; save it again"));
  }
  // Deflate makes no more than 1032 bytes of one.
  const int most_of_one = stat.comp_method == ZIP_CM_STORE ? 1 : 1032;
  if (stat.size / most_of_one > stat.comp_size) {
    return FileError(
        path, absl::StrCat("`", stat.name, "` promises more ",
                           "bytes than there are; copy the file ", "again"));
  }
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(archive, index, 0), &zip_fclose);
  if (file == nullptr) return ErrorOf(path, archive);
  // The CRC is checked where the end is found.
  std::string bytes(std::min<uint64_t>(most, stat.size + 1), '\0');
  size_t size = 0;
  zip_int64_t got = 1;
  while (size < bytes.size() && got > 0) {
    got = zip_fread(file.get(), &bytes[size], bytes.size() - size);
    size += std::max<zip_int64_t>(got, 0);
  }
  if (got < 0 || size > stat.size) {
    return FileError(path, absl::StrCat("`", stat.name, "` is damaged: ",
                                        zip_file_strerror(file.get()),
                                        "; restore from another copy"));
  }
  bytes.resize(size);
  return bytes;
}

// Error: why a member cannot be read to its end, where its CRC is checked.
absl::Status CheckMember(const std::string& path, zip_t* archive,
                         zip_uint64_t index) {
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(archive, index, 0), &zip_fclose);
  if (file == nullptr) return ErrorOf(path, archive);
  std::array<char, 1 << 16> bytes;
  zip_int64_t got = 1;
  while (got > 0) got = zip_fread(file.get(), bytes.data(), bytes.size());
  if (got == 0) return absl::OkStatus();
  return FileError(path, absl::StrCat("`", zip_get_name(archive, index, 0),
                                      "`: ", zip_file_strerror(file.get())));
}

// CheckNpz of a file that can be opened; any error is damage.
absl::Status CheckMembers(const std::string& path) {
  OCANNL_RETURN_IF_ERROR(CheckOrdinaryFile(path, "what was saved"));
  OCANNL_ASSIGN_OR_RETURN(Archive archive,
                          Open(path, ZIP_RDONLY | ZIP_CHECKCONS));
  OCANNL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          NamesOf(path, archive.get()));
  if (names.empty()) return FileError(path, "it has no arrays");
  for (size_t k = 0; k < names.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(CheckMember(path, archive.get(), k));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteNpz(const std::string& path, std::vector<NamedArray> arrays) {
  OCANNL_ASSIGN_OR_RETURN(Archive archive,
                          Open(path, ZIP_CREATE | ZIP_TRUNCATE));
  std::vector<std::string> members(arrays.size());
  for (size_t k = 0; k < arrays.size(); ++k) {
    auto& [name, array] = arrays[k];
    OCANNL_ASSIGN_OR_RETURN(members[k], FormatNpy(array));
    array = NdArray();  // makes room
    if (!Add(archive.get(), name, members[k])) {
      return ErrorOf(path, archive.get());
    }
  }
  if (zip_set_archive_comment(archive.get(), kComment.data(),
                              kComment.size()) != 0 ||
      zip_close(archive.get()) != 0) {
    return ErrorOf(path, archive.get());
  }
  archive.release();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NdArray>> ReadNpz(const std::string& path,
                                             absl::Span<const Array> wanted,
                                             bool extra) {
  OCANNL_ASSIGN_OR_RETURN(Archive archive,
                          Open(path, ZIP_RDONLY | ZIP_CHECKCONS));
  OCANNL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          NamesOf(path, archive.get()));
  OCANNL_ASSIGN_OR_RETURN(const std::vector<size_t> places,
                          FindAll(path, names, wanted, extra));
  std::vector<NdArray> arrays;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const std::string name = absl::StrCat(path, ":", wanted[k].name, kSuffix);
    OCANNL_ASSIGN_OR_RETURN(const int64_t numbers,
                            ByteSize(wanted[k].dtype, wanted[k].dims));
    OCANNL_ASSIGN_OR_RETURN(const std::string bytes,
                            ReadMember(path, archive.get(), places[k],
                                       kMostNpyFrontBytes + numbers + 1));
    OCANNL_ASSIGN_OR_RETURN(const NpyFront front, ParseNpyFront(bytes, name));
    OCANNL_RETURN_IF_ERROR(
        CheckType(path, wanted[k], front.header.dtype, front.header.dims));
    OCANNL_ASSIGN_OR_RETURN(arrays.emplace_back(), ParseNpy(bytes, name));
  }
  return arrays;
}

absl::Status CheckNpz(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  const absl::Status whole = CheckMembers(path);
  return whole.ok() ? whole : absl::DataLossError(whole.message());
}

absl::StatusOr<FileList> ListNpz(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(Archive archive,
                          Open(path, ZIP_RDONLY | ZIP_CHECKCONS));
  OCANNL_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          NamesOf(path, archive.get()));
  OCANNL_RETURN_IF_ERROR(FindAll(path, names, {}, /*extra=*/true).status());
  FileList list;
  int size = 0;
  const char* comment = zip_get_archive_comment(archive.get(), &size, 0);
  list.is_ours =
      comment != nullptr && absl::string_view(comment, size) == kComment;
  for (size_t k = 0; k < names.size(); ++k) {
    ArrayEntry& entry = list.entries.emplace_back();
    entry.name = names[k];
    OCANNL_ASSIGN_OR_RETURN(
        const std::string bytes,
        ReadMember(path, archive.get(), k, kMostListedBytes));
    const absl::StatusOr<NpyFront> front = ParseNpyFront(bytes, names[k]);
    if (!front.ok()) continue;  // NumPy has dtypes that we do not have
    entry.dtype = front->header.dtype;
    entry.dims = front->header.dims;
  }
  return list;
}

}  // namespace ocannl::train
