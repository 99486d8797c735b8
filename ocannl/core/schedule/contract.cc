// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/contract.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"

namespace ocannl {
namespace {

// Iterations of k whose rows of A are packed together: they fill cache lines
// (`bazel run //experiments:bench -- --filter=gemm`, with A transposed).
constexpr int64_t kCopiedSteps = 4;

using Replaced = std::vector<std::pair<Access, Access>>;

// Adjacent panels of n.
struct Panels {
  Affine first;
  int64_t count;
  int64_t size;
  Affine number = 0;               // of the first one in `packed`
  const Access* packed = nullptr;  // where B has been packed before
};

// Iterations of the outermost reduced loop.
struct KBlock {
  Affine first;
  int64_t count;
};

struct Tile {
  Affine m;
  int64_t rows;
  Affine first_layer;
  int64_t layers;
  Affine first_column;
  int64_t columns;
  KBlock k_block;
  Replaced packed;
  BufferId acc = {};  // the buffer of the accumulators
};

// An element of a tile, from the tile's first on each loop.
struct Cell {
  Affine m, q, n;
};

class ContractWriter {
 public:
  ContractWriter(NestWriter& writer, const PerfectNest& nest,
                 const ContractPlan& plan, const Epilogue& epilogue)
      : writer_(writer), nest_(nest), plan_(plan), epilogue_(epilogue) {}

  void Write(Block& block) {
    // B is packed once for all outer loops where it depends on none of them.
    const bool packs_once =
        plan_.packed_b && !plan_.outer.empty() && !plan_.has_k_blocks() &&
        absl::c_all_of(plan_.outer, [&](const NestLoop& loop) {
          return StrideOf(writer_.program(), *plan_.packed_b, loop.iterator) ==
                 0;
        });
    for (const TileRange& columns : plan_.n_tiles) {
      if (!packs_once) break;
      const Panels all{.first = Affine(columns.first),
                       .count = columns.count,
                       .size = columns.size};
      packed_.push_back(WritePack(block, {}, all, All(), Role::kTemp));
    }
    WriteOuter(block, 0, {});
  }

 private:
  // Only the outermost loop can be parallel.
  LoopKind OuterKind(bool is_outermost) const {
    return is_outermost && plan_.is_parallel ? LoopKind::kPar : LoopKind::kFor;
  }

  void WriteOuter(Block& block, size_t depth, const IteratorMap& places) {
    if (depth == 1 && plan_.k_blocks_outside_tiles && !k_block_) {
      return ForEachKBlock(
          block, [&](Block& body) { WriteOuter(body, depth, places); });
    }
    if (depth == plan_.outer.size()) return WriteColumns(block, places);
    const NestLoop& loop = plan_.outer[depth];
    writer_.Loop(block, OuterKind(depth == 0), loop.extent,
                 [&](Block& body, const Affine& at) {
                   IteratorMap inner = places;
                   inner[loop.iterator] = at;
                   WriteOuter(body, depth + 1, inner);
                 });
  }

  void WriteColumns(Block& block, const IteratorMap& places) {
    const bool outermost = plan_.outer.empty();
    const Role role = outermost ? Role::kTemp : Role::kPrivate;
    std::vector<Access> packed_rows;
    if (plan_.packed_a) packed_rows = WriteRowPacks(block, places, role);
    for (size_t k = 0; k < plan_.n_tiles.size(); ++k) {
      const TileRange& columns = plan_.n_tiles[k];
      const int64_t group = std::min(plan_.panels_per_block, columns.count);
      // Where there is one block of panels, the tiles of m are parallel.
      const bool across = columns.count > group;
      writer_.Loop(block, OuterKind(outermost && across), columns.count / group,
                   [&](Block& body, const Affine& at) {
                     Panels some = {columns.size * group * at, group,
                                    columns.size, group * at};
                     some.first += Affine(columns.first);
                     if (!packed_.empty()) some.packed = &packed_[k];
                     ForEachKBlock(body, [&](Block& inner) {
                       WriteKBlock(
                           inner, places, some, packed_rows,
                           outermost && !across && !plan_.has_k_blocks());
                     });
                   });
    }
  }

