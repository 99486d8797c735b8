// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/buckets.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/containers/stable_vector.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/memory_mode.h"

namespace ocannl::train {
namespace {

// A value that is set and nothing else, as gradients are to 0.
bool IsFill(const Assign& assign) {
  return !assign.accum && assign.sources.empty();
}

// What the assignment writes and reads.
std::set<int32_t> ArraysOf(const Assign& assign) {
  std::set<int32_t> arrays = {assign.lhs};
  for (const Source& source : assign.sources) {
    WalkArrays(source,
               [&](const ReadArray& read) { arrays.insert(read.array); });
  }
  return arrays;
}

// The list in which each fill comes right before what next touches the array,
// so that a part has those of its own gradients.
StableVector<Assignment> WithLateFills(const Assignments& code) {
  std::map<int32_t, std::vector<Assignment>> waiting;  // by the array
  StableVector<Assignment> list;
  for (const Assignment& assignment : code.list) {
    const auto* assign = std::get_if<Assign>(&assignment);
    if (assign != nullptr && IsFill(*assign)) {
      waiting[assign->lhs].push_back(assignment);
      continue;
    }
    for (int32_t array : assign ? ArraysOf(*assign) : std::set<int32_t>()) {
      for (Assignment& fill : waiting[array]) list.push_back(std::move(fill));
      waiting.erase(array);
    }
    list.push_back(assignment);
  }
  for (auto& [array, fills] : waiting) {
    for (Assignment& fill : fills) list.push_back(std::move(fill));
  }
  return list;
}

// Where the arrays are used in a list.
struct Uses {
  explicit Uses(const Assignments& code)
      : first_write(code.arrays.size()),
        last(code.arrays.size()),
        last_write(code.arrays.size()) {
    for (int k = 0; k < static_cast<int>(code.list.size()); ++k) {
      const auto* assign = std::get_if<Assign>(&code.list[k]);
      if (assign == nullptr) continue;
      for (int32_t array : ArraysOf(*assign)) last[array] = k;
      last_write[assign->lhs] = k;
      if (!first_write[assign->lhs]) first_write[assign->lhs] = k;
    }
  }

  std::vector<std::optional<int>> first_write, last, last_write;
};

// Keeps the arrays that are used on both sides of a cut behind `place`, if they
// all can be.
bool KeepAcross(Assignments& code, const Uses& uses, int place) {
  StableVector<Array> arrays = code.arrays;
  for (size_t k = 0; k < arrays.size(); ++k) {
    if (!uses.first_write[k] || *uses.first_write[k] > place) continue;
    if (*uses.last[k] <= place) continue;
    const MemoryRequest kept = {MemoryMode::kMaterialized,
                                "is between two parts of the gradient"};
    if (!UpdateOf(arrays[k].name, kept, arrays[k].memory).ok()) return false;
  }
  code.arrays = std::move(arrays);
  return true;
}

// The gradients, by their numbers in `trained`, that each place of the list
// ends.
std::vector<std::vector<int>> DoneAt(const Assignments& code, const Uses& uses,
                                     absl::Span<const Tensor> trained) {
  std::vector<std::vector<int>> done(code.list.size());
  for (size_t k = 0; k < trained.size(); ++k) {
    const std::string name = absl::StrCat(trained[k].node().name, ".grad");
    for (size_t a = 0; a < code.arrays.size(); ++a) {
      if (code.arrays[a].name != name) continue;
      done[uses.last_write[a].value()].push_back(static_cast<int>(k));
    }
  }
  return done;
}

int64_t BytesOf(const Array& array) {
  return NumElements(array.dims) * static_cast<int64_t>(SizeOf(array.dtype));
}

}  // namespace

std::vector<GradientPart> CutAtBuckets(const Assignments& code,
                                       absl::Span<const Tensor> trained,
                                       int64_t bucket_bytes) {
  Assignments whole = code;
  const bool cuts =
      bucket_bytes > 0 && !AnyAssign(code, [&](const Assign& assign) {
        return IsNarrow(code.arrays[assign.lhs].dtype);
      });
  if (cuts) whole.list = WithLateFills(code);
  const Uses uses(whole);
  const std::vector<std::vector<int>> done = DoneAt(whole, uses, trained);
  std::vector<GradientPart> parts(1);
  int64_t bytes = 0;
  size_t left = trained.size();
  for (size_t place = 0; place < whole.list.size(); ++place) {
    parts.back().code.list.push_back(whole.list[place]);
    for (int k : done[place]) {
      parts.back().bucket.push_back(k);
      const auto& assign = std::get<Assign>(whole.list[place]);
      bytes += BytesOf(whole.arrays[assign.lhs]);
      --left;
    }
    if (left == 0 || bytes < bucket_bytes || !cuts) continue;
    if (!KeepAcross(whole, uses, static_cast<int>(place))) continue;
    parts.emplace_back();
    bytes = 0;
  }
  CHECK_EQ(left, 0);
  for (size_t k = 0; k < parts.size(); ++k) {
    whole.list = std::move(parts[k].code.list);
    parts[k].code = whole;
    if (parts.size() > 1) absl::StrAppend(&parts[k].code.name, "_", k);
  }
  return parts;
}

}  // namespace ocannl::train
