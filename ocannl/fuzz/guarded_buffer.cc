// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "ocannl/core/base/check.h"

namespace ocannl::fuzz {
namespace {

constexpr int kCanary = 0xa7;
const auto kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

// Writable mappings without a buffer, by size: to make one takes longer than
// small runs.
thread_local std::map<size_t, std::vector<std::byte*>> unused;

}  // namespace

GuardedBuffer::GuardedBuffer(const NdArray& cells, Place place, bool writable)
    : bytes_(cells.bytes()), is_writable_(writable) {
  const size_t inner = (bytes_ + kPage - 1) / kPage * kPage;
  mapped_bytes_ = inner + 2 * kPage;
  std::vector<std::byte*>& mappings = unused[mapped_bytes_];
  if (mappings.empty()) {
    void* mapping = mmap(nullptr, mapped_bytes_, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapping != MAP_FAILED);
    mappings.push_back(static_cast<std::byte*>(mapping));
    CHECK_EQ(mprotect(mappings.back() + kPage, inner, PROT_READ | PROT_WRITE),
             0);
  }
  mapping_ = mappings.back();
  mappings.pop_back();
  std::byte* const start = mapping_ + kPage;
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
      bytes_(other.bytes_),
      is_writable_(other.is_writable_) {}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ != nullptr && is_writable_ && mapped_bytes_ < 64 * kPage) {
    unused[mapped_bytes_].push_back(mapping_);
  } else if (mapping_ != nullptr) {
    munmap(mapping_, mapped_bytes_);
  }
}

size_t GuardedBuffer::BrokenCanaryBytes() const {
  static const std::vector<std::byte> canary(kPage, std::byte{kCanary});
  auto count = [](const std::byte* begin, const std::byte* end) -> size_t {
    const size_t size = end - begin;
    if (std::memcmp(begin, canary.data(), size) == 0) return 0;
    return size - std::count(begin, end, std::byte{kCanary});
  };
  return count(mapping_ + kPage, data_) +
         count(data_ + bytes_, mapping_ + mapped_bytes_ - kPage);
}

}  // namespace ocannl::fuzz
