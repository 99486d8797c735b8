// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/assemble.h"

#include <deque>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/jit/vcode/select.h"

namespace ocannl::jit {
namespace {

// What AsmJit refuses is our fault.
class FatalErrors : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error, const char* message,
                   asmjit::BaseEmitter*) override {
    CHECK(false) << "AsmJit: " << message;
  }
};

// Each statement on its own, but those in which a local lives together.
std::vector<Block> NestsOf(const Block& body) {
  std::vector<Block> nests;
  bool has_local = false;
  for (const Stmt& stmt : body.stmts) {
    if (std::holds_alternative<Comment>(stmt)) continue;
    if (!has_local) nests.emplace_back();
    nests.back().stmts.push_back(stmt);
    has_local = has_local || std::holds_alternative<DeclareLocal>(stmt);
  }
  return nests;
}

bool IsParallelNest(const Nest& nest) {
  return !nest.loops.empty() && nest.loops[0].is_parallel;
}

struct Part {
  asmjit::Label label = {};
  std::vector<const Nest*> nests;
  int64_t iterations = 0;
};

// Nests side by side that are not parallel share a function.
std::vector<Part> PartsOf(const std::deque<Nest>& nests) {
  std::vector<Part> parts;
  for (const Nest& nest : nests) {
    if (IsParallelNest(nest)) {
      parts.push_back({.nests = {&nest}, .iterations = nest.loops[0].extent});
    } else if (parts.empty() || parts.back().iterations > 0) {
      parts.push_back({.nests = {&nest}});
    } else {
      parts.back().nests.push_back(&nest);
    }
  }
  return parts;
}

}  // namespace

absl::StatusOr<MachineCode> Assemble(LoopProgram program, Isa isa,
                                     bool with_listing) {
  std::deque<Nest> nests;
  for (const Block& block : NestsOf(program.body)) {
    nests.push_back(Select(program, block, isa));
  }
  FatalErrors errors;
  asmjit::StringLogger logger;
  asmjit::CodeHolder code;
  CHECK(code.init(asmjit::Environment::host()) == asmjit::kErrorOk);
  code.setErrorHandler(&errors);
  if (with_listing) code.setLogger(&logger);
  asmjit::x86::Assembler assembler(&code);
  Emitter emitter(assembler, isa);
  std::vector<Part> parts = PartsOf(nests);
  for (Part& part : parts) {
    part.label = assembler.newLabel();
    assembler.align(asmjit::AlignMode::kCode, 64);
    assembler.bind(part.label);
    emitter.EmitFunction(part.nests);
  }
  emitter.EmitPool();
  OCANNL_ASSIGN_OR_RETURN(CodeMemory memory, CodeMemory::Place(code));
  MachineCode result{
      .memory = std::move(memory), .sections = {}, .listing = {}};
  for (const Part& part : parts) {
    const std::byte* entry =
        result.memory.data() + code.labelOffsetFromBase(part.label);
    result.sections.push_back({.function = reinterpret_cast<NestFunction>(
                                   reinterpret_cast<uintptr_t>(entry)),
                               .iterations = part.iterations});
  }
  if (with_listing) result.listing = logger.data();
  return result;
}

}  // namespace ocannl::jit
