// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/array_match.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/ops/number.h"

namespace ocannl::train {
namespace {

using Kind = ArrayMatch::Kind;

constexpr size_t kMostLines = 20;  // of an error

std::string Quoted(absl::string_view name) {
  return absl::StrCat("`", absl::CHexEscape(name), "`");
}

// Whether an array of which nothing else is known may be the weights of a
// convolution in either order.
bool MayBeKernel(const Dims& dims) {
  return dims.size() == 4 && dims[1] > 1 && dims[1] == dims[2] &&
         dims[1] == dims[3];
}

// Whether a file of another library may mean another order by these dims.
bool IsAmbiguous(const WantedArray& wanted) {
  const Dims& dims = wanted.array.dims;
  if (!wanted.torch || wanted.torch->is_unknown) return MayBeKernel(dims);
  return Reorders(*wanted.torch, dims) && FitsTorch(*wanted.torch, dims, dims);
}

// What is wrong with dims of the file; "" if nothing is.
std::string SizeProblem(const WantedArray& wanted, const Dims& dims,
                        FileLayout layout, bool is_ours) {
  const Dims& own = wanted.array.dims;
  const std::optional<TorchLayout>& torch = wanted.torch;
  if (layout == FileLayout::kPyTorch) {
    if (torch->is_unknown && own.size() > 1) {
      return "the network uses it in ways that have different layouts in "
             "PyTorch; load it by another file with layout kOcannl";
    }
    if (is_ours && Reorders(*torch, own)) {
      return "ocannl wrote the file, in our order; set RestoreOptions::layout "
             "to kOcannl";
    }
    if (torch->is_unknown ? dims == own : FitsTorch(*torch, own, dims)) {
      return "";
    }
    return "the shape differs, also in PyTorch's layout; use the model that it "
           "belongs to";
  }
  if (dims == own) {
    if (layout == FileLayout::kOcannl || is_ours || !IsAmbiguous(wanted)) {
      return "";
    }
    return absl::StrCat(
        "another library wrote the file, or ocannl before 0.7.0, and PyTorch ",
        "has an array of this ",
        "shape in another order; set RestoreOptions::layout to ",
        torch ? "" : "kOcannl, or give the model and its tensor with layout ",
        torch ? "kPyTorch or kOcannl" : "kPyTorch");
  }
  if (torch && !torch->is_unknown && FitsTorch(*torch, own, dims)) {
    return "it fits in PyTorch's layout; set RestoreOptions::layout to "
           "kPyTorch";
  }
  return "the shape differs; use the model that it belongs to";
}

// What is wrong with the entry; "" if nothing is.
std::string ProblemOf(const WantedArray& wanted, const ArrayEntry& entry,
                      const MatchOptions& options, bool is_ours) {
  const DType dtype = wanted.array.dtype;
  const Dims& dims = wanted.array.dims;
  const std::string quoted = Quoted(entry.name);
  if (!entry.dtype) {
    return absl::StrCat(quoted, " has a dtype other than ", DTypeNames(),
                        "; convert it before saving");
  }
  const std::string is =
      absl::StrCat(quoted, " is ", DescribeArray(*entry.dtype, entry.dims),
                   ", not ", DescribeArray(dtype, dims), ": ");
  const bool converts =
      IsFloat(ComputeDType(dtype)) && IsFloat(ComputeDType(*entry.dtype));
  if (*entry.dtype != dtype && !(options.convert && converts)) {
    return absl::StrCat(is, "the precision differs; ",
                        converts ? "set RestoreOptions::convert, or " : "",
                        "use the model that it belongs to");
  }
  std::string problem =
      SizeProblem(wanted, entry.dims, options.layout, is_ours);
  if (problem.empty()) return "";
  if (entry.dims != dims) return absl::StrCat(is, problem);
  return absl::StrCat(quoted, " is ", DescribeArray(dtype, dims), ": ",
                      problem);
}

// How an entry fits that does.
std::string DescribeFit(const WantedArray& wanted, const ArrayEntry& entry,
                        const MatchOptions& options) {
  const DType dtype = wanted.array.dtype;
  const Dims& dims = wanted.array.dims;
  std::string text = DescribeArray(*entry.dtype, entry.dims);
  if (*entry.dtype != dtype) {
    absl::StrAppend(&text, ", converted to ", Name(dtype));
  }
  if (options.layout == FileLayout::kPyTorch && Reorders(*wanted.torch, dims)) {
    absl::StrAppend(&text, ", reordered");
  }
  if (entry.dims != dims) {
    absl::StrAppend(&text, ", as [", absl::StrJoin(dims, ", "), "]");
  }
  return text;
}

NdArray Converted(const NdArray& value, DType dtype) {
  NdArray result(dtype, value.dims());
  VisitDType(dtype, [&](auto to) {
    VisitDType(value.dtype(), [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      absl::c_transform(value.values<From>(), result.values<To>().begin(),
                        number::Convert<To, From>);
    });
  });
  return result;
}

}  // namespace

std::string ToString(const ArrayMatch& match) {
  switch (match.kind) {
    case Kind::kFits:
      return absl::StrCat(Quoted(match.name), " is ", Quoted(match.in_file),
                          ": ", match.text);
    case Kind::kMissing:
    case Kind::kExtra:
      return match.text;
    case Kind::kMisfit:
      return match.name == match.in_file
                 ? match.text
                 : absl::StrCat(Quoted(match.name), ": ", match.text);
  }
  __builtin_unreachable();
}

std::vector<ArrayMatch> MatchArrays(const FileList& file,
                                    absl::Span<const WantedArray> wanted,
                                    const MatchOptions& options) {
  absl::flat_hash_map<absl::string_view, const ArrayEntry*> entries;
  for (const ArrayEntry& entry : file.entries) {
    entries.emplace(entry.name, &entry);
  }
  std::vector<ArrayMatch> matches;
  for (const WantedArray& each : wanted) {
    ArrayMatch& match = matches.emplace_back(ArrayMatch{.kind = Kind::kMissing,
                                                        .name = each.array.name,
                                                        .in_file = each.in_file,
                                                        .text = ""});
    const auto entry = entries.find(each.in_file);
    if (entry == entries.end()) {
      match.text = absl::StrCat("it has no ", Quoted(each.in_file));
      if (match.name != match.in_file) {
        absl::StrAppend(&match.text, " for ", Quoted(match.name));
      }
      continue;
    }
    match.text = ProblemOf(each, *entry->second, options, file.is_ours);
    match.kind = match.text.empty() ? Kind::kFits : Kind::kMisfit;
    if (match.text.empty())
      match.text = DescribeFit(each, *entry->second, options);
    entries.erase(entry);
  }
  for (const ArrayEntry& entry : file.entries) {
    if (!entries.contains(entry.name)) continue;
    matches.push_back({.kind = Kind::kExtra,
                       .name = "",
                       .in_file = entry.name,
                       .text = absl::StrCat("it has ", Quoted(entry.name),
                                            ", which nobody asks for")});
  }
  return matches;
}

absl::Status MatchError(absl::string_view path,
                        absl::Span<const ArrayMatch> matches,
                        bool allow_missing, bool allow_extra) {
  std::vector<std::string> lines;
  auto add = [&](Kind kind) {
    for (const ArrayMatch& match : matches) {
      if (match.kind == kind) lines.push_back(ToString(match));
    }
    return !lines.empty();
  };
  add(Kind::kMisfit);
  const size_t misfits = lines.size();
  if (!allow_missing) add(Kind::kMissing);
  std::string hint;
  if (lines.size() > misfits) {
    std::vector<std::string> found;
    for (const ArrayMatch& match : matches) {
      if (match.kind != Kind::kMissing) found.push_back(match.in_file);
    }
    hint = NamesHint(found);
  }
  if (lines.empty() && !allow_extra && add(Kind::kExtra)) {
    hint = "; ask for all that was saved";
  }
  if (lines.empty()) return absl::OkStatus();
  if (lines.size() == 1) return FileError(path, lines[0] + hint);
  const size_t fit = absl::c_count_if(
      matches, [](const ArrayMatch& each) { return each.kind == Kind::kFits; });
  const size_t all = lines.size();
  if (all > kMostLines) {
    lines.resize(kMostLines);
    lines.push_back(absl::StrCat(all - kMostLines, " more"));
  }
  return FileError(
      path, absl::StrCat(all, " arrays do not fit, and ", fit, " do:\n  ",
                         absl::StrJoin(lines, "\n  "), hint));
}

absl::StatusOr<NdArray> ToWanted(absl::string_view path,
                                 const WantedArray& wanted,
                                 const MatchOptions& options, NdArray value) {
  const DType dtype = wanted.array.dtype;
  const Dims& dims = wanted.array.dims;
  if (options.layout == FileLayout::kPyTorch && !wanted.torch->is_unknown &&
      (value.dims() != dims || Reorders(*wanted.torch, dims))) {
    value = FromTorch(*wanted.torch, dims, value);
  }
  if (value.dtype() == dtype) return value;
  NdArray converted = Converted(value, dtype);
  const bool is_narrower = SizeOf(dtype) <= SizeOf(value.dtype());
  for (int64_t i = 0; is_narrower && i < value.size(); ++i) {
    const double number = value.AsDouble(i);
    if (std::isfinite(converted.AsDouble(i)) || !std::isfinite(number)) {
      continue;
    }
    return FileError(
        path, absl::StrCat(Quoted(wanted.in_file), " has ", NumberText(number),
                           ", which is too large for ", Name(dtype),
                           "; give the network a wider dtype"));
  }
  return converted;
}

}  // namespace ocannl::train
