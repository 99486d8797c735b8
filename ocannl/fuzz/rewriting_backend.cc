// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/rewriting_backend.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/verify.h"

namespace ocannl::fuzz {
namespace {

class RewrittenExecutable : public Executable {
 public:
  RewrittenExecutable(std::unique_ptr<Executable> inner,
                      const LoopProgram& before, const LoopProgram& after)
      : inner_(std::move(inner)), buffers_(after.buffers) {
    for (const Buffer& buffer : after.buffers) {
      auto old = absl::c_find_if(before.buffers, [&](const Buffer& b) {
        return b.name == buffer.name;
      });
      place_.push_back(old == before.buffers.end()
                           ? kScratch
                           : old - before.buffers.begin());
    }
  }

  // Temps of the program before may share memory that those after may not.
  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    std::vector<NdArray> scratch;
    scratch.reserve(buffers_.size());
    std::vector<std::byte*> arguments;
    for (size_t k = 0; k < buffers_.size(); ++k) {
      if (place_[k] == kScratch || buffers[place_[k]] == nullptr) {
        scratch.emplace_back(buffers_[k].dtype, buffers_[k].dims);
        arguments.push_back(scratch.back().data());
      } else {
        arguments.push_back(buffers[place_[k]]);
      }
    }
    inner_->Run(arguments, statics);
  }

 private:
  static constexpr int64_t kScratch = -1;

  std::unique_ptr<Executable> inner_;
  std::vector<Buffer> buffers_;
  std::vector<int64_t> place_;  // of each in the buffers before, or kScratch
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> RewritingBackend::Compile(
    const LoopProgram& program) const {
  LoopProgram rewritten = rewrite_(program);
  CHECK_OK(Verify(rewritten)) << "after " << name_;
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> inner,
                          inner_->Compile(rewritten));
  return std::make_unique<RewrittenExecutable>(std::move(inner), program,
                                               rewritten);
}

}  // namespace ocannl::fuzz
