// SPDX-License-Identifier: Apache-2.0
//
// GuardedBuffer: the cells of an array between pages that nobody may touch.
//
//   kStart   | no access | cells, canary | no access |
//   kEnd     | no access | canary, cells | no access |
//
// A step over the guarded end stops the process at the faulting instruction;
// one over the other end breaks the canary. kStart is aligned as the runtime
// aligns its buffers; kEnd only as the element type is, so a backend must not
// assume more than that of any buffer.
#ifndef OCANNL_FUZZ_GUARDED_BUFFER_H_
#define OCANNL_FUZZ_GUARDED_BUFFER_H_

#include <cstddef>
#include <cstdint>

#include "ocannl/core/base/ndarray.h"

namespace ocannl::fuzz {

class GuardedBuffer {
 public:
  enum class Place : uint8_t { kStart, kEnd };

  // A copy of the cells; `writable` false makes writes fault too.
  GuardedBuffer(const NdArray& cells, Place place, bool writable);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer();

  std::byte* data() const { return data_; }

  // How many bytes of the canary have changed.
  size_t BrokenCanaryBytes() const;

 private:
  std::byte* mapping_;
  size_t mapped_bytes_;
  std::byte* data_;
  size_t bytes_;
  bool is_writable_;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_GUARDED_BUFFER_H_
