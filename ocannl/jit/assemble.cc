// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/assemble.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "asmjit/asmjit.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/base/check.h"
#include "ocannl/jit/vcode/select.h"

namespace ocannl::jit {
namespace {

// An error of AsmJit is a bug of ours.
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

// The parallel loop that is all that `block` does: threads share its
// iterations, but each would do what is around it or adjacent to it.
const For* FindSharedLoop(const LoopProgram& program, const Block& block) {
  const Block* at = &block;
  while (at->stmts.size() == 1) {
    const For* loop = std::get_if<For>(&at->stmts[0]);
    if (loop == nullptr) return nullptr;
    if (loop->extent > 1) {
      return loop->kind == LoopKind::kPar && IsParallel(program, *loop)
                 ? loop
                 : nullptr;
    }
    at = &loop->body;
  }
  return nullptr;
}

bool IsParallelNest(const Nest& nest) {
  return !nest.loops.empty() && nest.loops[0].is_parallel;
}

struct Function {
  asmjit::Label label = {};
  std::vector<const Nest*> nests;
  int64_t iterations = 0;
};

// Adjacent nests that are not parallel share a function.
std::vector<Function> FunctionsOf(const std::deque<Nest>& nests) {
  std::vector<Function> functions;
  for (const Nest& nest : nests) {
    if (IsParallelNest(nest)) {
      functions.push_back(
          {.nests = {&nest}, .iterations = nest.loops[0].extent});
    } else if (functions.empty() || functions.back().iterations > 0) {
      functions.push_back({.nests = {&nest}});
    } else {
      functions.back().nests.push_back(&nest);
    }
  }
  return functions;
}

class Assembly {
 public:
  // A `logger` gets the listing; null: no listing.
  Assembly(LoopProgram program, Isa isa, asmjit::Logger* logger) {
    for (const Block& block : NestsOf(program.body)) {
      nests_.push_back(Select(program, block, isa));
      if (const For* shared = FindSharedLoop(program, block)) {
        Loop& outermost = nests_.back().loops[0];
        CHECK_EQ(outermost.iterator, shared->iterator);
        outermost.is_parallel = true;
      }
    }
    CHECK(code_.init(asmjit::Environment::host()) == asmjit::kErrorOk);
    code_.setErrorHandler(&errors_);
    if (logger != nullptr) code_.setLogger(logger);
    asmjit::x86::Assembler assembler(&code_);
    Emitter emitter(assembler, program, isa);
    functions_ = FunctionsOf(nests_);
    for (size_t k = 0; k < functions_.size(); ++k) {
      Function& function = functions_[k];
      function.label =
          assembler.newNamedLabel(absl::StrCat("nest-", k).c_str());
      assembler.align(asmjit::AlignMode::kCode, 64);
      assembler.bind(function.label);
      emitter.EmitFunction(function.nests);
    }
    emitter.EmitPool();
    run_helper_ = emitter.run_helper();
  }

  CodeImage Image() {
    CHECK(code_.flatten() == asmjit::kErrorOk);
    CHECK(code_.resolveUnresolvedLinks() == asmjit::kErrorOk);
    // The code is position-independent.
    CHECK(code_.relocEntries().empty());
    CodeImage image{.bytes = std::string(code_.codeSize(), '\0'),
                    .buffers = Buffers()};
    CHECK(code_.copyFlattenedData(image.bytes.data(), image.bytes.size()) ==
          asmjit::kErrorOk);
    for (const Function& function : functions_) {
      image.sections.push_back({OffsetOf(function.label), function.iterations});
    }
    if (code_.isLabelBound(run_helper_)) {
      image.run_helper = OffsetOf(run_helper_);
    }
    return image;
  }

 private:
  int64_t OffsetOf(const asmjit::Label& label) const {
    return static_cast<int64_t>(code_.labelOffsetFromBase(label));
  }

  // Those that the functions find through pointers.
  std::vector<BufferId> Buffers() const {
    std::vector<BufferId> buffers;
    for (const Nest& nest : nests_) {
      for (const Pointer& pointer : nest.pointers) {
        if (pointer.base.valid()) buffers.push_back(pointer.base);
      }
    }
    absl::c_sort(buffers);
    buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
    return buffers;
  }

  FatalErrors errors_;
  asmjit::CodeHolder code_;
  std::deque<Nest> nests_;
  std::vector<Function> functions_;
  asmjit::Label run_helper_;
};

}  // namespace

CodeImage Assemble(LoopProgram program, Isa isa) {
  return Assembly(std::move(program), isa, /*logger=*/nullptr).Image();
}

std::string Listing(LoopProgram program, Isa isa) {
  asmjit::StringLogger logger;
  logger.setIndentation(asmjit::FormatIndentationGroup::kCode, 4);
  Assembly assembly(std::move(program), isa, &logger);
  return absl::StrCat(absl::StripSuffix(logger.data(), "\n"), "\n");
}

}  // namespace ocannl::jit
