// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/codegen/c_writer.h"

#include <vector>

#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {

std::string CWriter::IndexText(const Affine& index) const {
  std::string text;
  for (const Affine::Term& term : index.terms()) {
    if (!text.empty()) text += " + ";
    if (term.factor != 1) absl::StrAppend(&text, term.factor, " * ");
    absl::StrAppend(&text, term.symbol.kind == Symbol::kStatic ? "s" : "i",
                    term.symbol.number);
  }
  if (index.offset() == 0 && !text.empty()) return text;
  return absl::StrCat(text, text.empty() ? "" : " + ", index.offset());
}

// The cell, `more` cells further on.
std::string CWriter::CellText(const Access& access,
                              absl::string_view more) const {
  const auto text = texts_.find(access);
  if (more.empty() && text != texts_.end()) return text->second;
  const Dims& dims = program_.buffers[access.buffer].dims;
  const auto dropped = dropped_axes_.find(access.buffer);
  size_t axis = dropped == dropped_axes_.end() ? 0 : dropped->second;
  Affine cell;
  for (; axis < dims.size(); ++axis) {
    cell = dims[axis] * cell + access.indices[axis];
  }
  return absl::StrCat("b", access.buffer.index, "[", IndexText(cell), more,
                      "]");
}

std::string CWriter::RowText(const Lookup& lookup) const {
  return absl::StrCat("(u64_t)", CellText(*lookup.index));
}

std::string CWriter::HasRowText(const Lookup& lookup) const {
  return absl::StrCat(RowText(lookup), " < ",
                      program_.buffers[lookup.cell.buffer].dims[lookup.axis]);
}

std::string CWriter::CellText(const Lookup& lookup) const {
  return CellText(lookup.cell, absl::StrCat(" + ", RowText(lookup), " * ",
                                            LookupStride(program_, lookup)));
}

std::string CWriter::LeafText(const LeafValue& value) const {
  return std::visit(Overload{
                        [&](const Access& access) { return CellText(access); },
                        [&](const Lookup& lookup) {
                          return absl::StrCat("(", HasRowText(lookup), " ? ",
                                              CellText(lookup), " : 0)");
                        },
                        [&](const GetLocal& get) {
                          return absl::StrCat("v", get.local.index);
                        },
                        [&](const Affine& index) { return IndexText(index); },
                    },
                    value);
}

std::string CWriter::WriteValue(ExprId value) {
  absl::flat_hash_map<ExprId, std::string> names;
  const ExprId root = Expand(program_.exprs, value);
  Rewrite(program_.exprs, root, [&](ExprId id) {
    const std::string text = std::visit(
        Overload{
            [&](const Constant& constant) { return CConstant(constant); },
            [&](const Leaf& leaf) { return LeafText(program_.At(leaf)); },
            [&](const Apply& apply) {
              std::vector<std::string> args;
              for (ExprId arg : apply.args) args.push_back(names.at(arg));
              const DType from = TypeOf(program_.exprs, apply.args.back());
              return CApply(dialect_, apply.op, apply.dtype, from, args);
            },
        },
        program_.exprs[id]);
    names[id] = absl::StrCat("t", num_values_++);
    Line("const ", CType(TypeOf(program_.exprs, id)), " ", names[id], " = ",
         text, ";");
    return id;
  });
  return names.at(root);
}

void CWriter::OpenFor(const For& loop) {
  const std::string i = Name(loop.iterator);
  Open("for (i64_t ", i, " = 0; ", i, " < ", loop.extent, "; ++", i, ") ");
}

void CWriter::WriteFor(const For& loop) {
  OpenFor(loop);
  WriteBlock(loop.body);
  Close();
}

void CWriter::WriteBlock(const Block& block) {
  for (const Stmt& stmt : block.stmts) {
    if (!std::holds_alternative<For>(stmt) &&
        !std::holds_alternative<Comment>(stmt)) {
      const std::string text = PrintStmt(program_, stmt, 0);
      Line("// ", text.substr(0, text.find('\n')));
    }
    std::visit(Overload{
                   [&](const For& loop) { WriteFor(loop); },
                   [&](const Set& set) {
                     const std::string value = WriteValue(set.value);
                     Line(CellText(set.target), " = ", value, ";");
                   },
                   [&](const Scatter& scatter) {
                     const std::string value = WriteValue(scatter.value);
                     const Lookup& target = program_.TargetOf(scatter);
                     Line("if (", HasRowText(target), ") ", CellText(target),
                          " = ", value, ";");
                   },
                   [&](const DeclareLocal& declare) {
                     const std::string value = WriteValue(declare.value);
                     const LocalId local = declare.local;
                     Line(CType(program_.locals[local].dtype), " v",
                          local.index, " = ", value, ";");
                   },
                   [&](const SetLocal& set) {
                     const std::string value = WriteValue(set.value);
                     Line("v", set.local.index, " = ", value, ";");
                   },
                   [&](const ZeroOut& zero) {
                     const int64_t cells =
                         NumElements(program_.buffers[zero.buffer].dims);
                     Line("for (i64_t c = 0; c < ", cells, "; ++c) b",
                          zero.buffer.index, "[c] = 0;");
                   },
                   [&](const Comment&) {},
               },
               static_cast<const Stmt::variant&>(stmt));
  }
}

}  // namespace ocannl
