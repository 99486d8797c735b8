// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/call_order.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"

namespace ocannl::cuda {
namespace {

// Memory that a kernel touches.
struct Piece {
  BufferId buffer;  // a caller's; else none, and these bytes of the arena
  int64_t begin = 0;
  int64_t end = 1;
  bool is_written;

  bool Conflicts(const Piece& other) const {
    return (is_written || other.is_written) && buffer == other.buffer &&
           begin < other.end && other.begin < end;
  }
};

std::vector<Piece> PiecesOf(const LoopProgram& program, const Kernel& kernel,
                            const BufferPlan& plan) {
  std::vector<Piece> pieces;
  for (BufferId id : kernel.buffers) {
    Piece piece{.buffer = id,
                .is_written = absl::c_binary_search(kernel.written, id)};
    const Buffer& buffer = program.buffers[id];
    if (IsScratch(buffer.role)) {
      piece.buffer = {};
      piece.begin = plan.offsets[id];
      piece.end = piece.begin + NumElements(buffer.dims) *
                                    static_cast<int64_t>(SizeOf(buffer.dtype));
    }
    pieces.push_back(piece);
  }
  return pieces;
}

bool Conflict(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  return absl::c_any_of(a, [&](const Piece& one) {
    return absl::c_any_of(
        b, [&](const Piece& other) { return one.Conflicts(other); });
  });
}

}  // namespace

std::vector<std::vector<size_t>> CallOrder(const LoopProgram& program,
                                           absl::Span<const Kernel> kernels,
                                           const BufferPlan& plan) {
  std::vector<std::vector<Piece>> pieces;
  for (const Kernel& kernel : kernels) {
    pieces.push_back(PiecesOf(program, kernel, plan));
  }
  std::vector<std::vector<size_t>> after(kernels.size());
  // Of each kernel, all that are done when it starts.
  std::vector<std::vector<bool>> before(
      kernels.size(), std::vector<bool>(kernels.size(), false));
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (size_t other = k; other-- > 0;) {
      if (before[k][other] || !Conflict(pieces[k], pieces[other])) continue;
      after[k].push_back(other);
      before[k][other] = true;
      for (size_t j = 0; j < other; ++j) {
        if (before[other][j]) before[k][j] = true;
      }
    }
  }
  return after;
}

}  // namespace ocannl::cuda
