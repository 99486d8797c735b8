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

// Steps of the rows that are copied at once: they fill cache lines.
constexpr int64_t kCopiedSteps = 4;

using Replaced = std::vector<std::pair<Access, Access>>;

// Tiles side by side.
struct Columns {
  Affine first;
  int64_t count;
  int64_t size;
  Affine number = 0;               // of the first tile in `packed`
  const Access* packed = nullptr;  // where they have been packed
};

// Iterations of the outermost reduced loop.
struct Part {
  Affine first;
  int64_t count;
};

struct Tile {
  Affine first_row;
  int64_t rows;
  Affine first_layer;
  int64_t layers;
  Affine first_column;
  int64_t columns;
  Part part;
  Replaced packed;
  int32_t acc = -1;  // the buffer of the accumulators
};

// A cell of a tile: the row, the layer and the column, from the tile's first.
struct Cell {
  Affine m, q, n;
};

class ContractWriter {
 public:
  ContractWriter(NestWriter& writer, const PerfectNest& nest,
                 const ContractPlan& plan, const TileUse& use)
      : writer_(writer), nest_(nest), plan_(plan), use_(use) {}

  void Write(Block& block) {
    // What no outer loop moves is packed once for all of them.
    const bool packs_once =
        plan_.packed && !plan_.outer.empty() && !plan_.has_parts() &&
        absl::c_all_of(plan_.outer, [&](const NestLoop& loop) {
          return StrideOf(writer_.program(), *plan_.packed, loop.iterator) == 0;
        });
    for (const Segment& columns : plan_.columns) {
      if (!packs_once) break;
      const Columns all{.first = Affine(columns.first),
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

  void WriteOuter(Block& block, size_t depth, const Places& places) {
    if (depth == 1 && plan_.shares_parts && !part_) {
      return WithParts(block,
                       [&](Block& body) { WriteOuter(body, depth, places); });
    }
    if (depth == plan_.outer.size()) return WriteColumns(block, places);
    const NestLoop& loop = plan_.outer[depth];
    writer_.Loop(block, OuterKind(depth == 0), loop.extent,
                 [&](Block& body, const Affine& at) {
                   Places inner = places;
                   inner[loop.iterator] = at;
                   WriteOuter(body, depth + 1, inner);
                 });
  }

  void WriteColumns(Block& block, const Places& places) {
    const bool outermost = plan_.outer.empty();
    const Role role = outermost ? Role::kTemp : Role::kPrivate;
    std::vector<Access> packed_rows;
    if (plan_.packed_rows) packed_rows = WriteRowPacks(block, places, role);
    for (size_t k = 0; k < plan_.columns.size(); ++k) {
      const Segment& columns = plan_.columns[k];
      const int64_t group = std::min(plan_.group, columns.count);
      // Where there is one group, the tiles below each other are shared among
      // threads.
      const bool across = columns.count > group;
      writer_.Loop(block, OuterKind(outermost && across), columns.count / group,
                   [&](Block& body, const Affine& at) {
                     Columns some = {columns.size * group * at, group,
                                     columns.size, group * at};
                     some.first += Affine(columns.first);
                     if (!packed_.empty()) some.packed = &packed_[k];
                     WithParts(body, [&](Block& inner) {
                       WritePart(inner, places, some, packed_rows,
                                 outermost && !across && !plan_.has_parts());
                     });
                   });
    }
  }

  // Loops over the parts around what `write` appends, where there are none yet.
  void WithParts(Block& block, absl::FunctionRef<void(Block& body)> write) {
    if (part_) return write(block);
    for (const Segment& parts : plan_.parts) {
      writer_.Loop(
          block, LoopKind::kFor, parts.count,
          [&](Block& body, const Affine& at) {
            part_ = {parts.size * at + Affine(parts.first), parts.size};
            write(body);
            part_.reset();
          });
    }
  }

  // All rows pass by the columns, which the second cache holds.
  void WritePart(Block& block, const Places& places, const Columns& columns,
                 const std::vector<Access>& packed_rows, bool is_outermost) {
    Replaced packed;
    Affine number = 0;
    if (columns.packed != nullptr) {
      packed.push_back({*plan_.packed, *columns.packed});
      number = columns.number;
    } else if (plan_.packed) {
      const Role role = is_outermost ? Role::kTemp : Role::kPrivate;
      packed.push_back(
          {*plan_.packed, WritePack(block, places, columns, *part_, role)});
    }
    for (size_t k = 0; k < plan_.rows.size(); ++k) {
      const Segment& rows = plan_.rows[k];
      auto write = [&](Block& body, const Affine& down, const Affine& across) {
        Tile tile{.first_row = rows.size * down + Affine(rows.first),
                  .rows = rows.size,
                  .first_layer = 0,
                  .layers = 1,
                  .first_column = columns.first + columns.size * across,
                  .columns = columns.size,
                  .part = *part_,
                  .packed = packed};
        if (plan_.packed) tile.packed[0].second.indices[0] = number + across;
        if (plan_.packed_rows) {
          tile.packed.push_back({*plan_.packed_rows, packed_rows[k]});
          tile.packed.back().second.indices[0] = down;
        }
        WriteLayers(body, places, tile);
      };
      // Columns of a part that are not copied come from memory once.
      const bool is_once = plan_.has_parts() && !plan_.packed;
      writer_.Loop(
          block, OuterKind(is_outermost), is_once ? columns.count : rows.count,
          [&](Block& body, const Affine& at) {
            writer_.Loop(
                body, LoopKind::kFor, is_once ? rows.count : columns.count,
                [&](Block& inner, const Affine& then) {
                  is_once ? write(inner, then, at) : write(inner, at, then);
                });
          });
    }
  }

  // `tile` with all layers, tile by tile.
  void WriteLayers(Block& block, const Places& places, Tile tile) {
    for (const Segment& layers : plan_.layers) {
      writer_.Loop(block, LoopKind::kFor, layers.count,
                   [&](Block& body, const Affine& at) {
                     tile.first_layer = layers.size * at + Affine(layers.first);
                     tile.layers = layers.size;
                     WriteTile(body, places, tile);
                   });
    }
  }

  // A buffer of tiles of `operand`, tile by tile. Returns where it is with the
  // nest's own iterators, `loop` counting from the start of a tile and the
  // first index being the number of the tile.
  Access NewPack(const char* name, const Access& operand, int64_t tiles,
                 const Part& part, const NestLoop& loop, int64_t size,
                 Role role) {
    Dims dims = {tiles};
    Access packed{.buffer = -1, .indices = {Affine(0)}};
    for (const NestLoop& reduced : nest_.reduced) {
      dims.push_back(reduced.extent);
      packed.indices.push_back(Iterator(reduced.iterator));
    }
    dims[1] = part.count;
    packed.indices[1] += -1 * part.first;
    dims.push_back(size);
    packed.indices.push_back(Iterator(loop.iterator));
    packed.buffer = writer_.NewBuffer(
        name, writer_.program().buffers[operand.buffer].dtype, dims, role);
    return packed;
  }

  // Copies the `size` cells of `operand` that `loop` moves, from `first` on.
  void WriteCopy(Block& block, const Access& operand, Access packed,
                 const Affine& tile, const Places& places, const NestLoop& loop,
                 const Affine& first, int64_t size) {
    packed.indices[0] = tile;
    writer_.Loop(block, LoopKind::kVec, size,
                 [&](Block& lanes, const Affine& at) {
                   Places from = places;
                   Places to = places;
                   from[loop.iterator] = first + at;
                   to[loop.iterator] = at;
                   Access read = writer_.Moved(operand, from);
                   NestWriter::Assign(lanes, writer_.Moved(packed, to),
                                      writer_.program().Read(read).id());
                 });
  }

  // Copies the operand that m moves, by segment of rows.
  std::vector<Access> WriteRowPacks(Block& block, const Places& places,
                                    Role role) {
    const Access& operand = *plan_.packed_rows;
    std::vector<Access> packed;
    for (const Segment& rows : plan_.rows) {
      packed.push_back(NewPack("packed_rows", operand, rows.count, All(),
                               *plan_.m, rows.size, role));
    }
    // The rows are closer to each other than the steps.
    writer_.StripNest(
        block, OuterKind(role == Role::kTemp), RangesOf(All()), kCopiedSteps,
        places, [&](Block& strip, const Places& at, const LoopRange& steps) {
          for (size_t k = 0; k < packed.size(); ++k) {
            const Segment& rows = plan_.rows[k];
            auto copy = [&](Block& tile, const Affine& number) {
              writer_.Unrolled(
                  tile, steps, at, [&](Block& body, const Places& step) {
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

  // Copies the operand that n moves.
  Access WritePack(Block& block, const Places& places, const Columns& columns,
                   const Part& part, Role role) {
    const Access& operand = *plan_.packed;
    const Access packed = NewPack("packed", operand, columns.count, part,
                                  plan_.n, columns.size, role);
    const int64_t unroll = plan_.is_transposed ? kColumnsAtOnce : 1;
    writer_.Loop(block, LoopKind::kFor, columns.count,
                 [&](Block& panel, const Affine& number) {
                   writer_.Unrolled(
                       panel, RangesOfCopy(part, operand), unroll, places,
                       [&](Block& body, const Places& at) {
                         WriteCopy(body, operand, packed, number, at, plan_.n,
                                   columns.first + columns.size * number,
                                   columns.size);
                       });
                 });
    return packed;
  }

  Part All() const { return {.first = 0, .count = nest_.reduced[0].extent}; }

  // The reduced loops, in order.
  std::vector<LoopRange> RangesOf(const Part& part) const {
    std::vector<LoopRange> ranges;
    for (const NestLoop& loop : nest_.reduced) {
      ranges.push_back({loop.iterator, 0, loop.extent});
    }
    ranges[0].first = part.first;
    ranges[0].count = part.count;
    return ranges;
  }

  // As a copy of `operand` goes over them: what moves it cell by cell, if there
  // is such a loop, is the innermost.
  std::vector<LoopRange> RangesOfCopy(const Part& part,
                                      const Access& operand) const {
    std::vector<LoopRange> ranges = RangesOf(part);
    std::stable_partition(
        ranges.begin(), ranges.end(), [&](const LoopRange& range) {
          return StrideOf(writer_.program(), operand, range.iterator) != 1;
        });
    return ranges;
  }

  // Loops over the cells of a tile.
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

  // `base` and where the cell is in the nest.
  Places PlacesOf(const Places& base, const Tile& tile, const Cell& cell) {
    Places places = base;
    if (plan_.m) places[plan_.m->iterator] = tile.first_row + cell.m;
    if (plan_.q) places[plan_.q->iterator] = tile.first_layer + cell.q;
    places[plan_.n.iterator] = tile.first_column + cell.n;
    return places;
  }

  Access Accumulator(const Tile& tile, const Cell& cell) const {
    if (plan_.q) return {tile.acc, {cell.m, cell.q, cell.n}};
    return {tile.acc, {cell.m, cell.n}};
  }

  void WriteTile(Block& block, const Places& outer, Tile& tile) {
    LoopProgram& program = writer_.program();
    const Access& target = nest_.set.target;
    const DType dtype = program.buffers[target.buffer].dtype;
    const Dims dims = plan_.q ? Dims{tile.rows, tile.layers, tile.columns}
                              : Dims{tile.rows, tile.columns};
    tile.acc = writer_.NewBuffer("acc", dtype, dims, Role::kPrivate);
    WriteCells(block, tile, [&](Block& body, const Cell& cell) {
      Expr start = use_.starts_at_zero
                       ? Literal(program.exprs, dtype, 0)
                       : program.Read(writer_.Moved(
                             target, PlacesOf(outer, tile, cell)));
      NestWriter::Assign(body, Accumulator(tile, cell), start.id());
    });
    writer_.Unrolled(block, RangesOf(tile.part), plan_.unroll, outer,
                     [&](Block& step, const Places& at) {
                       WriteCells(step, tile,
                                  [&](Block& body, const Cell& cell) {
                                    WriteStep(body, at, tile, cell);
                                  });
                     });
    WriteResults(block, outer, tile);
  }

  void WriteStep(Block& block, const Places& at, const Tile& tile,
                 const Cell& cell) {
    const Access acc = Accumulator(tile, cell);
    Replaced replaced = {{nest_.set.target, acc}};
    Places in_tile = at;
    if (plan_.m) in_tile[plan_.m->iterator] = cell.m;
    in_tile[plan_.n.iterator] = cell.n;
    for (const auto& [from, to] : tile.packed) {
      replaced.push_back({from, writer_.Moved(to, in_tile)});
    }
    NestWriter::Assign(
        block, acc,
        writer_.Moved(nest_.set.value, PlacesOf(at, tile, cell), replaced));
  }

  void WriteResults(Block& block, const Places& outer, const Tile& tile) {
    LoopProgram& program = writer_.program();
    const Access& target = nest_.set.target;
    for (const Set& epilogue : use_.epilogues) {
      WriteCells(block, tile, [&](Block& body, const Cell& at) {
        const Access cell = Accumulator(tile, at);
        const Places places = PlacesOf(outer, tile, at);
        NestWriter::Assign(
            body,
            epilogue.target == target ? cell
                                      : writer_.Moved(epilogue.target, places),
            writer_.Moved(epilogue.value, places, {{target, cell}}));
      });
    }
    if (use_.drops_result) return;
    // Behind the epilogues: one of them may change the result in place.
    WriteCells(block, tile, [&](Block& body, const Cell& at) {
      NestWriter::Assign(body, writer_.Moved(target, PlacesOf(outer, tile, at)),
                         program.Read(Accumulator(tile, at)).id());
    });
  }

  NestWriter& writer_;
  const PerfectNest& nest_;
  const ContractPlan& plan_;
  const TileUse& use_;
  std::vector<Access> packed_;  // the columns, where they are packed once
  std::optional<Part> part_;    // inside of the loops over parts
};

}  // namespace

void WriteContract(NestWriter& writer, const PerfectNest& nest,
                   const ContractPlan& plan, const TileUse& use, Block& block) {
  Block written;
  ContractWriter(writer, nest, plan, use).Write(written);
  // What shares accumulators is one statement.
  Block* group = nullptr;
  for (Stmt& stmt : written.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && loop->kind == LoopKind::kPar) {
      block.stmts.push_back(std::move(stmt));
      group = nullptr;
      continue;
    }
    if (group == nullptr) {
      block.stmts.push_back(writer.Wrapper());
      group = &std::get<For>(block.stmts.back()).body;
    }
    group->stmts.push_back(std::move(stmt));
  }
}

}  // namespace ocannl
