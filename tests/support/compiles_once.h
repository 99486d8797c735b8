// SPDX-License-Identifier: Apache-2.0
//
// CompilesOnce: a backend for runs of one program, which its tier compiles for
// the first of them.
#ifndef TESTS_SUPPORT_COMPILES_ONCE_H_
#define TESTS_SUPPORT_COMPILES_ONCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {

// Not thread-safe.
class CompilesOnce : public Backend {
 public:
  explicit CompilesOnce(const Backend* tier) : tier_(tier) {}

  absl::string_view name() const override { return tier_->name(); }
  const MemorySpace& memory() const override { return tier_->memory(); }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    if (code_ == nullptr) {
      OCANNL_ASSIGN_OR_RETURN(code_, tier_->Compile(program));
    }
    return std::make_unique<Shared>(code_);
  }

 private:
  using Code = std::shared_ptr<const Executable>;

  struct Shared : Executable {
    explicit Shared(Code shared) : code(std::move(shared)) {}
    bool HasScratch() const override { return code->HasScratch(); }
    void Run(absl::Span<std::byte* const> buffers,
             absl::Span<const int64_t> statics) const override {
      code->Run(buffers, statics);
    }
    Code code;
  };

  const Backend* tier_;
  mutable Code code_;
};

}  // namespace ocannl

#endif  // TESTS_SUPPORT_COMPILES_ONCE_H_
