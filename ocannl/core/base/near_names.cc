// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/near_names.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {
namespace {

constexpr size_t kMaxNames = 3;

// How many characters to insert, delete or replace.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // from a's first i to b's first j
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> NearNames(absl::string_view name,
                                   const std::vector<std::string>& candidates) {
  const size_t limit = std::min<size_t>(2, name.size() / 2);
  std::set<std::pair<size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > name.size() + limit) continue;
    size_t distance = EditDistance(name, candidate);
    if (distance <= limit) near.emplace(distance, candidate);
  }
  std::vector<std::string> names;
  for (const auto& entry : near) {
    if (names.size() < kMaxNames) names.push_back(entry.second);
  }
  return names;
}

std::string NearNamesHint(absl::string_view name,
                          const std::vector<std::string>& candidates) {
  std::vector<std::string> near = NearNames(name, candidates);
  if (near.empty()) return "";
  return absl::StrCat("; near names: ", absl::StrJoin(near, ", "));
}

}  // namespace ocannl
