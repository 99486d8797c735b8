// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/kernel_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/codegen/c_expression.h"
#include "ocannl/core/codegen/c_writer.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/gpu/vector_access.h"

namespace ocannl::cuda {
namespace {

// One function, of statements that are all of a program.
class FunctionWriter : public CWriter {
 public:
  // If it `repeats`, the function runs as often as the cell behind the static
  // indices and their steps says.
  FunctionWriter(LoopProgram nest, bool repeats)
      : CWriter(std::move(nest), CDialect::kCuda), repeats_(repeats) {}

  // What stands behind its name.
  std::string Write() {
    const Block& body = program().body;
    const For* loop = std::get_if<For>(&body.stmts[0]);
    is_grid_ = loop != nullptr && loop->kind == LoopKind::kGrid;
    Open(Parameters());
    const size_t statics = program().statics.size();
    if (repeats_) {
      Open("for (i64_t run = 0; run < statics[", 2 * statics, "]; ++run) ");
    }
    for (size_t k = 0; k < statics; ++k) {
      Line("const i64_t s", k, " = statics[", k, "]",
           repeats_ ? absl::StrCat(" + run * statics[", statics + k, "]") : "",
           ";");
    }
    is_grid_ ? WriteGrid(*loop) : WriteBlock(body);
    if (repeats_) {
      if (Conflict(since_barrier_, Common(body))) WriteBarrier();
      Close();
    }
    Close();
    return Take();
  }

  // Blocks, threads and shared memory, and which buffers of the nest are its
  // arguments.
  const Kernel& kernel() const { return kernel_; }

 private:
  std::string Parameters() {
    const Effects effects = EffectsOf(program(), program().body);
    std::vector<std::string> parameters;
    for (BufferId id : program().buffers.ids()) {
      const Buffer& buffer = program().buffers[id];
      // A single thread has them in memory like any other.
      if (IsOfNest(buffer.role) && is_grid_) continue;
      kernel_.buffers.push_back(id);
      const bool is_written = absl::c_linear_search(effects.writes, id);
      if (is_written) kernel_.written.push_back(id);
      parameters.push_back(absl::StrCat(is_written ? "" : "const ",
                                        CType(buffer.dtype), "* b", id.index,
                                        " /* ", buffer.name, " */"));
    }
    if (repeats_ || !program().statics.empty()) {
      parameters.push_back("const i64_t* statics");
    }
    return absl::StrCat("(", absl::StrJoin(parameters, ", "), ") ");
  }

  void WriteGrid(const For& outermost) {
    const gpu::LoopNest grid(outermost);
    gpu::WalkPhases(grid.body(), [&](const For& phase) {
      kernel_.threads = std::max(kernel_.threads, gpu::LoopNest(phase).size);
    });
    kernel_.blocks = grid.size;
    WriteIndices(grid, "blockIdx.x");
    WriteScratch(grid.body());
    WriteBlock(grid.body());
  }

  // The iterators of a nest, of which `index` counts the iterations.
  void WriteIndices(const gpu::LoopNest& nest, absl::string_view index) {
    int64_t inner = nest.size;
    for (const For* loop : nest.loops) {
      inner /= loop->extent;
      std::string text(index);
      if (inner > 1) absl::StrAppend(&text, " / ", inner);
      if (loop != nest.loops.front()) {
        absl::StrAppend(&text, " % ", loop->extent);
      }
      Line("const i64_t ", Name(loop->iterator), " = ", text, ";");
    }
  }

  // Shared memory, and registers that live through phases.
  void WriteScratch(const Block& body) {
    const Effects effects = EffectsOf(program(), body);
    for (BufferId id : absl::btree_set<BufferId>(effects.writes.begin(),
                                                 effects.writes.end())) {
      const Buffer& buffer = program().buffers[id];
      const auto cells = NumElements(buffer.dims);
      if (buffer.role == Role::kShared) {
        if (kernel_.shared_bytes == 0) {
          Line("extern __shared__ __align__(16) u8_t shared[];");
        }
        Line(CType(buffer.dtype), "* const b", id.index, " = (",
             CType(buffer.dtype), "*)(shared + ", kernel_.shared_bytes,
             ");  // ", buffer.name);
        kernel_.shared_bytes += gpu::SharedBytes(buffer);
      } else if (buffer.role == Role::kPrivate) {
        const auto axes = gpu::ThreadAxes(program(), body, id);
        CHECK_OK(axes);
        int64_t own = cells;
        for (size_t k = 0; k < *axes; ++k) own /= buffer.dims[k];
        DropAxes(id, *axes);
        Line(CType(buffer.dtype), " b", id.index, "[", own, "];  // ",
             buffer.name);
      }
    }
  }

