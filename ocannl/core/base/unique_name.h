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

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace ocannl {

std::string UniqueName(const std::string& base,
                       absl::FunctionRef<bool(const std::string&)> is_taken);

// The same, and from then on `taken`.
std::string UniqueName(const std::string& base,
                       absl::flat_hash_set<std::string>& taken);

// A copy is empty, and learns its own tables.
class NameIndex {
 public:
  NameIndex();
  NameIndex(const NameIndex&);
  NameIndex(NameIndex&&) noexcept;
  NameIndex& operator=(const NameIndex&);
  NameIndex& operator=(NameIndex&&) noexcept;
  ~NameIndex();

  // The tables, vectors of things with names, as they are now: the same ones
  // each time.
  template <class... Tables>
  void Update(const Tables&... tables) {
    size_t table = 0;
    (UpdateOne(
         table++, tables.size(),
         [&](size_t k) -> const std::string& { return tables.data()[k].name; }),
     ...);
  }

  // The number in the table of the first thing of that name.
  std::optional<size_t> Find(size_t table, absl::string_view name) const;

  // `base`, or the first of base_2, base_3, ... that nothing is called.
  std::string Unused(const std::string& base);

 private:
  using NameOf = absl::FunctionRef<const std::string&(size_t)>;
  void UpdateOne(size_t table, size_t size, NameOf name);
  void DropLast(size_t table);

  std::vector<std::vector<std::string>> seen_;  // of each table
  // The table and the number in it.
  absl::flat_hash_map<std::string, std::pair<size_t, size_t>> places_;
  // Of a base: numbers before it are taken.
  absl::flat_hash_map<std::string, size_t> next_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_UNIQUE_NAME_H_
