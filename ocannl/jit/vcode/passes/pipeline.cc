// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/passes/pipeline.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/jit/vcode/passes/nest_form.h"
#include "ocannl/jit/vcode/passes/passes.h"
#include "ocannl/jit/vcode/select/select.h"
#include "ocannl/jit/vcode/verify.h"

namespace ocannl::jit {
namespace {

constexpr VcodePass kPasses[] = {
    // Operations are the primitives of ops.def; every operand but a constant is
    // a register, and accesses have any stride.
    {"interleave", LowerInterleaved},
    {"transpose", TransposeLoads},
    // From here on no access is split or moved.
    {"fuse_or_and", FuseOrAnds},
    // From here on operations may be those of machines, such as `max`.
    {"pair_extremes", PairExtremes},
    {"fuse_negations", FuseNegations},
    // What was fused may have no use left.
    {"dead_code", EliminateDeadCode},
    {"fold_inserts", FoldInserts},
    // From here on operands may be memory.
    {"fold_loads", FoldLoads},
    {"legalize", Legalize, /*is_optional=*/false},
    // From here on each instruction has an encoding, a function of the emitter
    // or a helper, and all constants are known.
    {"rematerialize_loads", RematerializeLoads},
    // From here on register pressure changes by constants only.
    {"insert_prefetches", InsertPrefetches},
    {"hoist_constants", HoistConstants},
    // From here on instructions may have a mask of lanes, and none is added,
    // dropped or moved, so that two versions have the same registers.
    {"stream_stores", StreamStores},
};

// Error, a bug of ours: it is not valid.
absl::Status VerifyAfter(absl::string_view what, const LoopProgram& program,
                         const Nest& nest) {
  const absl::Status status = Verify(nest);
  if (status.ok()) return status;
  return absl::InternalError(
      absl::StrCat(what, " breaks a rule of VCode in ", program.name,
                   ", which is a bug of ours (--skip leaves passes out): ",
                   status.message()));
}

// The parallel loop that is all that `block` does: threads share its
// iterations, but each would do what is around it or adjacent to it.
const For* FindSharedLoop(const Block& block) {
  const Block* at = &block;
  while (at->stmts.size() == 1) {
    const For* loop = std::get_if<For>(&at->stmts[0]);
    if (loop == nullptr) return nullptr;
    if (loop->extent > 1) {
      return loop->kind == LoopKind::kPar ? loop : nullptr;
    }
    at = &loop->body;
  }
  return nullptr;
}

// For each block whether another one may have its form. Most programs have few
// that do, and the forms of the rest would cost more than is saved.
std::vector<bool> MayRepeat(const LoopProgram& program,
                            absl::Span<const Block> blocks) {
  std::vector<uint64_t> sketches;
  sketches.reserve(blocks.size());
  absl::flat_hash_map<uint64_t, int> uses;
  for (const Block& block : blocks) {
    ++uses[sketches.emplace_back(SketchOf(program, block))];
  }
  std::vector<bool> repeat;
  repeat.reserve(blocks.size());
  for (uint64_t sketch : sketches) repeat.push_back(uses.at(sketch) > 1);
  return repeat;
}

// A nest of its form: its number and what it calls things.
struct Known {
  size_t number;
  NestForm form;
};

}  // namespace

absl::Span<const VcodePass> VcodePasses() { return kPasses; }

absl::StatusOr<std::vector<Nest>> LowerToVcode(
    LoopProgram& program, absl::Span<const Block> blocks, Isa isa,
    const VcodeObserver& observer, absl::Span<const std::string> skip,
    bool has_text) {
  std::vector<Nest> nests;
  nests.reserve(blocks.size());
  const bool has_lines = has_text || observer;
  const std::vector<bool> may_repeat =
      has_lines ? std::vector<bool>(blocks.size()) : MayRepeat(program, blocks);
  absl::flat_hash_map<std::vector<int64_t>, Known> known;
  for (size_t k = 0; k < blocks.size(); ++k) {
    const Block& block = blocks[k];
    if (may_repeat[k]) {
      NestForm form = FormOf(program, block);
      const auto [first, is_new] = known.try_emplace(std::move(form.words));
      if (!is_new) {
        const auto& [number, of_first] = first->second;
        nests[number].form = static_cast<int32_t>(number);
        nests.push_back(Renamed(nests[number], of_first, form));
        continue;
      }
      first->second = {nests.size(), std::move(form)};
    }
    OCANNL_RETURN_IF_ERROR(CheckNotCancelled());
    Nest nest = Select(program, block, isa, has_lines);
    if (const For* shared = FindSharedLoop(block)) {
      CHECK_EQ(nest.loops[0].iterator, shared->iterator);
      nest.loops[0].is_parallel = true;
    }
    auto observe = [&](absl::string_view pass) -> absl::Status {
      if (!observer) return absl::OkStatus();
      OCANNL_RETURN_IF_ERROR(VerifyAfter(pass, program, nest));
      observer(pass, nest);
      return absl::OkStatus();
    };
    OCANNL_RETURN_IF_ERROR(observe("select"));
    for (const VcodePass& pass : kPasses) {
      if (pass.is_optional && absl::c_linear_search(skip, pass.name)) continue;
      pass.run(nest, isa);
      OCANNL_RETURN_IF_ERROR(observe(pass.name));
    }
    if (!observer) OCANNL_RETURN_IF_ERROR(VerifyAfter("a pass", program, nest));
    nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace ocannl::jit
