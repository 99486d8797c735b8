// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/generate.h"

#include <utility>
#include <variant>

#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/fuzz/programs/free_form.h"
#include "ocannl/fuzz/programs/layers.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/fuzz/programs/split.h"
#include "ocannl/fuzz/programs/structured.h"

namespace ocannl::fuzz {

Policies PoliciesOf(uint64_t seed) {
  Random random(~seed);
  return DrawPolicies(random);
}

LoopProgram Generate(uint64_t seed, const Policies& policies) {
  Random random(seed);
  const bool layers = policies.Has(Policy::kLayers);
  LoopProgram program = layers ? Layers(random, policies)
                        : policies.Has(Policy::kStructured)
                            ? Structured(random, policies)
                            : FreeForm(random, policies);
  if (policies.Has(Policy::kSplitLoops) && !layers) {
    program = SplitLoops(std::move(program), random, policies);
  }
  KeepPromises(program);
  CHECK_OK(VerifyPromises(program)) << "seed " << seed << "\n"
                                    << Print(program);
  return program;
}

void KeepPromises(LoopProgram& program) {
  RewriteStmts(program.body, [&](Stmt& stmt) {
    For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && !CheckKind(program, *loop, loop->kind).ok()) {
      loop->kind = LoopKind::kFor;
    }
  });
}

}  // namespace ocannl::fuzz
