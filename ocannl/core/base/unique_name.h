// SPDX-License-Identifier: Apache-2.0
//
// UniqueName: a name that nothing else has.
//
//   UniqueName("acc", taken)   ->   acc, or the first of acc_2, acc_3, ...
//
// NameIndex: the names of things in tables, to which things are added and from
// whose ends they are dropped. A question takes time for what is new.
//
//   NameIndex names;
//   names.Update(buffers, locals);
//   names.Find(0, "x");       // the number of x in buffers
//   names.Unused("acc");      // as UniqueName of all of them
#ifndef OCANNL_CORE_BASE_UNIQUE_NAME_H_
#define OCANNL_CORE_BASE_UNIQUE_NAME_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ocannl {

inline std::string UniqueName(
    const std::string& base,
    absl::FunctionRef<bool(const std::string&)> is_taken) {
  std::string name = base;
  for (int k = 2; is_taken(name); ++k) name = absl::StrCat(base, "_", k);
  return name;
}

// The same, and from then on `taken`.
inline std::string UniqueName(const std::string& base,
                              absl::flat_hash_set<std::string>& taken) {
  return UniqueName(base, [&](const std::string& candidate) {
    return !taken.insert(candidate).second;
  });
}

// A copy is empty, and learns its own tables.
class NameIndex {
 public:
  NameIndex() = default;
  NameIndex(const NameIndex&) {}
  NameIndex& operator=(const NameIndex&) { return *this = NameIndex(); }
  NameIndex(NameIndex&&) = default;
  NameIndex& operator=(NameIndex&&) = default;

  // The tables, vectors of things with names, as they are now: the same ones
  // each time.
  template <class... Tables>
  void Update(const Tables&... tables) {
    seen_.resize(sizeof...(tables));
    size_t table = 0;
    (UpdateOne(table++, tables), ...);
  }

  // The number in the table of the first thing of that name.
  std::optional<size_t> Find(size_t table, absl::string_view name) const {
    const auto found = places_.find(name);
    if (found == places_.end() || found->second.first != table) {
      return std::nullopt;
    }
    return found->second.second;
  }

  // `base`, or the first of base_2, base_3, ... that nothing is called.
  std::string Unused(const std::string& base) {
    size_t& next = next_.try_emplace(base, 1).first->second;
    std::string name = next == 1 ? base : absl::StrCat(base, "_", next);
    while (places_.contains(name)) name = absl::StrCat(base, "_", ++next);
    return name;
  }

 private:
  template <class Things>
  void UpdateOne(size_t table, const Things& things) {
    std::vector<std::string>& seen = seen_[table];
    auto name = [&](size_t k) -> const std::string& {
      return things.data()[k].name;
    };
    while (seen.size() > things.size() ||
           (!seen.empty() && seen.back() != name(seen.size() - 1))) {
      DropLast(table);
    }
    for (size_t k = seen.size(); k < things.size(); ++k) {
      seen.push_back(name(k));
      places_.try_emplace(name(k), table, k);
    }
  }

  void DropLast(size_t table) {
    const std::string name = std::move(seen_[table].back());
    seen_[table].pop_back();
    const auto place = places_.find(name);
    if (place->second != std::pair(table, seen_[table].size())) return;
    places_.erase(place);
    next_.erase(name);
    const size_t end = name.rfind('_');
    size_t number = 0;
    if (end == name.npos || !absl::SimpleAtoi(name.substr(end + 1), &number)) {
      return;
    }
    const auto next = next_.find(name.substr(0, end));
    if (next != next_.end()) next->second = std::min(next->second, number);
  }

  std::vector<std::vector<std::string>> seen_;  // of each table
  // The table and the number in it.
  absl::flat_hash_map<std::string, std::pair<size_t, size_t>> places_;
  // Of a base: numbers before it are taken.
  absl::flat_hash_map<std::string, size_t> next_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_UNIQUE_NAME_H_
