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
#include "absl/strings/string_view.h"
#include "ocannl/core/base/id.h"

namespace ocannl {

class NameTable {
 public:
  NameTable();
  NameTable(const NameTable&);
  NameTable(NameTable&&) noexcept;
  NameTable& operator=(const NameTable&);
  NameTable& operator=(NameTable&&) noexcept;
  ~NameTable();

  // The name of a thing that was added; it is the same each time.
  using NameOf = absl::FunctionRef<absl::string_view(int32_t)>;

  // The number of the thing of that name: `number`, which is added, unless one
  // was added before.
  int32_t Add(absl::string_view name, int32_t number, NameOf name_of);

  // The number of the thing of that name, if one was added.
  std::optional<int32_t> Find(absl::string_view name, NameOf name_of) const;

  // Removes the thing of that name, if one was added.
  void Erase(absl::string_view name, NameOf name_of);

  size_t size() const { return slots_.size(); }

 private:
  using Slot = HashedId<int32_t>;
  struct Key {
    uint32_t hash;
    absl::string_view name;
    NameOf name_of;

    bool IsOf(int32_t number) const { return name_of(number) == name; }
  };

  static Key KeyOf(absl::string_view name, NameOf name_of);

  absl::flat_hash_set<Slot, Slot::Hash, Slot::Equal> slots_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_NAME_TABLE_H_
