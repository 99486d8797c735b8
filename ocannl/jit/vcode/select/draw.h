// SPDX-License-Identifier: Apache-2.0
//
// DrawSelector: random words (random.h). A block has the words of four cells,
// or of two, which take two each. Where the lanes of a `vec` loop are cells in
// the order of memory, its registers have a window of as many blocks as a
// register has lanes: each lane computes a block, and shuffles transpose the
// words.
//
//   vec i1 = 0 to 63 { w[i1] := threefry_crypto(k, ..., i1 >> 2, i1 & 3); }
//     ->  w0, w1, w2, w3 = the words of blocks 0 to 15        16 lanes
//         w+0, w+64, w+128, w+192 = their columns             8 shuffles
#ifndef OCANNL_JIT_VCODE_SELECT_DRAW_H_
#define OCANNL_JIT_VCODE_SELECT_DRAW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/select/nest_builder.h"
#include "ocannl/jit/vcode/select/unroll.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

class DrawSelector {
 public:
  // All must outlive it.
  DrawSelector(const LoopProgram& program, const Unroller& unroller,
               NestBuilder& builder)
      : program_(program), unroller_(unroller), builder_(builder) {}

  // What `draw` gives where the walk is; `args` are the values of its operands.
  Value Word(const Apply& draw, absl::Span<const Value> args);

  // The local, which is never set again, has the value of `value`.
  void Declare(LocalId local, ExprId value) { declared_[local] = value; }

  // A basic block ends.
  void Clear() { known_.clear(); }

 private:
  using Words = std::array<Value, 4>;

  // The cell whose word is drawn: of block index >> shift, the word
  // index & 3 with a shift of 2, 2 * (index & 1) + first with one of 1.
  struct Cell {
    Affine index;
    int shift;
    int first;
  };

  // How the words of the blocks that lanes have are arranged.
  enum class Layout : uint8_t {
    kBlocks,  // a block a lane
    kTwos,    // two words a cell, two cells a block
    kFours,   // a word a cell
    kAcross,  // the same, but the first cell is inside of a block
  };

  // A window begins with the block, or if kAcross with the cell, `first`; the
  // lanes of the walk are in its register `number`.
  struct Window {
    Affine first;
    int number;
    Layout layout;
  };

  std::optional<Cell> CellOf(const Apply& draw) const;
  std::optional<Window> WindowOf(const Cell& cell) const;
  // That of a loop whose lanes begin with the cell `first`, a word a cell.
  std::optional<Window> AcrossBlocks(Affine first) const;
  bool IsUniform(ExprId id) const;

  // The node that `id` stands for: that of the value of a local.
  const ExprNode& NodeOf(ExprId id) const;
  const Apply* ApplyOf(ExprId id, Op op) const;
  // Whether the node is the constant `bits`.
  bool Is(ExprId id, uint64_t bits) const;
  const Affine* IndexOf(ExprId id) const;

  // Those of the registers of a window, or with kBlocks of the blocks `block`.
  Words WordsOf(Op draw, absl::Span<const Value> key, Value block,
                Layout layout, Value first_cell = {});
  Words BlocksOf(Op draw, absl::Span<const Value> key, Value block);
  // Cells from `first_cell`, of which each lane has the block, and the next
  // one.
  Words FirstFour(const Words& block, const Words& next, Value first_cell);
  Words Transposed(const Words& words, Layout layout);
  // The blocks of the lanes in a window, in the order that Transposed wants.
  Value BlocksInWindow(Layout layout);

  Value Compute(Op op, Value a, Value b);
  Value Number(uint32_t number);
  // Whether `op` of a and the number.
  Value Compare(Op op, Value a, uint32_t number);
  Value Choose(Value condition, Value a, Value b);

  const LoopProgram& program_;
  const Unroller& unroller_;
  NestBuilder& builder_;
  absl::flat_hash_map<LocalId, ExprId> declared_;
  // By generator, key and block, and layout; of the basic block at hand.
  absl::flat_hash_map<std::tuple<Op, std::array<Value, 5>, Layout>, Words>
      known_;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_DRAW_H_
