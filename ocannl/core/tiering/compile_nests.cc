// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/compile_nests.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/schedule/refusal.h"

namespace ocannl {
namespace {

// One part of a program after the other, all on the same buffers.
class PartsExecutable : public Executable {
 public:
  PartsExecutable(const IdVector<BufferId, Buffer>& buffers,
                  std::vector<std::unique_ptr<Executable>> parts)
      : buffers_(buffers), parts_(std::move(parts)) {}

  // A part is scheduled as if no two buffers shared memory, so temps that are
  // not live at the same time may not do so here.
  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    std::vector<std::byte*> all(buffers.begin(), buffers.end());
    std::vector<NdArray> scratch;
    scratch.reserve(buffers_.size());
    for (BufferId k : buffers_.ids()) {
      if (!IsScratch(buffers_[k].role)) continue;
      scratch.emplace_back(buffers_[k].dtype, buffers_[k].dims);
      all[k.index] = scratch.back().data();
    }
    for (const auto& part : parts_) part->Run(all, statics);
  }

 private:
  const IdVector<BufferId, Buffer> buffers_;
  const std::vector<std::unique_ptr<Executable>> parts_;
};

class PartsCompiler {
 public:
  PartsCompiler(const LoopProgram& program, NestCompiler compile,
                const Backend& interpreter,
                std::vector<std::string>& interpreted)
      : program_(program),
        frame_(FrameOfNests(program)),
        compile_(compile),
        interpreter_(interpreter),
        interpreted_(interpreted),
        nests_(SplitNests(program.body)) {}

  absl::StatusOr<std::unique_ptr<Executable>> Run() {
    OCANNL_RETURN_IF_ERROR(Compile(0, nests_.size()));
    return std::make_unique<PartsExecutable>(program_.buffers,
                                             std::move(parts_));
  }

 private:
  absl::Status Compile(size_t first, size_t last) {
    if (first == last) return absl::OkStatus();
    const LoopProgram part = PartOf(first, last);
    absl::StatusOr<std::unique_ptr<Executable>> code = compile_(part);
    if (!code.ok() && !absl::IsInternal(code.status())) return code.status();
    if (!code.ok() && last - first > 1) {
      const size_t middle = (first + last) / 2;
      OCANNL_RETURN_IF_ERROR(Compile(first, middle));
      return Compile(middle, last);
    }
    if (!code.ok()) {
      interpreted_.push_back(absl::StrCat(
          "nest of ", WrittenNames(program_, nests_[first].stmts.back()),
          " is interpreted: ", code.status().message()));
      code = interpreter_.Compile(part);
    }
    OCANNL_ASSIGN_OR_RETURN(parts_.emplace_back(), std::move(code));
    return absl::OkStatus();
  }

  LoopProgram PartOf(size_t first, size_t last) const {
    LoopProgram part = frame_;
    for (size_t k = first; k < last; ++k) {
      absl::c_copy(nests_[k].stmts, std::back_inserter(part.body.stmts));
    }
    return part;
  }

  const LoopProgram& program_;
  const LoopProgram frame_;
  const NestCompiler compile_;
  const Backend& interpreter_;
  std::vector<std::string>& interpreted_;
  const std::vector<Block> nests_;
  std::vector<std::unique_ptr<Executable>> parts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileNests(
    const LoopProgram& program, NestCompiler compile,
    const Backend& interpreter, std::vector<std::string>& interpreted) {
  return PartsCompiler(program, compile, interpreter, interpreted).Run();
}

}  // namespace ocannl
