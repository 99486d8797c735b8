// SPDX-License-Identifier: Apache-2.0
//
// Finding things by their names, and names that nothing else has.
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
//
// NameTable: finds things by their names. It has 9 bytes for each of its slots,
// where a map from strings copies each name. The caller says which name thing k
// has.
//
//   auto name_of = [&](int32_t k) -> absl::string_view { return all[k].name; };
//   NameTable table;
//   table.Add("x", 0, name_of);     // 0; the number of an earlier x, if any
//   table.Find("x", name_of);       // 0
#ifndef OCANNL_CORE_BASE_NAMES_H_
#define OCANNL_CORE_BASE_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/containers/id.h"

namespace ocannl {

std::string UniqueName(const std::string& base,
                       absl::FunctionRef<bool(const std::string&)> is_taken);

// The same, and from then on `taken`.
std::string UniqueName(const std::string& base,
                       absl::flat_hash_set<std::string>& taken);

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
    size_t table = 0;
    auto name_in = [](const auto& things) {
      return [&things](size_t k) -> const std::string& {
        return things.data()[k].name;
      };
    };
    (UpdateOne(table++, tables.size(), name_in(tables)), ...);
  }

  // The number in the table of the first thing of that name.
  std::optional<size_t> Find(size_t table, absl::string_view name) const;

  // `base`, or the first of base_2, base_3, ... that nothing is called.
  std::string Unused(const std::string& base);

 private:
  void UpdateOne(size_t table, size_t size,
                 absl::FunctionRef<const std::string&(size_t)> name);
  void DropLast(size_t table);

  std::vector<std::vector<std::string>> seen_;  // of each table
  // The table and the number in it.
  absl::flat_hash_map<std::string, std::pair<size_t, size_t>> places_;
  // Of a base: numbers before it are taken.
  absl::flat_hash_map<std::string, size_t> next_;
};

class NameTable {
 public:
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

#endif  // OCANNL_CORE_BASE_NAMES_H_
