// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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
  std::memset(start, kCanary, data_ - start);
  std::memcpy(data_, cells.data(), bytes_);
  std::memset(data_ + bytes_, kCanary, start + inner - (data_ + bytes_));
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
  auto count = [](const std::byte* begin, const std::byte* end) {
    return std::count_if(
        begin, end, [](std::byte byte) { return byte != std::byte{kCanary}; });
  };
  return static_cast<size_t>(
      count(mapping_ + page, data_) +
      count(data_ + bytes_, mapping_ + mapped_bytes_ - page));
}

}  // namespace ocannl::fuzz
