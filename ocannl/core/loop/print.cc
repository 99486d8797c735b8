// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/print.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {
namespace {

std::string SymbolName(const LoopProgram& program, Symbol symbol) {
  if (symbol.kind == Symbol::kStatic)
    return NameText(program.statics[symbol.number].name);
  return Name(symbol.iterator());
}

void PrintBlock(const LoopProgram& program, const Block& block, int depth,
                std::string* out) {
  for (const Stmt& stmt : block.stmts) {
    absl::StrAppend(out, PrintStmt(program, stmt, depth));
  }
}

std::string PrintHeader(const LoopProgram& program) {
  std::string text = absl::StrCat(
      NameText(program.name), " (",
      absl::StrJoin(program.statics, ", ",
                    [](std::string* out, const StaticIndex& index) {
                      absl::StrAppend(out, NameText(index.name));
                      if (index.range == kUnranged) return;
                      absl::StrAppend(out, " : [0..", index.range - 1, "]");
                    }),
      "):\n");
  for (const Buffer& buffer : program.buffers) {
    absl::StrAppend(&text, "  ", WordOf(buffer.role), " ",
                    NameText(buffer.name), " : ", Name(buffer.dtype), "[",
                    absl::StrJoin(buffer.dims, ", "), "];\n");
  }
  return text;
}

std::vector<std::string> IndexTexts(const LoopProgram& program,
                                    const Access& access) {
  std::vector<std::string> texts;
  for (const Affine& index : access.indices) {
    texts.push_back(PrintIndex(program, index));
  }
  return texts;
}

std::string PrintCell(const LoopProgram& program, const Access& access,
                      const std::vector<std::string>& indices) {
  return absl::StrCat(NameText(program.buffers[access.buffer].name), "[",
                      absl::StrJoin(indices, ", "), "]");
}

std::string PrintLookup(const LoopProgram& program, const Lookup& lookup) {
  std::vector<std::string> indices = IndexTexts(program, lookup.cell);
  indices[lookup.axis] = PrintAccess(program, *lookup.index);
  return PrintCell(program, lookup.cell, indices);
}

}  // namespace

std::string PrintIndex(const LoopProgram& program, const Affine& index) {
  return index.Text([&](Symbol symbol) { return SymbolName(program, symbol); });
}

std::string PrintAccess(const LoopProgram& program, const Access& access) {
  return PrintCell(program, access, IndexTexts(program, access));
}

std::string PrintLeaf(const LoopProgram& program, const LeafValue& leaf) {
  return std::visit(
      Overload{
          [&](const Access& access) { return PrintAccess(program, access); },
          [&](const Lookup& lookup) { return PrintLookup(program, lookup); },
          [&](const GetLocal& get) {
            return NameText(program.locals[get.local].name);
          },
          [&](const Affine& index) {
            return absl::StrCat("[", PrintIndex(program, index), "]");
          },
      },
      leaf);
}

std::string PrintValue(const LoopProgram& program, ExprId value) {
  return PrintExpr(program.exprs, value, [&](const Leaf& leaf) {
    return PrintLeaf(program, program.At(leaf));
  });
}

std::string PrintStmt(const LoopProgram& program, const Stmt& stmt, int depth) {
  std::string text(2 * depth, ' ');
  std::visit(
      Overload{
          [&](const For& loop) {
            absl::StrAppend(&text, WordOf(loop.kind), " ", Name(loop.iterator),
                            " = 0 to ", loop.extent - 1, " {\n");
            PrintBlock(program, loop.body, depth + 1, &text);
            absl::StrAppend(&text, std::string(2 * depth, ' '), "}\n");
          },
          [&](const Set& set) {
            absl::StrAppend(&text, PrintAccess(program, set.target),
                            " := ", PrintValue(program, set.value), ";\n");
          },
          [&](const Scatter& scatter) {
            absl::StrAppend(&text,
                            PrintLeaf(program, program.leaves[scatter.target]),
                            " := ", PrintValue(program, scatter.value), ";\n");
          },
          [&](const DeclareLocal& declare) {
            const Local& local = program.locals[declare.local];
            absl::StrAppend(&text, "let ", NameText(local.name), " : ",
                            Name(local.dtype),
                            " := ", PrintValue(program, declare.value), ";\n");
          },
          [&](const SetLocal& set) {
            absl::StrAppend(&text, NameText(program.locals[set.local].name),
                            " := ", PrintValue(program, set.value), ";\n");
          },
          [&](const ZeroOut& zero) {
            absl::StrAppend(&text, "zero_out ",
                            NameText(program.buffers[zero.buffer].name), ";\n");
          },
          [&](const Comment& comment) {
            absl::StrAppend(&text, "/* ", comment.text, " */\n");
          },
      },
      static_cast<const Stmt::variant&>(stmt));
  return text;
}

std::string Print(const LoopProgram& program) {
  std::string text = PrintHeader(program);
  PrintBlock(program, program.body, 1, &text);
  return text;
}

bool operator==(const LoopProgram& a, const LoopProgram& b) {
  return Print(a) == Print(b);
}

}  // namespace ocannl
