// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/names.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ocannl {

std::string UniqueName(const std::string& base,
                       absl::FunctionRef<bool(const std::string&)> is_taken) {
  std::string name = base;
  for (int k = 2; is_taken(name); ++k) name = absl::StrCat(base, "_", k);
  return name;
}

std::string UniqueName(const std::string& base,
                       absl::flat_hash_set<std::string>& taken) {
  return UniqueName(base, [&](const std::string& candidate) {
    return !taken.insert(candidate).second;
  });
}

std::optional<size_t> NameIndex::Find(size_t table,
                                      absl::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end() || found->second.first != table) {
    return std::nullopt;
  }
  return found->second.second;
}

std::string NameIndex::Unused(const std::string& base) {
  size_t& next = next_.try_emplace(base, 1).first->second;
  std::string name = next == 1 ? base : absl::StrCat(base, "_", next);
  while (places_.contains(name)) name = absl::StrCat(base, "_", ++next);
  return name;
}

void NameIndex::UpdateOne(size_t table, size_t size,
                          absl::FunctionRef<const std::string&(size_t)> name) {
  if (table == seen_.size()) seen_.emplace_back();
  std::vector<std::string>& seen = seen_[table];
  while (seen.size() > size ||
         (!seen.empty() && seen.back() != name(seen.size() - 1))) {
    DropLast(table);
  }
  for (size_t k = seen.size(); k < size; ++k) {
    seen.push_back(name(k));
    places_.try_emplace(name(k), table, k);
  }
}

void NameIndex::DropLast(size_t table) {
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

NameTable::Key NameTable::KeyOf(absl::string_view name, NameOf name_of) {
  return {static_cast<uint32_t>(absl::HashOf(name)), name, name_of};
}

int32_t NameTable::Add(absl::string_view name, int32_t number, NameOf name_of) {
  const Key key = KeyOf(name, name_of);
  return slots_
      .lazy_emplace(key,
                    [&](const auto& emplace) {
                      emplace(Slot{key.hash, number});
                    })
      ->id;
}

std::optional<int32_t> NameTable::Find(absl::string_view name,
                                       NameOf name_of) const {
  const auto found = slots_.find(KeyOf(name, name_of));
  if (found == slots_.end()) return std::nullopt;
  return found->id;
}

void NameTable::Erase(absl::string_view name, NameOf name_of) {
  const auto found = slots_.find(KeyOf(name, name_of));
  if (found != slots_.end()) slots_.erase(found);
}

}  // namespace ocannl
