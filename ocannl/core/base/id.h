// SPDX-License-Identifier: Apache-2.0
//
// Id: a 4-byte index into a pool, typed so that indices cannot be mixed up.
//
//   struct TensorTag;
//   using TensorId = Id<TensorTag>;
#ifndef OCANNL_CORE_BASE_ID_H_
#define OCANNL_CORE_BASE_ID_H_

#include <compare>
#include <cstdint>
#include <utility>

namespace ocannl {

template <class Tag>
struct Id {
  int32_t index = -1;  // -1: no id

  bool valid() const { return index >= 0; }
  friend auto operator<=>(Id, Id) = default;

  template <class H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.index);
  }
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_ID_H_