  // Loops over the blocks of k around what `write` appends, unless it is in
  // them.
  void ForEachKBlock(Block& block, absl::FunctionRef<void(Block& body)> write) {
    if (k_block_) return write(block);
    for (const TileRange& k_blocks : plan_.k_blocks) {
      writer_.Loop(block, LoopKind::kFor, k_blocks.count,
                   [&](Block& body, const Affine& at) {
                     k_block_ = {k_blocks.size * at + Affine(k_blocks.first),
                                 k_blocks.size};
                     write(body);
                     k_block_.reset();
                   });
    }
  }

  // All tiles of m for some panels, which stay in L2.
  void WriteKBlock(Block& block, const IteratorMap& places,
                   const Panels& columns,
                   const std::vector<Access>& packed_rows, bool is_outermost) {
    Replaced packed;
    Affine number = 0;
    if (columns.packed != nullptr) {
      packed.push_back({*plan_.packed_b, *columns.packed});
      number = columns.number;
    } else if (plan_.packed_b) {
      const Role role = is_outermost ? Role::kTemp : Role::kPrivate;
      packed.push_back({*plan_.packed_b,
                        WritePack(block, places, columns, *k_block_, role)});
    }
    for (size_t k = 0; k < plan_.m_tiles.size(); ++k) {
      const TileRange& rows = plan_.m_tiles[k];
      auto write = [&](Block& body, const Affine& down, const Affine& across) {
        Tile tile{.m = rows.size * down + Affine(rows.first),
                  .rows = rows.size,
                  .first_layer = 0,
                  .layers = 1,
                  .first_column = columns.first + columns.size * across,
                  .columns = columns.size,
                  .k_block = *k_block_,
                  .packed = packed};
        if (plan_.packed_b) tile.packed[0].second.indices[0] = number + across;
        if (plan_.packed_a) {
          tile.packed.push_back({*plan_.packed_a, packed_rows[k]});
          tile.packed.back().second.indices[0] = down;
        }
        WriteLayers(body, places, tile);
      };
      // Unpacked B is streamed from memory once: panels outside, m inside.
      const bool streams_b = plan_.has_k_blocks() && !plan_.packed_b;
      writer_.Loop(block, OuterKind(is_outermost),
                   streams_b ? columns.count : rows.count,
                   [&](Block& body, const Affine& at) {
                     writer_.Loop(body, LoopKind::kFor,
                                  streams_b ? rows.count : columns.count,
                                  [&](Block& inner, const Affine& then) {
                                    streams_b ? write(inner, then, at)
                                              : write(inner, at, then);
                                  });
                   });
    }
  }

  // `tile` for all tiles of q.
  void WriteLayers(Block& block, const IteratorMap& places, Tile tile) {
    for (const TileRange& layers : plan_.q_tiles) {
      writer_.Loop(block, LoopKind::kFor, layers.count,
                   [&](Block& body, const Affine& at) {
                     tile.first_layer = layers.size * at + Affine(layers.first);
                     tile.layers = layers.size;
                     WriteTile(body, places, tile);
                   });
    }
  }

  // A packed copy of `operand`: [tile, k..., `loop` within the tile]. Returns
  // its access with the nest's own iterators; the first index is to be set.
  Access NewPack(const char* name, const Access& operand, int64_t tiles,
                 const KBlock& k_block, const NestLoop& loop, int64_t size,
                 Role role) {
    Dims dims = {tiles};
    Access packed{.buffer = {}, .indices = {Affine(0)}};
    for (const NestLoop& reduced : nest_.reduced) {
      dims.push_back(reduced.extent);
      packed.indices.push_back(Iterator(reduced.iterator));
    }
    dims[1] = k_block.count;
    packed.indices[1] += -1 * k_block.first;
    dims.push_back(size);
    packed.indices.push_back(Iterator(loop.iterator));
    packed.buffer = writer_.NewBuffer(
        name, writer_.program().buffers[operand.buffer].dtype, dims, role);
    return packed;
  }

  // Copies `size` elements of `operand` along `loop`, from `first` on.
  void WriteCopy(Block& block, const Access& operand, Access packed,
                 const Affine& tile, const IteratorMap& places,
                 const NestLoop& loop, const Affine& first, int64_t size) {
    packed.indices[0] = tile;
    writer_.Loop(block, LoopKind::kVec, size,
                 [&](Block& lanes, const Affine& at) {
                   IteratorMap from = places;
                   IteratorMap to = places;
                   from[loop.iterator] = first + at;
                   to[loop.iterator] = at;
                   Access read = writer_.Remapped(operand, from);
                   NestWriter::Assign(lanes, writer_.Remapped(packed, to),
                                      writer_.program().Read(read).id());
                 });
  }

