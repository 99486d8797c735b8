// SPDX-License-Identifier: Apache-2.0
//
// RewritingBackend: a backend that compiles what a pass makes of the program.
// It turns `the pass keeps every bit` into `two tiers agree`.
//
//   RewritingBackend("optimize", OptimizeAll, &interp)
#ifndef OCANNL_FUZZ_REWRITING_BACKEND_H_
#define OCANNL_FUZZ_REWRITING_BACKEND_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl::fuzz {

using Rewrite = std::function<LoopProgram(LoopProgram)>;

class RewritingBackend : public Backend {
 public:
  // `inner` must outlive this.
  RewritingBackend(std::string name, Rewrite rewrite, const Backend* inner)
      : name_(std::move(name)), rewrite_(std::move(rewrite)), inner_(inner) {}

  absl::string_view name() const override { return name_; }

  // The rewrite may drop, add and reorder buffers. What it makes must be valid
  // (CHECK). Errors: those of the inner backend.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

 private:
  std::string name_;
  Rewrite rewrite_;
  const Backend* inner_;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_REWRITING_BACKEND_H_
