// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/loop.h"
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
                                               absl::Span<const Array> wanted,
                                               bool extra);
  absl::StatusOr<std::vector<ArrayEntry>> (*list)(const std::string& path);
};
constexpr Format kFormats[] = {
    {".npz", &WriteNpz, &ReadNpz, &ListNpz},
    {".safetensors", &WriteSafetensors, &ReadSafetensors, &ListSafetensors}};

absl::StatusOr<Format> FormatOf(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  for (const Format& format : kFormats) {
    if (format.extension == extension) return format;
  }
  return FileError(path, "its name must end in .npz or .safetensors");
}

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

// The arrays as the file names them. Error: a name for none of them.
absl::StatusOr<std::vector<Array>> Renamed(
    const std::string& path, absl::Span<const Array> arrays,
    const std::map<std::string, std::string>& names) {
  std::vector<Array> renamed(arrays.begin(), arrays.end());
  size_t used = 0;
  for (Array& array : renamed) {
    if (auto it = names.find(array.name); it != names.end()) {
      array.name = it->second;
      ++used;
    }
  }
  if (used == names.size()) return renamed;
  for (const auto& [name, of_file] : names) {
    if (absl::c_any_of(arrays, [&name = name](const Array& a) {
          return a.name == name;
        })) {
      continue;
    }
    return FileError(path, absl::StrCat("`", of_file, "` is to be `", name,
                                        "`, which is none of the arrays; ask ",
                                        "for it or rename another"));
  }
  return renamed;
}

// Leaves out of both what the file does not have. Error: nothing stays.
absl::Status DropMissing(const std::string& path, const Format& format,
                         std::vector<Array>& arrays,
                         std::vector<Array>& wanted) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<ArrayEntry> entries,
                          format.list(path));
  absl::flat_hash_set<absl::string_view> found;
  for (const ArrayEntry& entry : entries) found.insert(entry.name);
  size_t left = 0;
  for (size_t k = 0; k < arrays.size(); ++k) {
    if (!found.contains(wanted[k].name)) continue;
    if (left != k) {
      arrays[left] = std::move(arrays[k]);
      wanted[left] = std::move(wanted[k]);
    }
    ++left;
  }
  if (left == 0) {
    return FileError(path, absl::StrCat("it has no `", wanted[0].name, "`, ",
                                        "and none of the others; see what it ",
                                        "has by ListArrays"));
  }
  arrays.resize(left);
  wanted.resize(left);
  return absl::OkStatus();
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

// The format of a file that can be read.
absl::StatusOr<Format> Readable(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, FormatOf(path));
  OCANNL_RETURN_IF_ERROR(CheckOrdinaryFile(path, "what was saved"));
  return format;
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

absl::Status RestoreParams(const std::string& path,
                           absl::Span<const Array> arrays,
                           const Context& context,
                           const RestoreOptions& options) {
  OCANNL_RETURN_IF_ERROR(FormatOf(path).status());
  OCANNL_RETURN_IF_ERROR(CheckNames(path, arrays));
  OCANNL_ASSIGN_OR_RETURN(std::vector<Array> wanted,
                          Renamed(path, arrays, options.names));
  OCANNL_RETURN_IF_ERROR(CheckNames(path, wanted));
  OCANNL_ASSIGN_OR_RETURN(const Format format, Readable(path));
  std::vector<Array> restored(arrays.begin(), arrays.end());
  if (options.allow_missing) {
    OCANNL_RETURN_IF_ERROR(DropMissing(path, format, restored, wanted));
  }
  OCANNL_ASSIGN_OR_RETURN(std::vector<NdArray> values,
                          format.read(path, wanted, options.allow_extra));
  std::vector<NamedArray> named;
  for (size_t k = 0; k < restored.size(); ++k) {
    named.emplace_back(restored[k].name, std::move(values[k]));
  }
  return context.WriteAll(named);
}

absl::StatusOr<std::vector<ArrayEntry>> ListArrays(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, Readable(path));
  return format.list(path);
}

absl::StatusOr<std::vector<NdArray>> LoadArrays(
    const std::string& path, absl::Span<const std::string> names,
    const DataLimit& limit) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, Readable(path));
  OCANNL_ASSIGN_OR_RETURN(const std::vector<ArrayEntry> entries,
                          format.list(path));
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