  // Private buffers are of one thread, which needs no barrier.
  Effects Common(const Block& body) const {
    Effects effects = EffectsOf(program(), body);
    for (std::vector<BufferId>* buffers : {&effects.reads, &effects.writes}) {
      std::erase_if(*buffers, [&](BufferId id) {
        return program().buffers[id].role == Role::kPrivate;
      });
    }
    return effects;
  }

  void WriteBarrier() {
    Line("__syncthreads();");
    since_barrier_ = {};
  }

  void WritePhase(const For& outermost) {
    const gpu::LoopNest threads(outermost);
    const Effects effects = Common(threads.body());
    if (Conflict(since_barrier_, effects)) WriteBarrier();
    absl::c_copy(effects.reads, std::back_inserter(since_barrier_.reads));
    absl::c_copy(effects.writes, std::back_inserter(since_barrier_.writes));
    if (threads.size < kernel_.threads) {
      Open("if (threadIdx.x < ", threads.size, ") ");
    } else {
      Open();
    }
    WriteIndices(threads, "threadIdx.x");
    WriteBlock(threads.body());
    Close();
  }

  void WriteUnrolled(const For& loop) {
    bool is_around = false;
    WalkLoops(loop.body, [&](const For&) { is_around = true; });
    if (loop.kind == LoopKind::kUnroll || loop.kind == LoopKind::kVec) {
      Line("#pragma unroll");
    } else if (is_around) {
      // ptxas took 170 s for a kernel in which NVRTC had unrolled such loops.
      Line("#pragma unroll 1");
    }
    CWriter::WriteFor(loop);
  }

  // Lanes with variables for what is read and written at once.
  void WriteVec(const For& loop) {
    const auto vectors = gpu::FindVectorAccesses(program(), loop);
    if (!vectors) return WriteUnrolled(loop);
    Open();
    std::vector<std::string> stores;
    auto declare = [&](const Access& access, bool is_read, bool is_written) {
      const std::string name = absl::StrCat("p", num_vectors_++);
      const std::string type = CType(program().buffers[access.buffer].dtype);
      const std::string vector =
          absl::StrCat("vec_t<", type, ", ", loop.extent, ">");
      const std::string first = CellText(FirstOf(access, loop));
      Line(vector, " ", name,
           is_read ? absl::StrCat(" = *(const ", vector, "*)&", first) : "",
           ";");
      if (is_written) {
        stores.push_back(
            absl::StrCat("*(", vector, "*)&", first, " = ", name, ";"));
      }
      SetText(access, absl::StrCat(name, ".c[", Name(loop.iterator), "]"));
    };
    for (const Access& access : vectors->reads) {
      declare(access, true, absl::c_linear_search(vectors->writes, access));
    }
    for (const Access& access : vectors->writes) {
      if (!absl::c_linear_search(vectors->reads, access)) {
        declare(access, false, true);
      }
    }
    WriteUnrolled(loop);
    ForgetTexts();
    for (const std::string& store : stores) Line(store);
    Close();
  }

  // The access of the loop's first iteration.
  static Access FirstOf(const Access& access, const For& loop) {
    return std::get<Access>(
        SubstituteIndices(access, [&](Symbol symbol) -> Affine {
          return symbol == Iterator(loop.iterator) ? Affine(0) : symbol;
        }));
  }

  void WriteFor(const For& loop) override {
    if (loop.kind == LoopKind::kThread) return WritePhase(loop);
    bool has_phases = false;
    gpu::WalkPhases(loop.body, [&](const For&) { has_phases = true; });
    if (!has_phases) {
      return loop.kind == LoopKind::kVec ? WriteVec(loop) : WriteUnrolled(loop);
    }
    // Before the loop, and at its end for the first phases that come again:
    // not in front of the first one in each iteration.
    const Effects effects = loop.extent > 1 ? Common(loop.body) : Effects();
    if (Conflict(since_barrier_, effects)) WriteBarrier();
    OpenFor(loop);
    WriteBlock(loop.body);
    if (Conflict(since_barrier_, effects)) WriteBarrier();
    Close();
  }

