// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/indices.h"

#include <variant>

#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::fuzz {

void RewriteIndices(LoopProgram& program, Block& block,
                    absl::FunctionRef<Access(Access)> cell,
                    absl::FunctionRef<Affine(const Affine&)> index) {
  RewriteStmts(block, [&](Stmt& stmt) {
    RewriteLeaves(program, stmt, [&](const LeafValue& leaf) {
      return std::visit(
          Overload{
              [&](const Access& access) -> LeafValue { return cell(access); },
              [&](const Lookup& lookup) -> LeafValue {
                return Lookup{.cell = cell(lookup.cell),
                              .axis = lookup.axis,
                              .index = cell(*lookup.index)};
              },
              [&](const GetLocal& get) -> LeafValue { return get; },
              [&](const Affine& affine) -> LeafValue { return index(affine); },
          },
          leaf);
    });
  });
}

void RewriteCells(LoopProgram& program, Block& block,
                  absl::FunctionRef<Access(Access)> cell) {
  RewriteIndices(program, block, cell,
                 [](const Affine& index) { return index; });
}

void Substitute(LoopProgram& program, Block& block,
                absl::FunctionRef<Affine(Symbol)> value) {
  auto index = [&](const Affine& affine) { return affine.Substitute(value); };
  auto cell = [&](Access access) {
    for (Affine& affine : access.indices) affine = index(affine);
    return access;
  };
  RewriteIndices(program, block, cell, index);
}

}  // namespace ocannl::fuzz
