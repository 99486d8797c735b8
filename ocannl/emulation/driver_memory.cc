// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstring>
#include <vector>

#include "ocannl/emulation/emulated_gpus.h"
#include "ocannl/emulation/emulated_kernels.h"

namespace ocannl::emulation {
namespace {

using cuda::DevicePointer;

void SetCopies(cuda::DriverFunctions& driver) {
  driver.MemsetD8Async =
      MayFail([](Gpus& gpus, DevicePointer to, unsigned char value,
                 size_t bytes, cuda::StreamHandle stream) {
        gpus.Give(stream, [=] { std::memset(HostAddress(to), value, bytes); });
      });
  driver.MemsetD32Async =
      MayFail([](Gpus& gpus, DevicePointer to, unsigned value, size_t words,
                 cuda::StreamHandle stream) {
        gpus.Give(stream, [=] {
          for (size_t k = 0; k < words; ++k) {
            std::memcpy(HostAddress(to) + 4 * k, &value, sizeof(value));
          }
        });
      });
  driver.MemcpyHtoDAsync =
      MayFail([](Gpus& gpus, DevicePointer to, const void* from, size_t bytes,
                 cuda::StreamHandle stream) {
        // Memory that is not page-locked is copied before the call returns.
        const auto* first = static_cast<const char*>(from);
        gpus.Give(stream, [to, copy = std::vector<char>(first, first + bytes)] {
          std::memcpy(HostAddress(to), copy.data(), copy.size());
        });
      });
  driver.MemcpyDtoHAsync = MayFail([](Gpus& gpus, void* to, DevicePointer from,
                                      size_t bytes, cuda::StreamHandle stream) {
    gpus.Give(stream, [=] { std::memcpy(to, HostAddress(from), bytes); });
    // To memory that is not page-locked, it is done when the call returns.
    gpus.streams.RunUntil(gpus.StreamOf(stream).last);
  });
  driver.MemcpyDtoDAsync =
      MayFail([](Gpus& gpus, DevicePointer to, DevicePointer from, size_t bytes,
                 cuda::StreamHandle stream) {
        gpus.Give(stream, [=] {
          std::memcpy(HostAddress(to), HostAddress(from), bytes);
        });
      });
}

}  // namespace

void SetMemory(cuda::DriverFunctions& driver) {
  driver.MemAlloc =
      MayFail([](Gpus& gpus, DevicePointer* address, size_t bytes) {
        const GuardedMemory mapping(bytes);
        char* const memory = mapping.Map();
        if (memory == nullptr) return cuda::kOutOfMemory;
        std::memset(memory, 0xff, mapping.bytes);
        gpus.memory.emplace(memory, mapping);
        *address = reinterpret_cast<DevicePointer>(memory) ^ kDeviceBit;
        return cuda::kSuccess;
      });
  driver.MemFree = Releases([](Gpus& gpus, DevicePointer address) {
    auto found = gpus.memory.find(HostAddress(address));
    if (found == gpus.memory.end()) return kInvalidValue;
    gpus.streams.RunAll(*gpus.context);
    found->second.Unmap(found->first);
    gpus.memory.erase(found);
    return cuda::kSuccess;
  });
  SetCopies(driver);
}

}  // namespace ocannl::emulation
