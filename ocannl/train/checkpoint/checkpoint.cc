// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/train/checkpoint/npz.h"
#include "ocannl/train/checkpoint/safetensors.h"
#include "ocannl/train/checkpoint/saved_arrays.h"

namespace ocannl::train {
namespace {

struct Format {
  absl::string_view extension;
  absl::Status (*write)(const std::string& path,
                        std::vector<NamedArray> arrays);
  absl::StatusOr<std::vector<NdArray>> (*read)(const std::string& path,
                                               absl::Span<const Array> wanted);
};
constexpr Format kFormats[] = {
    {".npz", &WriteNpz, &ReadNpz},
    {".safetensors", &WriteSafetensors, &ReadSafetensors}};

absl::StatusOr<Format> FormatOf(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  for (const Format& format : kFormats) {
    if (format.extension == extension) return format;
  }
  return FileError(path, "its name must end in .npz or .safetensors");
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

// Gives the file at `path`, if there is one, a second name.
absl::Status KeepPrevious(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  std::filesystem::path previous = path;
  previous.replace_extension(
      absl::StrCat(".previous", path.extension().string()));
  std::filesystem::remove(previous, error);
  std::filesystem::create_hard_link(path, previous, error);
  // Not all file systems have links.
  if (error) std::filesystem::copy_file(path, previous, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(),
                             absl::StrCat("cannot write ", previous.string()));
}

}  // namespace

absl::StatusOr<std::vector<Array>> ParamArrays(Model& model, Tensor t) {
  OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {t.id}, model.shapes));
  std::vector<Array> arrays;
  for (Tensor p : Parameters(model, t)) {
    arrays.push_back(ValueArray(model.graph, model.shapes, p.id));
  }
  return arrays;
}

std::vector<Array> StateArrays(absl::Span<const LoopProgram* const> programs) {
  absl::btree_map<std::string, const Buffer*> read_first;
  absl::flat_hash_set<std::string> written;
  for (const LoopProgram* program : programs) {
    for (const Buffer& buffer : program->buffers) {
      if (buffer.role == Role::kMerge) continue;
      if (IsInput(buffer.role) && !written.contains(buffer.name)) {
        read_first.emplace(buffer.name, &buffer);
      }
      if (IsResult(buffer.role)) written.insert(buffer.name);
    }
  }
  std::vector<Array> state;
  for (const auto& [name, buffer] : read_first) {
    if (!written.contains(name)) continue;
    state.push_back(
        {.name = name, .dtype = buffer->dtype, .dims = buffer->dims});
  }
  return state;
}

absl::Status CheckSavable(const std::string& path) {
  OCANNL_RETURN_IF_ERROR(FormatOf(path).status());
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("cannot save ", path,
                                          ": there is no folder ",
                                          folder.string(), "; make it first"));
}

absl::Status SaveParams(const std::string& path, absl::Span<const Array> arrays,
                        const Context& context) {
  OCANNL_RETURN_IF_ERROR(CheckSavable(path));
  OCANNL_ASSIGN_OR_RETURN(const Format format, FormatOf(path));
  OCANNL_RETURN_IF_ERROR(CheckNames(path, arrays));
  std::vector<NamedArray> values;
  for (const Array& array : arrays) {
    OCANNL_ASSIGN_OR_RETURN(NdArray value, context.Read(array.name));
    OCANNL_RETURN_IF_ERROR(CheckType(path, array, value.dtype(), value.dims()));
    values.emplace_back(array.name, std::move(value));
  }
  return ReplaceFile(path, Survives::kPowerLoss, [&](const auto& other) {
    OCANNL_RETURN_IF_ERROR(format.write(other, std::move(values)));
    return KeepPrevious(path);
  });
}

absl::Status RestoreParams(const std::string& path,
                           absl::Span<const Array> arrays,
                           const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, FormatOf(path));
  OCANNL_RETURN_IF_ERROR(CheckNames(path, arrays));
  OCANNL_RETURN_IF_ERROR(CheckOrdinaryFile(path, "what was saved"));
  OCANNL_ASSIGN_OR_RETURN(std::vector<NdArray> values,
                          format.read(path, arrays));
  std::vector<NamedArray> named;
  for (size_t k = 0; k < arrays.size(); ++k) {
    named.emplace_back(arrays[k].name, std::move(values[k]));
  }
  return context.WriteAll(named);
}

}  // namespace ocannl::train
