// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/cost/code_cost.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/jit/assemble.h"
#include "ocannl/jit/instruction_mix.h"
#include "ocannl/jit/memory_plan.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl {
namespace {

struct Counts {
  int64_t instructions = 0, fma = 0, loads = 0, stores = 0, stack = 0;

  void Add(const jit::LoopMix& mix, int64_t times) {
    instructions += times * mix.instructions;
    for (const auto& [mnemonic, count] : mix.by_mnemonic) {
      // vfmadd, vfmsub, vfnmadd
      const bool is_fma = absl::StartsWith(mnemonic, "vfm") ||
                          absl::StartsWith(mnemonic, "vfnm");
      if (is_fma) fma += times * count;
    }
    loads += times * (mix.of_memory - mix.stores);
    stores += times * mix.stores;
    stack += times * mix.of_stack;
  }

  nlohmann::json ToJson() const {
    return {{"instructions", instructions},
            {"fma", fma},
            {"loads", loads},
            {"stores", stores},
            {"stack", stack}};
  }
};

absl::StatusOr<int64_t> TrafficBytes(const LoopProgram& program) {
  int64_t bytes = 0;
  for (const Stmt& outer : program.body.stmts) {
    std::set<BufferId> read, written;
    WalkStmts(Block{.stmts = {outer}}, [&](const Stmt& stmt) {
      WalkReads(program, stmt,
                [&](const Access& access) { read.insert(access.buffer); });
      const BufferId target = WrittenBy(program, stmt);
      if (target.valid()) written.insert(target);
    });
    for (const auto& buffers : {read, written}) {
      for (BufferId id : buffers) {
        const Buffer& buffer = program.buffers[id];
        if (buffer.role == Role::kPrivate) continue;
        OCANNL_ASSIGN_OR_RETURN(int64_t one,
                                ByteSize(buffer.dtype, buffer.dims));
        bytes += one;
      }
    }
  }
  return bytes;
}

}  // namespace

absl::StatusOr<nlohmann::json> CostOf(const LoopProgram& program,
                                      jit::Isa isa) {
  const LoopProgram scheduled = Schedule(program, jit::TargetOf(isa));
  OCANNL_ASSIGN_OR_RETURN(const jit::CodeImage image,
                          jit::Assemble(scheduled, isa));
  OCANNL_ASSIGN_OR_RETURN(jit::MemoryPlan memory,
                          jit::PlanMemory(program, scheduled));
  OCANNL_ASSIGN_OR_RETURN(int64_t traffic, TrafficBytes(scheduled));
  OCANNL_ASSIGN_OR_RETURN(const std::string listing,
                          jit::Listing(scheduled, isa));
  const std::vector<jit::LoopMix> mixes = jit::LoopMixes(listing);
  Counts run;
  for (const jit::LoopMix& mix : mixes) run.Add(mix, mix.runs);
  const auto hot = absl::c_max_element(
      mixes, [](const jit::LoopMix& a, const jit::LoopMix& b) {
        return a.runs * a.instructions < b.runs * b.instructions;
      });
  nlohmann::json hot_loop = nlohmann::json::object();
  if (hot != mixes.end()) {
    Counts iteration;
    iteration.Add(*hot, 1);
    hot_loop = iteration.ToJson();
    hot_loop["at"] = hot->title;
  }
  return nlohmann::json{
      {"nests", absl::c_count_if(scheduled.body.stmts,
                                 [](const Stmt& stmt) {
                                   return std::holds_alternative<For>(stmt);
                                 })},
      {"barriers", absl::c_count_if(image.sections,
                                    [](const jit::CodeImage::Section& section) {
                                      return section.iterations > 0;
                                    })},
      {"code_bytes", image.bytes.size()},
      {"scratch_bytes", memory.bytes},
      {"traffic_bytes", traffic},
      {"run", run.ToJson()},
      {"hot_loop", std::move(hot_loop)}};
}

}  // namespace ocannl
