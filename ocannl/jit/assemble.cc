// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/assemble.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "asmjit/asmjit.h"
#include "ocannl/core/base/check.h"
#include "ocannl/jit/vcode/passes/pipeline.h"

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

bool IsParallelNest(const Nest& nest) {
  return !nest.loops.empty() && nest.loops[0].is_parallel;
}

struct Function {
  asmjit::Label label = {};
  std::vector<const Nest*> nests;
  int64_t iterations = 0;
};

// Adjacent nests that are not parallel share a function.
std::vector<Function> FunctionsOf(const std::vector<Nest>& nests) {
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
  Assembly(LoopProgram program, Isa isa, asmjit::Logger* logger)
      : nests_(LowerToVcode(program, isa, [](auto...) {})) {
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
  std::vector<Nest> nests_;
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
