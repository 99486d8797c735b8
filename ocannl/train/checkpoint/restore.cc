// SPDX-License-Identifier: Apache-2.0
//
// RestoreParams: finds out how all arrays of a file fit, reads them as the file
// has them, and changes them to what is asked for.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/checkpoint/array_match.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/checkpoint/format.h"
#include "ocannl/train/checkpoint/torch_layout.h"

namespace ocannl::train {
namespace {

using Kind = ArrayMatch::Kind;

// Error: a name for none of the arrays.
absl::Status CheckRenamed(const std::string& path,
                          absl::Span<const Array> arrays,
                          const std::map<std::string, std::string>& names) {
  for (const auto& [name, of_file] : names) {
    if (absl::c_any_of(arrays, [&name = name](const Array& array) {
          return array.name == name;
        })) {
      continue;
    }
    return FileError(path, absl::StrCat("`", of_file, "` is to be `", name,
                                        "`, which is none of the arrays; ask ",
                                        "for it or rename another"));
  }
  return absl::OkStatus();
}

std::string NameInFile(const std::string& name, const RestoreOptions& options) {
  const auto it = options.names.find(name);
  if (it != options.names.end()) return it->second;
  return options.rename ? options.rename(name) : name;
}

// The arrays under their names in the file.
std::vector<Array> InFile(absl::Span<const WantedArray> wanted) {
  std::vector<Array> arrays;
  for (const WantedArray& each : wanted) {
    arrays.push_back(each.array);
    arrays.back().name = each.in_file;
  }
  return arrays;
}

// The arrays, as nothing else is known of them. Errors: those of CheckNames, of
// their names here and in the file, and of CheckRenamed.
absl::StatusOr<std::vector<WantedArray>> Wanted(const std::string& path,
                                                absl::Span<const Array> arrays,
                                                const RestoreOptions& options) {
  OCANNL_RETURN_IF_ERROR(FormatOf(path).status());
  OCANNL_RETURN_IF_ERROR(CheckNames(path, arrays));
  OCANNL_RETURN_IF_ERROR(CheckRenamed(path, arrays, options.names));
  std::vector<WantedArray> wanted;
  absl::flat_hash_map<std::string, std::string> of_file;  // to the name here
  for (const Array& array : arrays) {
    wanted.push_back(
        {.array = array, .in_file = NameInFile(array.name, options)});
    const std::string& in_file = wanted.back().in_file;
    const auto [same, is_new] = of_file.emplace(in_file, array.name);
    if (is_new) continue;
    return FileError(
        path, absl::StrCat("`", absl::CHexEscape(in_file),
                           "` is given twice, for `", same->second, "` and `",
                           array.name, "`; give each another name by ",
                           "RestoreOptions::names or rename"));
  }
  OCANNL_RETURN_IF_ERROR(CheckNames(path, InFile(wanted)));
  return wanted;
}

absl::StatusOr<std::vector<WantedArray>> WantedParams(
    const std::string& path, const Model& model,
    absl::Span<const Tensor> parameters, const RestoreOptions& options) {
  std::vector<Array> arrays;
  for (Tensor p : parameters) {
    arrays.push_back(ValueArray(model.graph, model.shapes, p.id));
  }
  OCANNL_ASSIGN_OR_RETURN(std::vector<WantedArray> wanted,
                          Wanted(path, arrays, options));
  const auto layouts = TorchLayouts(model, parameters);
  for (size_t k = 0; k < parameters.size(); ++k) {
    wanted[k].torch = layouts.at(parameters[k].id);
  }
  return wanted;
}

absl::StatusOr<std::vector<WantedArray>> WantedParams(
    const std::string& path, Model& model, Tensor t,
    const RestoreOptions& options) {
  OCANNL_RETURN_IF_ERROR(ParamArrays(model, t).status());  // infers shapes
  return WantedParams(path, model, AllParameters(model, t), options);
}

MatchOptions MatchOptionsOf(const RestoreOptions& options) {
  return {.convert = options.convert, .layout = options.layout};
}

// What the file has. The error of a file that is damaged is that of what is
// wanted, if it has one: it tells more. Not so if what is wanted may be missing
// or other there, which a reader of just this calls an error.
absl::StatusOr<FileList> List(const std::string& path, const Format& format,
                              absl::Span<const WantedArray> wanted,
                              const RestoreOptions& options) {
  absl::StatusOr<FileList> list = format.list(path);
  const bool may_differ = options.allow_missing || options.convert ||
                          options.layout == FileLayout::kPyTorch;
  if (list.ok() || may_differ) return list;
  OCANNL_RETURN_IF_ERROR(
      format.read(path, InFile(wanted), options.allow_extra).status());
  return list;
}

absl::Status Restore(const std::string& path,
                     absl::Span<const WantedArray> wanted,
                     const Context& context, const RestoreOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const Format format, Readable(path));
  OCANNL_ASSIGN_OR_RETURN(const FileList list,
                          List(path, format, wanted, options));
  const std::vector<ArrayMatch> matches =
      MatchArrays(list, wanted, MatchOptionsOf(options));
  OCANNL_RETURN_IF_ERROR(
      MatchError(path, matches, options.allow_missing, options.allow_extra));
  absl::flat_hash_map<absl::string_view, const ArrayEntry*> entries;
  for (const ArrayEntry& entry : list.entries) {
    entries.emplace(entry.name, &entry);
  }
  std::vector<const WantedArray*> restored;
  std::vector<Array> in_file;
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (matches[k].kind == Kind::kMissing) continue;
    const ArrayEntry& entry = *entries.at(wanted[k].in_file);
    restored.push_back(&wanted[k]);
    in_file.push_back(
        {.name = entry.name, .dtype = *entry.dtype, .dims = entry.dims});
  }
  if (restored.empty()) {
    return FileError(path, absl::StrCat("it has no `", wanted[0].in_file,
                                        "`, and none of the others; see what ",
                                        "it has by ListArrays"));
  }
  OCANNL_ASSIGN_OR_RETURN(std::vector<NdArray> values,
                          format.read(path, in_file, options.allow_extra));
  std::vector<NamedArray> named;
  for (size_t k = 0; k < restored.size(); ++k) {
    OCANNL_ASSIGN_OR_RETURN(
        NdArray value, ToWanted(path, *restored[k], MatchOptionsOf(options),
                                std::move(values[k])));
    named.emplace_back(restored[k]->array.name, std::move(value));
  }
  return context.WriteAll(named);
}

}  // namespace

