// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/assemble.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "asmjit/asmjit.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/jit/debug/debug_info.h"
#include "ocannl/jit/vcode/passes/pipeline.h"

namespace ocannl::jit {
namespace {

// Keeps the first error of AsmJit.
class FirstError : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error, const char* message,
                   asmjit::BaseEmitter*) override {
    status.Update(absl::InternalError(
        absl::StrCat("AsmJit, which is a bug of ours: ", message)));
  }

  absl::Status status;
};

bool IsParallelNest(const Nest& nest) {
  return !nest.loops.empty() && nest.loops[0].is_parallel;
}

// The line of the program's text on which each statement of `nests`, which are
// its own in order, begins.
DebugRows LinesOf(const LoopProgram& program, const std::vector<Block>& nests) {
  std::vector<int64_t> lines;
  auto line = static_cast<int64_t>(2 + program.buffers.size());
  auto visit = [&](const auto& self, const Block& block) -> void {
    for (const Stmt& stmt : block.stmts) {
      if (const auto* comment = std::get_if<Comment>(&stmt)) {
        line += 1 + absl::c_count(comment->text, '\n');
        continue;
      }
      lines.push_back(line++);
      if (const For* loop = std::get_if<For>(&stmt)) {
        self(self, loop->body);
        ++line;  // the brace
      }
    }
  };
  visit(visit, program.body);
  DebugRows rows;
  auto at = lines.begin();
  for (const Block& nest : nests) {
    WalkStmts(nest, [&](const Stmt& stmt) {
      if (std::holds_alternative<Comment>(stmt)) return;
      const For* loop = std::get_if<For>(&stmt);
      if (loop != nullptr) rows.line_of_loop[loop->iterator] = *at;
      rows.line_of[&stmt] = *at++;
    });
  }
  return rows;
}

struct Function {
  asmjit::Label label = {};
  size_t first;  // the number of its first nest
  std::vector<const Nest*> nests;
  int64_t iterations = 0;
};

// Adjacent nests that are not parallel share a function.
std::vector<Function> FunctionsOf(const std::vector<Nest>& nests) {
  std::vector<Function> functions;
  for (size_t k = 0; k < nests.size(); ++k) {
    const Nest& nest = nests[k];
    if (IsParallelNest(nest)) {
      functions.push_back(
          {.first = k, .nests = {&nest}, .iterations = nest.loops[0].extent});
    } else if (functions.empty() || functions.back().iterations > 0) {
      functions.push_back({.first = k, .nests = {&nest}});
    } else {
      functions.back().nests.push_back(&nest);
    }
  }
  return functions;
}

class Assembly {
 public:
  // A `logger` gets the listing, and `debug` what debuggers are told; null:
  // nothing. Error: VCode that is not valid, or one of AsmJit.
  absl::Status Emit(LoopProgram program, Isa isa, asmjit::Logger* logger,
                    DebugInfo* debug, absl::Span<const std::string> skip) {
    // Line numbers are those of `explain --stage=schedule`.
    if (debug != nullptr) NameNests(program);
    const std::vector<Block> blocks = SplitNests(program.body);
    if (debug != nullptr) {
      debug->file_name = absl::StrCat(
          absl::StrReplaceAll(program.name, {{"/", "_"}}), "-schedule.ll");
      debug->text = Print(program);
      debug->rows = LinesOf(program, blocks);
    }
    program.body = {};  // VCode takes memory in its place
    OCANNL_ASSIGN_OR_RETURN(
        nests_,
        LowerToVcode(program, blocks, isa, /*observer=*/nullptr, skip,
                     /*has_text=*/logger != nullptr || debug != nullptr));
    CHECK(code_.init(asmjit::Environment::host()) == asmjit::kErrorOk);
    code_.setErrorHandler(&errors_);
    if (logger != nullptr) code_.setLogger(logger);
    asmjit::x86::Assembler assembler(&code_);
    Emitter emitter(assembler, program, nests_, isa,
                    debug != nullptr ? &debug->rows : nullptr);
    functions_ = FunctionsOf(nests_);
    for (Function& function : functions_) {
      function.label =
          assembler.newNamedLabel(NestName(function.first).c_str());
      assembler.align(asmjit::AlignMode::kCode, 64);
      assembler.bind(function.label);
      emitter.EmitFunction(function.nests);
      if (debug != nullptr) {
        debug->ends.push_back(static_cast<int64_t>(assembler.offset()));
      }
    }
    if (debug != nullptr) {
      for (BufferId buffer : Buffers()) {
        debug->buffers.emplace_back(buffer.index, program.buffers[buffer]);
      }
    }
    const auto stub = static_cast<int64_t>(assembler.offset());
    if (emitter.EmitStub() && debug != nullptr) {
      debug->stub = stub;
      debug->ends.push_back(static_cast<int64_t>(assembler.offset()));
    }
    emitter.EmitPool();
    run_helper_ = emitter.run_helper();
    return errors_.status;
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
      image.sections.push_back({.begin = OffsetOf(function.label),
                                .iterations = function.iterations,
                                .nest = static_cast<int64_t>(function.first)});
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

  FirstError errors_;
  asmjit::CodeHolder code_;
  std::vector<Nest> nests_;
  std::vector<Function> functions_;
  asmjit::Label run_helper_;
};

}  // namespace

absl::StatusOr<CodeImage> Assemble(LoopProgram program, Isa isa,
                                   bool with_debug_info,
                                   absl::Span<const std::string> skip) {
  auto debug = with_debug_info ? std::make_shared<DebugInfo>() : nullptr;
  Assembly assembly;
  OCANNL_RETURN_IF_ERROR(assembly.Emit(std::move(program), isa,
                                       /*logger=*/nullptr, debug.get(), skip));
  CodeImage image = assembly.Image();
  image.debug = std::move(debug);
  return image;
}

absl::StatusOr<std::string> Listing(LoopProgram program, Isa isa,
                                    absl::Span<const std::string> skip) {
  asmjit::StringLogger logger;
  logger.setIndentation(asmjit::FormatIndentationGroup::kCode, 4);
  Assembly assembly;
  OCANNL_RETURN_IF_ERROR(assembly.Emit(std::move(program), isa, &logger,
                                       /*debug=*/nullptr, skip));
  return absl::StrCat(absl::StripSuffix(logger.data(), "\n"), "\n");
}

}  // namespace ocannl::jit
