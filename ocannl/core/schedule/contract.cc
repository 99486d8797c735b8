// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/contract.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

namespace ocannl {
namespace {

// Columns of a transposed operand that are copied at once.
constexpr int64_t kTransposedColumns = 16;

using Replaced = std::vector<std::pair<Access, Access>>;

class ContractWriter {
 public:
  ContractWriter(NestWriter& writer, const PerfectNest& nest,
                 const ContractPlan& plan, const TileUse& use)
      : writer_(writer), nest_(nest), plan_(plan), use_(use) {}

  void Write(Block& block) { WriteOuter(block, 0, {}); }

 private:
  // Only the outermost loop can be parallel.
  LoopKind OuterKind(bool is_outermost) const {
    return is_outermost && plan_.is_parallel ? LoopKind::kPar : LoopKind::kFor;
  }

  void WriteOuter(Block& block, size_t depth, const Places& places) {
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
    if (plan_.block == 0) {
      return WriteColumns(block, places, plan_.rows, Affine(0), outermost);
    }
    // The only segment of rows, in blocks.
    const Segment& rows = plan_.rows[0];
    Segment part = rows;
    part.count = plan_.block;
    writer_.Loop(block, OuterKind(outermost), rows.count / plan_.block,
                 [&](Block& body, const Affine& at) {
                   WriteColumns(body, places, {part},
                                plan_.block * rows.size * at,
                                /*is_outermost=*/false);
                 });
  }

  void WriteColumns(Block& block, const Places& places,
                    const std::vector<Segment>& rows, const Affine& first_row,
                    bool is_outermost) {
    std::vector<std::optional<Access>> packed_rows(rows.size());
    for (size_t k = 0; plan_.packed_rows && k < rows.size(); ++k) {
      packed_rows[k] =
          WriteRowPack(block, places, rows[k], first_row,
                       is_outermost ? Role::kTemp : Role::kPrivate);
    }
    for (const Segment& columns : plan_.columns) {
      // Where there is one tile across, the tiles below each other are shared
      // among threads.
      const bool across = columns.count > 1;
      writer_.Loop(block, OuterKind(is_outermost && across), columns.count,
                   [&](Block& body, const Affine& at) {
                     WritePanel(body, places, columns,
                                columns.size * at + Affine(columns.first), rows,
                                packed_rows, first_row,
                                is_outermost && !across);
                   });
    }
  }

  // The tiles below each other whose columns begin at `first`.
  void WritePanel(Block& block, const Places& places, const Segment& columns,
                  const Affine& first, const std::vector<Segment>& row_segments,
                  const std::vector<std::optional<Access>>& packed_rows,
                  const Affine& first_row, bool is_outermost) {
    Replaced replaced;
    if (plan_.packed) {
      replaced.push_back(
          {*plan_.packed,
           WritePack(block, places, columns, first,
                     is_outermost ? Role::kTemp : Role::kPrivate)});
    }
    for (size_t k = 0; k < row_segments.size(); ++k) {
      const Segment& rows = row_segments[k];
      writer_.Loop(block, OuterKind(is_outermost), rows.count,
                   [&](Block& body, const Affine& at) {
                     Replaced in_tile = replaced;
                     if (packed_rows[k]) {
                       in_tile.push_back({*plan_.packed_rows, *packed_rows[k]});
                       in_tile.back().second.indices[0] = at;
                     }
                     WriteTile(
                         body, places, columns.size, first, rows.size,
                         first_row + (rows.size * at + Affine(rows.first)),
                         in_tile);
                   });
    }
  }

  // Copies the operand that m moves, tile by tile; returns where it is, with
  // the nest's own iterators, m counting from the first row of a tile. The
  // first index is the number of the tile.
  Access WriteRowPack(Block& block, const Places& places, const Segment& rows,
                      const Affine& first_row, Role role) {
    const Access& operand = *plan_.packed_rows;
    LoopProgram& program = writer_.program();
    Dims dims = {rows.count};
    Access packed{.buffer = -1, .indices = {Affine(0)}};
    for (const NestLoop& loop : nest_.reduced) {
      dims.push_back(loop.extent);
      packed.indices.push_back(Iterator(loop.iterator));
    }
    dims.push_back(rows.size);
    packed.indices.push_back(Iterator(plan_.m->iterator));
    packed.buffer = writer_.NewBuffer(
        "packed_rows", program.buffers[operand.buffer].dtype, dims, role);
    writer_.Loop(
        block, OuterKind(role == Role::kTemp), rows.count,
        [&](Block& tile, const Affine& number) {
          Access to_tile = packed;
          to_tile.indices[0] = number;
          auto copy = [&](Block& body, const Places& at) {
            writer_.Loop(body, LoopKind::kVec, rows.size,
                         [&](Block& lanes, const Affine& m) {
                           Places from = at;
                           Places to = at;
                           from[plan_.m->iterator] =
                               first_row +
                               (rows.size * number + Affine(rows.first)) + m;
                           to[plan_.m->iterator] = m;
                           Access read = writer_.Moved(operand, from);
                           NestWriter::Assign(lanes, writer_.Moved(to_tile, to),
                                              program.Read(read).id());
                         });
          };
          WriteReduced(tile, 0, places,
                       plan_.rows_are_transposed ? kTransposedColumns : 4,
                       copy);
        });
    return packed;
  }