  // Packs A, a buffer for each range of tiles of m.
  std::vector<Access> WriteRowPacks(Block& block, const IteratorMap& places,
                                    Role role) {
    const Access& operand = *plan_.packed_a;
    std::vector<Access> packed;
    for (const TileRange& rows : plan_.m_tiles) {
      packed.push_back(NewPack("packed_rows", operand, rows.count, All(),
                               *plan_.m, rows.size, role));
    }
    // Consecutive m are closer in memory than consecutive k.
    writer_.StripMineNest(
        block, OuterKind(role == Role::kTemp), RangesOf(All()), kCopiedSteps,
        places,
        [&](Block& strip, const IteratorMap& at, const LoopRange& steps) {
          for (size_t k = 0; k < packed.size(); ++k) {
            const TileRange& rows = plan_.m_tiles[k];
            auto copy = [&](Block& tile, const Affine& number) {
              writer_.Unrolled(
                  tile, steps, at, [&](Block& body, const IteratorMap& step) {
                    WriteCopy(body, operand, packed[k], number, step, *plan_.m,
                              rows.size * number + Affine(rows.first),
                              rows.size);
                  });
            };
            writer_.Loop(strip, LoopKind::kFor, rows.count, copy);
          }
        });
    return packed;
  }

  // Packs B.
  Access WritePack(Block& block, const IteratorMap& places,
                   const Panels& columns, const KBlock& k_block, Role role) {
    const Access& operand = *plan_.packed_b;
    const Access packed = NewPack("packed", operand, columns.count, k_block,
                                  plan_.n, columns.size, role);
    const int64_t unroll = plan_.b_needs_transpose ? kColumnsAtOnce : 1;
    writer_.Loop(block, LoopKind::kFor, columns.count,
                 [&](Block& panel, const Affine& number) {
                   writer_.Unrolled(
                       panel, RangesOfCopy(k_block, operand), unroll, places,
                       [&](Block& body, const IteratorMap& at) {
                         WriteCopy(body, operand, packed, number, at, plan_.n,
                                   columns.first + columns.size * number,
                                   columns.size);
                       });
                 });
    return packed;
  }

  KBlock All() const { return {.first = 0, .count = nest_.reduced[0].extent}; }

  // The reduced loops, in order.
  std::vector<LoopRange> RangesOf(const KBlock& k_block) const {
    std::vector<LoopRange> ranges;
    for (const NestLoop& loop : nest_.reduced) {
      ranges.push_back({loop.iterator, 0, loop.extent});
    }
    ranges[0].first = k_block.first;
    ranges[0].count = k_block.count;
    return ranges;
  }

  // In the order in which a copy of `operand` runs: a loop of unit stride is
  // the innermost.
  std::vector<LoopRange> RangesOfCopy(const KBlock& k_block,
                                      const Access& operand) const {
    std::vector<LoopRange> ranges = RangesOf(k_block);
    std::stable_partition(
        ranges.begin(), ranges.end(), [&](const LoopRange& range) {
          return StrideOf(writer_.program(), operand, range.iterator) != 1;
        });
    return ranges;
  }

  // Loops over the elements of a tile.
  void WriteCells(
      Block& block, const Tile& tile,
      absl::FunctionRef<void(Block& body, const Cell& cell)> write) {
    writer_.Loop(
        block, LoopKind::kUnroll, tile.rows, [&](Block& row, const Affine& m) {
          writer_.Loop(row, LoopKind::kUnroll, tile.layers,
                       [&](Block& layer, const Affine& q) {
                         writer_.Loop(layer, LoopKind::kVec, tile.columns,
                                      [&](Block& lanes, const Affine& n) {
                                        write(lanes, {m, q, n});
                                      });
                       });
        });
  }

  // `base` with the loops of the tile at the element.
  IteratorMap IteratorMapOf(const IteratorMap& base, const Tile& tile,
                            const Cell& cell) {
    IteratorMap places = base;
    if (plan_.m) places[plan_.m->iterator] = tile.m + cell.m;
    if (plan_.q) places[plan_.q->iterator] = tile.first_layer + cell.q;
    places[plan_.n.iterator] = tile.first_column + cell.n;
    return places;
  }