  const bool repeats_;
  Kernel kernel_{};
  bool is_grid_ = false;
  int num_vectors_ = 0;
  Effects since_barrier_;
};

// The text without the comments that FunctionWriter writes.
std::string WithoutComments(absl::string_view text) {
  std::string result;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = line.substr(0, line.find("//"));
    for (size_t begin = 0; (begin = line.find("/*")) != line.npos;) {
      absl::StrAppend(&result, line.substr(0, begin));
      line.remove_prefix(line.find("*/", begin) + 2);
    }
    absl::StrAppend(&result, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return result;
}

class KernelWriter {
 public:
  KernelWriter(const LoopProgram& program, bool repeats)
      : program_(program), repeats_(repeats) {
    for (char c : program.name) prefix_ += absl::ascii_isalnum(c) ? c : '_';
  }

  KernelText Run() {
    const std::vector<Stmt>& stmts = program_.body.stmts;
    CHECK(absl::c_none_of(stmts, [](const Stmt& stmt) {
      return std::holds_alternative<DeclareLocal>(stmt);
    })) << "a local of several kernels";
    Block serial;
    for (const Stmt& stmt : stmts) {
      const For* loop = std::get_if<For>(&stmt);
      if (loop != nullptr && loop->kind == LoopKind::kGrid) {
        AddKernel(std::exchange(serial, {}));
        AddKernel({{stmt}});
      } else {
        serial.stmts.push_back(stmt);
      }
    }
    AddKernel(serial);
    AddAdvance();
    return std::move(text_);
  }

 private:
  void AddKernel(const Block& body) {
    if (EffectsOf(program_, body).writes.empty()) return;
    Outlined nest = Outline(program_, body);
    FunctionWriter writer(std::move(nest.program), repeats_);
    const std::string text = writer.Write();
    Kernel& kernel = text_.kernels.emplace_back(writer.kernel());
    kernel.function = FunctionOf(kernel, text);
    for (BufferId& id : kernel.buffers) id = nest.buffers[id];
    for (BufferId& id : kernel.written) id = nest.buffers[id];
    absl::c_sort(kernel.written);
  }

  // The one of that text. All that the driver is told of it once is in the key.
  size_t FunctionOf(const Kernel& kernel, const std::string& text) {
    const std::string bounds =
        absl::StrCat("__launch_bounds__(", kernel.threads, ") ");
    const auto [found, is_new] = functions_.try_emplace(
        absl::StrCat(bounds, kernel.shared_bytes, WithoutComments(text)),
        text_.functions.size());
    if (is_new) AddFunction(bounds, absl::StrCat(found->second), text);
    return found->second;
  }

  void AddFunction(absl::string_view bounds, absl::string_view suffix,
                   absl::string_view text) {
    const std::string name = absl::StrCat(prefix_, "_", suffix);
    text_.functions.push_back(
        {.name = name,
         .text = absl::StrCat("extern \"C\" __global__ void ", bounds, name,
                              text)});
  }

  void AddAdvance() {
    const size_t statics = program_.statics.size();
    if (statics == 0 || repeats_) return;
    text_.advance = text_.functions.size();
    AddFunction(
        "__launch_bounds__(1) ", "advance",
        absl::StrCat("(i64_t* statics) {\n  for (int k = 0; k < ", statics,
                     "; ++k) {\n    statics[k] += statics[k + ", statics,
                     "];\n  }\n}\n"));
  }

  const LoopProgram& program_;
  const bool repeats_;
  std::string prefix_;  // of all names
  KernelText text_;
  absl::flat_hash_map<std::string, size_t> functions_;  // by what they do
};

}  // namespace

KernelText WriteKernels(const LoopProgram& program) {
  return KernelWriter(program, /*repeats=*/false).Run();
}

KernelText WritePersistentKernel(const LoopProgram& program) {
  CHECK_EQ(program.body.stmts.size(), size_t{1});
  return KernelWriter(program, /*repeats=*/true).Run();
}

std::string SourceOf(absl::Span<const KernelFunction> functions) {
  std::string text;
  for (const KernelFunction& function : functions) {
    absl::StrAppend(&text, function.text);
  }
  return WithPrelude(CDialect::kCuda, text);
}

std::string PrintCalls(const LoopProgram& program, const KernelText& text) {
  std::string calls;
  for (const Kernel& kernel : text.kernels) {
    std::vector<std::string> arguments;
    for (BufferId id : kernel.buffers) {
      arguments.push_back(program.buffers[id].name);
    }
    if (!program.statics.empty()) arguments.push_back("statics");
    absl::StrAppend(&calls, "// ", text.functions[kernel.function].name, "<<<",
                    kernel.blocks, ", ", kernel.threads, ", ",
                    kernel.shared_bytes, ">>>(", absl::StrJoin(arguments, ", "),
                    ")\n");
  }
  if (text.advance) {
    absl::StrAppend(&calls, "// ", text.functions[*text.advance].name,
                    "<<<1, 1, 0>>>(statics)\n");
  }
  return calls;
}

}  // namespace ocannl::cuda