  // Copies the operand that n moves; returns where it is, with the nest's own
  // iterators, n counting from the first column.
  Access WritePack(Block& block, const Places& places, const Segment& columns,
                   const Affine& first, Role role) {
    const Access& operand = *plan_.packed;
    LoopProgram& program = writer_.program();
    Dims dims;
    Access packed;
    for (const NestLoop& loop : nest_.reduced) {
      dims.push_back(loop.extent);
      packed.indices.push_back(Iterator(loop.iterator));
    }
    dims.push_back(columns.size);
    packed.indices.push_back(Iterator(plan_.n.iterator));
    packed.buffer = writer_.NewBuffer(
        "packed", program.buffers[operand.buffer].dtype, dims, role);
    auto copy = [&](Block& body, const Places& at) {
      writer_.Loop(body, LoopKind::kVec, columns.size,
                   [&](Block& lanes, const Affine& n) {
                     Places from = at;
                     Places to = at;
                     from[plan_.n.iterator] = first + n;
                     to[plan_.n.iterator] = n;
                     Access read = writer_.Moved(operand, from);
                     NestWriter::Assign(lanes, writer_.Moved(packed, to),
                                        program.Read(read).id());
                   });
    };
    WriteReduced(block, 0, places, plan_.is_transposed ? kTransposedColumns : 1,
                 copy);
    return packed;
  }

  // Loops over what is reduced around what `write` appends; the innermost one
  // in strips of `unroll` iterations.
  void WriteReduced(
      Block& block, size_t depth, const Places& places, int64_t unroll,
      absl::FunctionRef<void(Block& body, const Places& places)> write) {
    const NestLoop& loop = nest_.reduced[depth];
    if (depth + 1 < nest_.reduced.size()) {
      return writer_.Loop(block, LoopKind::kFor, loop.extent,
                          [&](Block& body, const Affine& at) {
                            Places inner = places;
                            inner[loop.iterator] = at;
                            WriteReduced(body, depth + 1, inner, unroll, write);
                          });
    }
    writer_.Strips(block, LoopKind::kFor, loop.extent, unroll,
                   [&](Block& strip, const Affine& first, int64_t count) {
                     writer_.Loop(strip, LoopKind::kUnroll, count,
                                  [&](Block& body, const Affine& at) {
                                    Places inner = places;
                                    inner[loop.iterator] = first + at;
                                    write(body, inner);
                                  });
                   });
  }

  // Loops over the cells of a tile; `write` gets where they are in the nest and
  // in the accumulators.
  void WriteCells(
      Block& block, int64_t rows, int64_t columns,
      absl::FunctionRef<void(Block& body, const Affine& m, const Affine& n)>
          write) {
    writer_.Loop(
        block, LoopKind::kUnroll, rows, [&](Block& row, const Affine& m) {
          writer_.Loop(
              row, LoopKind::kVec, columns,
              [&](Block& lanes, const Affine& n) { write(lanes, m, n); });
        });
  }

  void WriteTile(Block& block, const Places& outer, int64_t columns,
                 const Affine& first_column, int64_t rows,
                 const Affine& first_row, const Replaced& packed) {
    LoopProgram& program = writer_.program();
    const Access& target = nest_.set.target;
    const DType dtype = program.buffers[target.buffer].dtype;
    const int32_t acc =
        writer_.NewBuffer("acc", dtype, {rows, columns}, Role::kPrivate);
    auto places_of = [&](const Places& base, const Affine& m, const Affine& n) {
      Places places = base;
      if (plan_.m) places[plan_.m->iterator] = first_row + m;
      places[plan_.n.iterator] = first_column + n;
      return places;
    };
    WriteCells(block, rows, columns, [&](Block& body, Affine m, Affine n) {
      Expr start =
          use_.starts_at_zero
              ? Literal(program.exprs, dtype, 0)
              : program.Read(writer_.Moved(target, places_of(outer, m, n)));
      NestWriter::Assign(body, Access{acc, {m, n}}, start.id());
    });
    WriteReduced(
        block, 0, outer, plan_.unroll, [&](Block& step, const Places& at) {
          WriteCells(step, rows, columns, [&](Block& body, Affine m, Affine n) {
            WriteStep(body, at, places_of(at, m, n), Access{acc, {m, n}},
                      packed);
          });
        });
    WriteResults(block, rows, columns, acc,
                 [&](const Affine& m, const Affine& n) {
                   return places_of(outer, m, n);
                 });
  }

  void WriteStep(Block& block, const Places& at, const Places& places,
                 const Access& acc, const Replaced& packed) {
    Replaced replaced = {{nest_.set.target, acc}};
    Places in_tile = at;
    if (plan_.m) in_tile[plan_.m->iterator] = acc.indices[0];
    in_tile[plan_.n.iterator] = acc.indices[1];
    for (const auto& [from, to] : packed) {
      replaced.push_back({from, writer_.Moved(to, in_tile)});
    }
    NestWriter::Assign(block, acc,
                       writer_.Moved(nest_.set.value, places, replaced));
  }

  void WriteResults(
      Block& block, int64_t rows, int64_t columns, int32_t acc,
      absl::FunctionRef<Places(const Affine& m, const Affine& n)> places_of) {
    LoopProgram& program = writer_.program();
    const Access& target = nest_.set.target;
    for (const Set& epilogue : use_.epilogues) {
      WriteCells(block, rows, columns, [&](Block& body, Affine m, Affine n) {
        const Access cell{acc, {m, n}};
        Places places = places_of(m, n);
        NestWriter::Assign(
            body,
            epilogue.target == target ? cell
                                      : writer_.Moved(epilogue.target, places),
            writer_.Moved(epilogue.value, places, {{target, cell}}));
      });
    }
    if (use_.drops_result) return;
    // Behind the epilogues: one of them may change the result in place.
    WriteCells(block, rows, columns, [&](Block& body, Affine m, Affine n) {
      NestWriter::Assign(body, writer_.Moved(target, places_of(m, n)),
                         program.Read(Access{acc, {m, n}}).id());
    });
  }

  NestWriter& writer_;
  const PerfectNest& nest_;
  const ContractPlan& plan_;
  const TileUse& use_;
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
