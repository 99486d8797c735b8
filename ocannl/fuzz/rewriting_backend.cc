// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/rewriting_backend.h"

#include <vector>

#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::fuzz {
namespace {

class RewrittenExecutable : public Executable {
 public:
  RewrittenExecutable(std::unique_ptr<Executable> inner,
                      const LoopProgram& before, const LoopProgram& after)
      : inner_(std::move(inner)), buffers_(after.buffers) {
    for (const Buffer& buffer : after.buffers) {
      place_.push_back({});
      for (BufferId old : before.buffers.ids()) {
        const auto& [name, dtype, role, dims] = before.buffers[old];
        const bool has_grown = NumElements(dims) < NumElements(buffer.dims);
        if (name == buffer.name && !has_grown) place_.back() = old;
      }
    }
  }

  // Temps of the program before may share memory that those after may not.
  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    std::vector<NdArray> scratch;
    scratch.reserve(buffers_.size());
    std::vector<std::byte*> arguments;
    for (BufferId k : buffers_.ids()) {
      const BufferId old = place_[k];
      if (!old.valid() || buffers[old.index] == nullptr) {
        scratch.emplace_back(buffers_[k].dtype, buffers_[k].dims);
        arguments.push_back(scratch.back().data());
      } else {
        arguments.push_back(buffers[old.index]);
      }
    }
    inner_->Run(arguments, statics);
  }

 private:
  std::unique_ptr<Executable> inner_;
  IdVector<BufferId, Buffer> buffers_;
  IdVector<BufferId, BufferId> place_;  // in the buffers before; none: scratch
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> RewritingBackend::Compile(
    const LoopProgram& program) const {
  LoopProgram rewritten = rewrite_(program);
  CHECK_OK(VerifyPromises(rewritten)) << "after " << name_;
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> inner,
                          inner_->Compile(rewritten));
  return std::make_unique<RewrittenExecutable>(std::move(inner), program,
                                               rewritten);
}

}  // namespace ocannl::fuzz