  Access Accumulator(const Tile& tile, const Cell& cell) const {
    if (plan_.q) return {tile.acc, {cell.m, cell.q, cell.n}};
    return {tile.acc, {cell.m, cell.n}};
  }

  void WriteTile(Block& block, const IteratorMap& outer, Tile& tile) {
    LoopProgram& program = writer_.program();
    const Access& target = nest_.set.target;
    const DType dtype = program.buffers[target.buffer].dtype;
    const Dims dims = plan_.q ? Dims{tile.rows, tile.layers, tile.columns}
                              : Dims{tile.rows, tile.columns};
    tile.acc = writer_.NewBuffer("acc", dtype, dims, Role::kPrivate);
    WriteCells(block, tile, [&](Block& body, const Cell& cell) {
      Expr start = epilogue_.beta_is_zero
                       ? Literal(program.exprs, dtype, 0)
                       : program.Read(writer_.Remapped(
                             target, IteratorMapOf(outer, tile, cell)));
      NestWriter::Assign(body, Accumulator(tile, cell), start.id());
    });
    writer_.Unrolled(block, RangesOf(tile.k_block), plan_.unroll, outer,
                     [&](Block& step, const IteratorMap& at) {
                       WriteCells(step, tile,
                                  [&](Block& body, const Cell& cell) {
                                    WriteStep(body, at, tile, cell);
                                  });
                     });
    WriteResults(block, outer, tile);
  }

  void WriteStep(Block& block, const IteratorMap& at, const Tile& tile,
                 const Cell& cell) {
    const Access acc = Accumulator(tile, cell);
    Replaced replaced = {{nest_.set.target, acc}};
    IteratorMap in_tile = at;
    if (plan_.m) in_tile[plan_.m->iterator] = cell.m;
    in_tile[plan_.n.iterator] = cell.n;
    for (const auto& [from, to] : tile.packed) {
      replaced.push_back({from, writer_.Remapped(to, in_tile)});
    }
    NestWriter::Assign(
        block, acc,
        writer_.Remapped(nest_.set.value, IteratorMapOf(at, tile, cell),
                         replaced));
  }

  void WriteResults(Block& block, const IteratorMap& outer, const Tile& tile) {
    LoopProgram& program = writer_.program();
    const Access& target = nest_.set.target;
    for (const Set& epilogue : epilogue_.sets) {
      WriteCells(block, tile, [&](Block& body, const Cell& at) {
        const Access cell = Accumulator(tile, at);
        const IteratorMap places = IteratorMapOf(outer, tile, at);
        NestWriter::Assign(
            body,
            epilogue.target == target
                ? cell
                : writer_.Remapped(epilogue.target, places),
            writer_.Remapped(epilogue.value, places, {{target, cell}}));
      });
    }
    if (epilogue_.result_is_dead) return;
    // After the epilogue, which may change the result in place.
    WriteCells(block, tile, [&](Block& body, const Cell& at) {
      NestWriter::Assign(
          body, writer_.Remapped(target, IteratorMapOf(outer, tile, at)),
          program.Read(Accumulator(tile, at)).id());
    });
  }

  NestWriter& writer_;
  const PerfectNest& nest_;
  const ContractPlan& plan_;
  const Epilogue& epilogue_;
  std::vector<Access> packed_;     // B, where it is packed once, by range of n
  std::optional<KBlock> k_block_;  // inside of the loops over k_blocks
};

}  // namespace

void WriteContract(NestWriter& writer, const PerfectNest& nest,
                   const ContractPlan& plan, const Epilogue& epilogue,
                   Block& block) {
  Block written;
  ContractWriter(writer, nest, plan, epilogue).Write(written);
  // Private buffers, such as accumulators, are of one statement.
  Block* group = nullptr;
  for (Stmt& stmt : written.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && loop->kind == LoopKind::kPar) {
      block.stmts.push_back(std::move(stmt));
      group = nullptr;
      continue;
    }
    if (group == nullptr) {
      block.stmts.push_back(writer.UnitLoop());
      group = &std::get<For>(block.stmts.back()).body;
    }
    group->stmts.push_back(std::move(stmt));
  }
}

}  // namespace ocannl
