// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/checkpoint.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/train/checkpoint/format.h"
#include "ocannl/train/checkpoint/saved_arrays.h"

namespace ocannl::train {
namespace {

absl::Status CheckFolder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("cannot save ", path,
                                          ": there is no folder ",
                                          folder.string(), "; make it first"));
}

// "`a`, `b`", cut where there are many.
std::string DescribeNames(const std::vector<ArrayEntry>& entries) {
  if (entries.empty()) return "nothing";
  std::string text;
  for (const ArrayEntry& entry : entries) {
    if (text.size() > 200) return absl::StrCat(text, ", ...");
    absl::StrAppend(&text, text.empty() ? "" : ", ", "`",
                    absl::CHexEscape(entry.name), "`");
  }
  return text;
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
  OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
  OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {t.id}, model.shapes));
  std::vector<Array> arrays;
  for (Tensor p : AllParameters(model, t)) {
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

absl::StatusOr<std::vector<Array>> StateArrays(
    Model& model, Tensor t, absl::Span<const LoopProgram* const> programs) {
  std::vector<Array> state = StateArrays(programs);
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Array> params,
                          ParamArrays(model, t));
  for (const Array& param : params) {
    if (absl::c_none_of(state, [&](const Array& array) {
          return array.name == param.name;
        })) {
      state.push_back(param);
    }
  }
  absl::c_sort(state,
               [](const Array& a, const Array& b) { return a.name < b.name; });
  return state;
}

absl::Status CheckSavable(const std::string& path) {
  OCANNL_RETURN_IF_ERROR(FormatOf(path).status());
  OCANNL_RETURN_IF_ERROR(CheckFolder(path));
  return CheckReplaceable(path);
}

absl::Status SaveParams(const std::string& path, absl::Span<const Array> arrays,
                        const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, FormatOf(path));
  OCANNL_RETURN_IF_ERROR(CheckFolder(path));
  OCANNL_RETURN_IF_ERROR(CheckNames(path, arrays));
  std::vector<NamedArray> values;
  for (const Array& array : arrays) {
    OCANNL_ASSIGN_OR_RETURN(NdArray value, context.Read(array.name));
    OCANNL_RETURN_IF_ERROR(CheckType(path, array, value.dtype(), value.dims()));
    values.emplace_back(array.name, std::move(value));
  }
  return ReplaceFile(path, [&](const auto& other) {
    OCANNL_RETURN_IF_ERROR(format.write(other, std::move(values)));
    return KeepPrevious(path);
  });
}

absl::StatusOr<std::vector<ArrayEntry>> ListArrays(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, Readable(path));
  OCANNL_ASSIGN_OR_RETURN(FileList list, format.list(path));
  return std::move(list.entries);
}

absl::StatusOr<std::vector<NdArray>> LoadArrays(
    const std::string& path, absl::Span<const std::string> names,
    const DataLimit& limit) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, Readable(path));
  OCANNL_ASSIGN_OR_RETURN(const FileList list, format.list(path));
  const std::vector<ArrayEntry>& entries = list.entries;
  std::vector<Array> wanted;
  for (const std::string& name : names) {
    auto entry = absl::c_find_if(
        entries, [&](const ArrayEntry& e) { return e.name == name; });
    if (entry == entries.end()) {
      return FileError(path, absl::StrCat("it has no `", name, "`; it has ",
                                          DescribeNames(entries)));
    }
    if (!entry->dtype) {
      return FileError(
          path, absl::StrCat("`", name, "` has a dtype other ", "than ",
                             DTypeNames(), "; convert it before saving"));
    }
    wanted.push_back(
        {.name = name, .dtype = *entry->dtype, .dims = entry->dims});
  }
  OCANNL_RETURN_IF_ERROR(CheckNames(path, wanted));
  OCANNL_RETURN_IF_ERROR(CheckLimit(path, wanted, limit));
  return format.read(path, wanted, /*extra=*/true);
}

}  // namespace ocannl::train
