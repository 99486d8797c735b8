// SPDX-License-Identifier: Apache-2.0
//
// NameTable: finds things by their names. It has 9 bytes for each of its slots,
// where a map from strings copies each name; the caller says which name thing k
// has.
//
//   auto name_of = [&](int32_t k) -> absl::string_view { return all[k].name; };
//   NameTable table;
//   table.Add("x", 0, name_of);     // 0; the number of an earlier x, if any
//   table.Find("x", name_of);       // 0
#ifndef OCANNL_CORE_BASE_NAME_TABLE_H_
#define OCANNL_CORE_BASE_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace ocannl {

class NameTable {
 public:
  // The name of a thing that was added; it is the same each time.
  using NameOf = absl::FunctionRef<absl::string_view(int32_t)>;

  // The number of the thing of that name: `number`, which is added, unless one
  // was added before.
  int32_t Add(absl::string_view name, int32_t number, NameOf name_of) {
    const Key key = KeyOf(name, name_of);
    return slots_
        .lazy_emplace(key,
                      [&](const auto& emplace) {
                        emplace(Slot{key.hash, number});
                      })
        ->number;
  }

  // The number of the thing of that name, if one was added.
  std::optional<int32_t> Find(absl::string_view name, NameOf name_of) const {
    const auto found = slots_.find(KeyOf(name, name_of));
    if (found == slots_.end()) return std::nullopt;
    return found->number;
  }

  // Removes the thing of that name, if one was added.
  void Erase(absl::string_view name, NameOf name_of) {
    const auto found = slots_.find(KeyOf(name, name_of));
    if (found != slots_.end()) slots_.erase(found);
  }

  size_t size() const { return slots_.size(); }

 private:
  // As in InternPool: both know the hash, and growing reads no name.
  struct Slot {
    uint32_t hash;
    int32_t number;
  };
  struct Key {
    uint32_t hash;
    absl::string_view name;
    NameOf name_of;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Slot& slot) const { return slot.hash; }
    size_t operator()(const Key& key) const { return key.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const {
      return a.number == b.number;
    }
    bool operator()(const Slot& slot, const Key& key) const {
      return slot.hash == key.hash && key.name_of(slot.number) == key.name;
    }
  };

  static Key KeyOf(absl::string_view name, NameOf name_of) {
    return {static_cast<uint32_t>(absl::HashOf(name)), name, name_of};
  }

  absl::flat_hash_set<Slot, Hash, Equal> slots_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_NAME_TABLE_H_