absl::Status RestoreParams(const std::string& path,
                           absl::Span<const Array> arrays,
                           const Context& context,
                           const RestoreOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<WantedArray> wanted,
                          Wanted(path, arrays, options));
  if (options.layout == FileLayout::kPyTorch) {
    return absl::InvalidArgumentError(
        "how PyTorch stores an array follows from what uses it; give "
        "RestoreParams the model and its tensor in the place of arrays");
  }
  return Restore(path, wanted, context, options);
}

absl::Status RestoreParams(const std::string& path, Model& model, Tensor t,
                           const Context& context,
                           const RestoreOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<WantedArray> wanted,
                          WantedParams(path, model, t, options));
  return Restore(path, wanted, context, options);
}

absl::Status RestoreParams(const std::string& path, const Model& model,
                           absl::Span<const Tensor> parameters,
                           const Context& context,
                           const RestoreOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<WantedArray> wanted,
                          WantedParams(path, model, parameters, options));
  return Restore(path, wanted, context, options);
}

absl::StatusOr<std::vector<ArrayMatch>> MatchParams(
    const std::string& path, Model& model, Tensor t,
    const RestoreOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<WantedArray> wanted,
                          WantedParams(path, model, t, options));
  OCANNL_ASSIGN_OR_RETURN(const Format format, Readable(path));
  OCANNL_ASSIGN_OR_RETURN(const FileList list, format.list(path));
  return MatchArrays(list, wanted, MatchOptionsOf(options));
}

}  // namespace ocannl::train
