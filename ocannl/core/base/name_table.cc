// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/name_table.h"

#include "absl/hash/hash.h"

namespace ocannl {

NameTable::NameTable() = default;
NameTable::NameTable(const NameTable&) = default;
NameTable::NameTable(NameTable&&) noexcept = default;
NameTable& NameTable::operator=(const NameTable&) = default;
NameTable& NameTable::operator=(NameTable&&) noexcept = default;
NameTable::~NameTable() = default;

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
