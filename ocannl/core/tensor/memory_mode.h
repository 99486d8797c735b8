// SPDX-License-Identifier: Apache-2.0
//
// Where the values of an array live, as those ask who have a say in it.
//
//   a parameter asks for on_device; a user for never_virtual: it is on_device
//   a parameter asks for on_device; a user for virtual: an error, naming both
#ifndef OCANNL_CORE_TENSOR_MEMORY_MODE_H_
#define OCANNL_CORE_TENSOR_MEMORY_MODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/source_location.h"

namespace ocannl {

// The name of what the merge buffer of a stream holds is that of the array of
// another context that was copied there, and this: "w.grad.merge".
inline constexpr absl::string_view kMergeSuffix = ".merge";
// Likewise of a gradient: "w.grad".
inline constexpr absl::string_view kGradientSuffix = ".grad";

enum class MemoryMode : uint8_t {
  kEffectivelyConstant,  // computed from constants, which are inlined
  kVirtual,              // no array: inlined at each use
  kNeverVirtual,         // an array of whatever kind
  kLocal,                // scratch of the routine
  kDeviceOnly,           // kLocal or kOnDevice
  kOnDevice,             // keeps its value after a run; the host can read it
  kMaterialized,         // asks for kOnDevice
};

// "effectively_constant", "virtual", "never_virtual", "local", ...
absl::string_view Name(MemoryMode mode);

// Error: no mode has that name.
absl::StatusOr<MemoryMode> FindMemoryMode(absl::string_view name);

struct MemoryRequest {
  MemoryMode mode;
  std::string why;  // who asks: "a parameter", "SetMemoryMode at f.cc:12"

  friend bool operator==(const MemoryRequest&, const MemoryRequest&) = default;
};

// A request or none. Copies share it: of many arrays it is one of a few.
//
//   AskedMemory memory = MemoryRequest{MemoryMode::kOnDevice, "a parameter"};
//   if (memory && memory->mode == MemoryMode::kVirtual) memory = std::nullopt;
class AskedMemory {
 public:
  AskedMemory() = default;
  AskedMemory(std::nullopt_t) {}      // NOLINT
  AskedMemory(MemoryRequest request)  // NOLINT
      : request_(std::make_shared<const MemoryRequest>(std::move(request))) {}
  AskedMemory(MemoryMode mode, std::string why)
      : AskedMemory(MemoryRequest{mode, std::move(why)}) {}

  explicit operator bool() const { return request_ != nullptr; }
  const MemoryRequest& operator*() const { return *request_; }
  const MemoryRequest* operator->() const { return request_.get(); }

  friend bool operator==(const AskedMemory& a, const AskedMemory& b) {
    return a.request_ == b.request_ || (a && b && *a == *b);
  }

 private:
  std::shared_ptr<const MemoryRequest> request_;
};

// That of a call of `function` at `where`.
MemoryRequest AskedBy(absl::string_view function, SourceLocation where,
                      MemoryMode mode);

// What is asked for when `request` follows all that `current` stands for.
// FailedPrecondition, with both and who asks for them: no mode is both.
absl::StatusOr<MemoryRequest> Update(const AskedMemory& current,
                                     const MemoryRequest& request);

// Updates `current`, which is about the array `name`.
absl::Status UpdateOf(absl::string_view name, const MemoryRequest& request,
                      AskedMemory& current);

// Whether an array keeps its value after a run.
bool IsKept(const AskedMemory& memory);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_MEMORY_MODE_H_
