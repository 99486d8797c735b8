// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/kernel_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/codegen/c_expression.h"
#include "ocannl/core/codegen/c_writer.h"
#include "ocannl/core/schedule/gpu/phases.h"

namespace ocannl::cuda {
namespace {

void Add(const Effects& more, Effects& effects) {
  absl::c_copy(more.reads, std::back_inserter(effects.reads));
  absl::c_copy(more.writes, std::back_inserter(effects.writes));
}

Effects EffectsOf(const LoopProgram& program, const Block& block) {
  Effects effects;
  for (const Stmt& stmt : block.stmts) Add(EffectsOf(program, stmt), effects);
  return effects;
}

class KernelWriter : public CWriter {
 public:
  explicit KernelWriter(LoopProgram program)
      : CWriter(std::move(program), CDialect::kCuda) {}

  KernelText Run() {
    const std::vector<Stmt>& stmts = program().body.stmts;
    CHECK(absl::c_none_of(stmts, [](const Stmt& stmt) {
      return std::holds_alternative<DeclareLocal>(stmt);
    })) << "a local of several kernels";
    Block serial;
    for (const Stmt& stmt : stmts) {
      const For* loop = std::get_if<For>(&stmt);
      if (loop != nullptr && loop->kind == LoopKind::kGrid) {
        WriteSerial(std::exchange(serial, {}));
        WriteGrid(*loop);
      } else {
        serial.stmts.push_back(stmt);
      }
    }
    WriteSerial(serial);
    std::string advance = WriteAdvance();
    return {WithPrelude(CDialect::kCuda, Take()), std::move(kernels_),
            std::move(advance)};
  }

 private:
  std::string NameOfKernel(absl::string_view suffix) const {
    std::string name;
    for (char c : program().name) name += absl::ascii_isalnum(c) ? c : '_';
    return absl::StrCat(name, "_", suffix);
  }

  std::string WriteAdvance() {
    const size_t statics = program().statics.size();
    if (statics == 0) return "";
    std::string name = NameOfKernel("advance");
    Open("extern \"C\" __global__ void __launch_bounds__(1) ", name,
         "(i64_t* statics) ");
    Open("for (int k = 0; k < ", statics, "; ++k) ");
    Line("statics[k] += statics[k + ", statics, "];");
    Close();
    Close();
    return name;
  }

  // Opens the kernel with these buffers as arguments.
  Kernel& OpenKernel(const Block& body, int64_t blocks, int64_t threads) {
    Kernel& kernel = kernels_.emplace_back();
    kernel.blocks = blocks;
    kernel.threads = threads;
    kernel.name = NameOfKernel(absl::StrCat(kernels_.size() - 1));
    const Effects effects = EffectsOf(program(), body);
    absl::btree_set<BufferId> all(effects.reads.begin(), effects.reads.end());
    all.insert(effects.writes.begin(), effects.writes.end());
    std::vector<std::string> parameters;
    for (BufferId id : all) {
      // A single thread has them in memory like any other.
      if (IsOfNest(program().buffers[id].role) && threads_ > 0) continue;
      kernel.buffers.push_back(id);
      const bool is_written = absl::c_linear_search(effects.writes, id);
      if (is_written) kernel.written.push_back(id);
      const Buffer& buffer = program().buffers[id];
      parameters.push_back(absl::StrCat(is_written ? "" : "const ",
                                        CType(buffer.dtype), "* b", id.index,
                                        " /* ", buffer.name, " */"));
    }
    const size_t statics = program().statics.size();
    if (statics > 0) parameters.push_back("const i64_t* statics");
    Open("extern \"C\" __global__ void __launch_bounds__(", threads, ") ",
         kernel.name, "(", absl::StrJoin(parameters, ", "), ") ");
    for (size_t k = 0; k < statics; ++k) {
      Line("const i64_t s", k, " = statics[", k, "];");
    }
    return kernel;
  }

  void WriteSerial(const Block& block) {
    const Effects effects = EffectsOf(program(), block);
    if (effects.writes.empty()) return;
    threads_ = 0;
    OpenKernel(block, 1, 1);
    WriteBlock(block);
    Close();
  }

  void WriteGrid(const For& outermost) {
    const gpu::LoopNest grid(outermost);
    threads_ = 1;
    gpu::WalkPhases(grid.body(), [&](const For& phase) {
      threads_ = std::max(threads_, gpu::LoopNest(phase).size);
    });
    Kernel& kernel = OpenKernel(grid.body(), grid.size, threads_);
    WriteIndices(grid, "blockIdx.x");
    since_barrier_ = {};
    WriteScratch(grid.body(), kernel);
    WriteBlock(grid.body());
    Close();
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
  void WriteScratch(const Block& body, Kernel& kernel) {
    const Effects effects = EffectsOf(program(), body);
    for (BufferId id : absl::btree_set<BufferId>(effects.writes.begin(),
                                                 effects.writes.end())) {
      const Buffer& buffer = program().buffers[id];
      const auto cells = NumElements(buffer.dims);
      if (buffer.role == Role::kShared) {
        if (kernel.shared_bytes == 0) {
          Line("extern __shared__ __align__(16) u8_t shared[];");
        }
        Line(CType(buffer.dtype), "* const b", id.index, " = (",
             CType(buffer.dtype), "*)(shared + ", kernel.shared_bytes,
             ");  // ", buffer.name);
        const auto bytes = cells * static_cast<int64_t>(SizeOf(buffer.dtype));
        kernel.shared_bytes += (bytes + 15) / 16 * 16;
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
    Add(effects, since_barrier_);
    if (threads.size < threads_) {
      Open("if (threadIdx.x < ", threads.size, ") ");
    } else {
      Open();
    }
    WriteIndices(threads, "threadIdx.x");
    WriteBlock(threads.body());
    Close();
  }

  void WriteFor(const For& loop) override {
    if (loop.kind == LoopKind::kThread) return WritePhase(loop);
    bool has_phases = false;
    gpu::WalkPhases(loop.body, [&](const For&) { has_phases = true; });
    if (!has_phases) {
      if (loop.kind == LoopKind::kUnroll || loop.kind == LoopKind::kVec) {
        Line("#pragma unroll");
      }
      return CWriter::WriteFor(loop);
    }
    // Before the loop, and at its end for the first phases that come again:
    // not in front of the first one in each iteration.
    const Effects effects = Common(loop.body);
    if (Conflict(since_barrier_, effects)) WriteBarrier();
    OpenFor(loop);
    WriteBlock(loop.body);
    if (Conflict(since_barrier_, effects)) WriteBarrier();
    Close();
  }

  std::vector<Kernel> kernels_;
  int64_t threads_ = 0;  // of a block; 0: outside of `grid`
  Effects since_barrier_;
};

}  // namespace

KernelText WriteKernels(LoopProgram program) {
  return KernelWriter(std::move(program)).Run();
}

}  // namespace ocannl::cuda
