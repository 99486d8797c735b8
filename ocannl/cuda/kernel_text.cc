// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/kernel_text.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/codegen/c_expression.h"
#include "ocannl/core/codegen/c_writer.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::cuda {
namespace {

using BufferSet = absl::btree_set<BufferId>;

// What statements touch.
struct Effects {
  BufferSet reads;
  BufferSet writes;

  void Add(const LoopProgram& program, const Stmt& stmt) {
    WalkReads(program, stmt,
              [&](const Access& access) { reads.insert(access.buffer); });
    const BufferId written = WrittenBy(program, stmt);
    if (written.valid()) writes.insert(written);
  }
  void Add(const Effects& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
};

Effects EffectsOf(const LoopProgram& program, const Block& block) {
  Effects effects;
  WalkStmts(block, [&](const Stmt& stmt) { effects.Add(program, stmt); });
  return effects;
}

bool Meet(const BufferSet& a, const BufferSet& b) {
  return absl::c_any_of(a, [&](BufferId id) { return b.contains(id); });
}

// Whether one writes what the other touches.
bool Conflict(const Effects& a, const Effects& b) {
  return Meet(a.writes, b.writes) || Meet(a.writes, b.reads) ||
         Meet(a.reads, b.writes);
}

bool IsThread(const Stmt& stmt) {
  const For* loop = std::get_if<For>(&stmt);
  return loop != nullptr && loop->kind == LoopKind::kThread;
}

// Loops of one kind, each the only statement of the one before, and the body of
// the last.
struct Nest {
  Nest(const For& outermost) {  // NOLINT: a loop is a nest
    for (const For* loop = &outermost; loop != nullptr;) {
      loops.push_back(loop);
      size *= loop->extent;
      const std::vector<Stmt>& inner = loop->body.stmts;
      const For* next =
          inner.size() == 1 ? std::get_if<For>(&inner.front()) : nullptr;
      loop = next != nullptr && next->kind == loop->kind ? next : nullptr;
    }
  }
  const Block& body() const { return loops.back()->body; }

  std::vector<const For*> loops;
  int64_t size = 1;  // iterations of all
};

// The outermost `thread` loops inside of a block.
void WalkPhases(const Block& block, absl::FunctionRef<void(const For&)> visit) {
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) continue;
    if (IsThread(stmt)) {
      visit(*loop);
    } else {
      WalkPhases(loop->body, visit);
    }
  }
}

class KernelWriter : public CWriter {
 public:
  explicit KernelWriter(LoopProgram program)
      : CWriter(std::move(program), CDialect::kCuda) {}

  KernelText Run() {
    const std::vector<Stmt>& stmts = program().body.stmts;
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
    return {WithPrelude(CDialect::kCuda, Take()), std::move(kernels_)};
  }

 private:
  bool IsInKernel(BufferId id) const {
    return program().buffers[id].role == Role::kPrivate ||
           program().buffers[id].role == Role::kShared;
  }

  // Opens the kernel with these buffers as arguments.
  Kernel& OpenKernel(const Block& body, int64_t blocks, int64_t threads) {
    Kernel& kernel = kernels_.emplace_back();
    kernel.blocks = blocks;
    kernel.threads = threads;
    for (char c : program().name) {
      kernel.name += absl::ascii_isalnum(c) ? c : '_';
    }
    absl::StrAppend(&kernel.name, "_", kernels_.size() - 1);
    const Effects effects = EffectsOf(program(), body);
    BufferSet all = effects.reads;
    all.insert(effects.writes.begin(), effects.writes.end());
    std::vector<std::string> parameters;
    for (BufferId id : all) {
      // A single thread has them in memory like any other.
      if (IsInKernel(id) && threads_ > 0) continue;
      kernel.buffers.push_back(id);
      const Buffer& buffer = program().buffers[id];
      parameters.push_back(absl::StrCat(
          effects.writes.contains(id) ? "" : "const ", CType(buffer.dtype),
          "* b", id.index, " /* ", buffer.name, " */"));
    }
    for (size_t k = 0; k < program().statics.size(); ++k) {
      parameters.push_back(absl::StrCat("i64_t s", k));
    }
    Open("extern \"C\" __global__ void __launch_bounds__(", threads, ") ",
         kernel.name, "(", absl::StrJoin(parameters, ", "), ") ");
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
    const Nest grid(outermost);
    threads_ = 1;
    WalkPhases(grid.body(), [&](const For& phase) {
      threads_ = std::max(threads_, Nest(phase).size);
    });
    Kernel& kernel = OpenKernel(grid.body(), grid.size, threads_);
    WriteIndices(grid, "blockIdx.x");
    since_barrier_ = {};
    WriteScratch(grid.body(), kernel);
    WriteBlock(grid.body());
    Close();
  }

  // The iterators of a nest, of which `index` counts the iterations.
  void WriteIndices(const Nest& nest, absl::string_view index) {
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
    for (BufferId id : effects.writes) {
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
        const size_t axes = ThreadAxes(body, id);
        int64_t own = cells;
        for (size_t k = 0; k < axes; ++k) own /= buffer.dims[k];
        DropAxes(id, axes);
        Line(CType(buffer.dtype), " b", id.index, "[", own, "];  // ",
             buffer.name);
      }
    }
  }

  // How many of the first indices of `buffer` are the iterators of the threads,
  // in every phase: none or all.
  size_t ThreadAxes(const Block& body, BufferId buffer) const {
    size_t axes = 0;
    bool is_first = true;
    WalkPhases(body, [&](const For& phase) {
      const Nest threads(phase);
      auto visit = [&](const Access& access) {
        if (access.buffer != buffer) return;
        size_t leading = 0;
        while (leading <
                   std::min(threads.loops.size(), access.indices.size()) &&
               access.indices[leading] ==
                   Affine(Iterator(threads.loops[leading]->iterator))) {
          ++leading;
        }
        if (leading < threads.loops.size()) leading = 0;
        CHECK(is_first || axes == leading) << "in " << program().name;
        axes = leading;
        is_first = false;
      };
      WalkStmts(threads.body(), [&](const Stmt& stmt) {
        WalkReads(program(), stmt, visit);
        if (const Set* set = std::get_if<Set>(&stmt)) visit(set->target);
      });
    });
    return axes;
  }

  // Private buffers are of one thread, which needs no barrier.
  Effects Common(const Block& body) const {
    Effects effects = EffectsOf(program(), body);
    for (BufferSet* set : {&effects.reads, &effects.writes}) {
      absl::erase_if(*set, [&](BufferId id) {
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
    const Nest threads(outermost);
    const Effects effects = Common(threads.body());
    if (Conflict(since_barrier_, effects)) WriteBarrier();
    since_barrier_.Add(effects);
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
    WalkPhases(loop.body, [&](const For&) { has_phases = true; });
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
