// SPDX-License-Identifier: Apache-2.0
//
// LowerToVcode: scheduled LoopProgram -> VCode: Select, then the passes over
// each nest. Their order stands here and nowhere else.
#ifndef OCANNL_JIT_VCODE_PASSES_PIPELINE_H_
#define OCANNL_JIT_VCODE_PASSES_PIPELINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// A function of passes.h.
struct VcodePass {
  absl::string_view name;  // also of its stage: explain --stage=fold_loads
  void (*run)(Nest& nest, Isa isa);
  bool is_optional = true;
};

// Every pass behind Select, in the order in which they run.
absl::Span<const VcodePass> VcodePasses();

// Is called with each nest after each pass; the first is called "select".
using VcodeObserver =
    std::function<void(absl::string_view pass, const Nest& nest)>;

// The nests of `blocks`, those of a program that Verify accepts. The parallel
// loop that is all that a nest does is marked as such. The optional passes of
// the names in `skip` are left out. Error, a bug of ours: a nest that comes
// out, or, with an observer, that any pass leaves, is not valid
// (vcode/verify.h). Without an observer, nests have the source lines of their
// statements only if `has_text`: those that are equal but for names
// (nest_form.h) are lowered once.
absl::StatusOr<std::vector<Nest>> LowerToVcode(
    LoopProgram& program, absl::Span<const Block> blocks, Isa isa,
    const VcodeObserver& observer = nullptr,
    absl::Span<const std::string> skip = {}, bool has_text = true);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_PIPELINE_H_
