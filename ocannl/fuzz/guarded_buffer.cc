// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "ocannl/core/base/check.h"

namespace ocannl::fuzz {
namespace {

constexpr int kCanary = 0xa7;

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

GuardedBuffer::GuardedBuffer(const NdArray& cells, Place place, bool writable)
    : bytes_(cells.bytes()) {
  const size_t page = PageBytes();
  const size_t inner = (bytes_ + page - 1) / page * page;
  mapped_bytes_ = inner + 2 * page;
  void* mapping = mmap(nullptr, mapped_bytes_, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(mapping != MAP_FAILED);
  mapping_ = static_cast<std::byte*>(mapping);
  std::byte* const start = mapping_ + page;
  CHECK_EQ(mprotect(start, inner, PROT_READ | PROT_WRITE), 0);
  data_ = place == Place::kStart ? start : start + (inner - bytes_);
  std::memset(start, kCanary, inner);
  std::memcpy(data_, cells.data(), bytes_);
  if (!writable) CHECK_EQ(mprotect(start, inner, PROT_READ), 0);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      data_(other.data_),
      bytes_(other.bytes_) {}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

size_t GuardedBuffer::BrokenCanaryBytes() const {
  const size_t page = PageBytes();
  size_t broken = 0;
  for (std::byte* at = mapping_ + page; at < mapping_ + mapped_bytes_ - page;
       ++at) {
    bool cell = data_ <= at && at < data_ + bytes_;
    if (!cell && *at != std::byte{kCanary}) ++broken;
  }
  return broken;
}

}  // namespace ocannl::fuzz
