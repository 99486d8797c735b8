// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/peers/c_text.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

constexpr absl::string_view kPrelude = R"(#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define CAST(to, from, a) \
  ({ from cast_a = (a); to cast_b; memcpy(&cast_b, &cast_a, sizeof cast_b); \
     cast_b; })
// Saturates; the comparison with NaN is false.
#define TO_INT(to, least, greatest, beyond, a)        \
  ((a) >= (beyond)  ? (to)(greatest)                  \
   : (a) >= (least) ? (to)(a)                         \
   : (a) < (least)  ? (to)(least) : (to)0)
)";

absl::string_view TypeText(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kU8:
      return "uint8_t";
    case DType::kU16:
      return "uint16_t";
    case DType::kI32:
      return "int32_t";
    case DType::kU32:
      return "uint32_t";
    case DType::kI64:
      return "int64_t";
    case DType::kU64:
      return "uint64_t";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    default:
      break;
  }
  CHECK(false) << Name(dtype) << " is not a type of C";
  return "";
}

std::string ConstantText(const Constant& constant) {
  if (constant.dtype == DType::kF32) {
    return absl::StrFormat("CAST(float, uint32_t, 0x%xu)", constant.bits);
  }
  if (constant.dtype == DType::kF64) {
    return absl::StrFormat("CAST(double, uint64_t, 0x%xull)", constant.bits);
  }
  return absl::StrFormat("(%s)0x%xull", TypeText(constant.dtype),
                         constant.bits);
}

// From a float to an integer.
std::string SaturatingText(DType to, absl::string_view a) {
  int bits = 8 * static_cast<int>(SizeOf(to)) - (IsSigned(to) ? 1 : 0);
  std::string beyond = absl::StrFormat("0x1p%d", bits);
  std::string greatest =
      absl::StrFormat("0x%xull", bits == 64 ? ~0ull : (1ull << bits) - 1);
  std::string least = IsSigned(to) ? absl::StrCat("-", beyond) : "0";
  return absl::Substitute("TO_INT($0, $1, $2, $3, $4)", TypeText(to), least,
                          greatest, beyond, a);
}

// How an op is written by the type of its result, or of its operands for those
// that give a bool: $0 to $2 are names of operands, $3 is the type, $4 the same
// without sign, $5 its width, and $6 the suffix of its functions.
struct OpText {
  Op op;
  absl::string_view of_float, of_signed, of_unsigned;
};

constexpr OpText kOpTexts[] = {
    {Op::kAdd, "$0 + $1", "$0 + $1", "$0 + $1"},
    {Op::kSub, "$0 - $1", "$0 - $1", "$0 - $1"},
    {Op::kMul, "$0 * $1", "$0 * $1", "$0 * $1"},
    {Op::kDiv, "$0 / $1", "$1 == 0 ? 0 : $1 == -1 ? -$0 : $0 / $1",
     "$1 == 0 ? 0 : $0 / $1"},
    {Op::kRem, "", "$1 == 0 || $1 == -1 ? 0 : $0 % $1",
     "$1 == 0 ? 0 : $0 % $1"},
    {Op::kNeg, "-$0", "-$0", "-$0"},
    {Op::kAbs, "__builtin_fabs$6($0)", "$0 < 0 ? -$0 : $0", "$0"},
    {Op::kMin, "$0 < $1 ? $0 : $1", "$0 < $1 ? $0 : $1", "$0 < $1 ? $0 : $1"},
    {Op::kMax, "$0 > $1 ? $0 : $1", "$0 > $1 ? $0 : $1", "$0 > $1 ? $0 : $1"},
    {Op::kMinimum, "$1 < $0 || $1 != $1 ? $1 : $0", "", ""},
    {Op::kMaximum, "$1 > $0 || $1 != $1 ? $1 : $0", "", ""},
    {Op::kFma, "__builtin_fma$6($0, $1, $2)", "", ""},
    {Op::kSqrt, "__builtin_sqrt$6($0)", "", ""},
    {Op::kFloor, "__builtin_floor$6($0)", "", ""},
    {Op::kCeil, "__builtin_ceil$6($0)", "", ""},
    {Op::kTrunc, "__builtin_trunc$6($0)", "", ""},
    {Op::kRound, "__builtin_nearbyint$6($0)", "", ""},
    {Op::kLess, "$0 < $1", "$0 < $1", "$0 < $1"},
    {Op::kLessEqual, "$0 <= $1", "$0 <= $1", "$0 <= $1"},
    {Op::kEqual, "$0 == $1", "$0 == $1", "$0 == $1"},
    {Op::kNotEqual, "$0 != $1", "$0 != $1", "$0 != $1"},
    {Op::kSelect, "$0 ? $1 : $2", "$0 ? $1 : $2", "$0 ? $1 : $2"},
    {Op::kAnd, "", "$0 & $1", "$0 & $1"},
    {Op::kOr, "", "$0 | $1", "$0 | $1"},
    {Op::kXor, "", "$0 ^ $1", "$0 ^ $1"},
    {Op::kNot, "", "~$0", "~$0"},
    {Op::kShl, "", "($4)$1 < $5 ? $0 << $1 : 0", "$1 < $5 ? $0 << $1 : 0"},
    {Op::kShr, "", "($4)$1 < $5 ? $0 >> $1 : $0 >> ($5 - 1)",
     "$1 < $5 ? $0 >> $1 : 0"},
    {Op::kRotl, "",
     "($4)$0 << (($4)$1 % $5) | ($4)$0 >> (($5 - ($4)$1 % $5) % $5)",
     "$0 << ($1 % $5) | $0 >> (($5 - $1 % $5) % $5)"},
};

// op(args...) of operands of type `from`; each argument is a name.
std::string ApplyText(Op op, DType to, DType from,
                      const std::vector<std::string>& args) {
  if (op == Op::kBitcast) {
    return absl::StrCat("CAST(", TypeText(to), ", ", TypeText(from), ", ",
                        args[0], ")");
  }
  if (op == Op::kConvert) {
    if (IsFloat(from) && IsInteger(to)) return SaturatingText(to, args[0]);
    return absl::StrCat("(", TypeText(to), ")", args[0]);
  }
  if (op == Op::kNot && to == DType::kBool) return absl::StrCat("!", args[0]);
  for (const OpText& row : kOpTexts) {
    if (row.op != op) continue;
    std::vector<std::string> all = args;
    all.resize(3);
    absl::string_view format = IsFloat(from)    ? row.of_float
                               : IsSigned(from) ? row.of_signed
                                                : row.of_unsigned;
    std::string type(TypeText(from));
    return absl::Substitute(
        format, all[0], all[1], all[2], type,
        IsFloat(from) || type[0] == 'u' ? type : absl::StrCat("u", type),
        8 * SizeOf(from), from == DType::kF32 ? "f" : "");
  }
  CHECK(false) << Info(op).name << " is not a primitive";
  return "";
}

// As the C text has them.
std::string Name(BufferId buffer) { return absl::StrCat("b", buffer.index); }
std::string Name(LocalId local) { return absl::StrCat("v", local.index); }

class Writer {
 public:
  explicit Writer(LoopProgram program) : program_(std::move(program)) {}

  std::string Run() {
    text_ = std::string(kPrelude);
    for (BufferId k : program_.buffers.ids()) {
      const Buffer& buffer = program_.buffers[k];
      if (!IsScratch(buffer.role)) continue;
      Line("static ", TypeText(buffer.dtype), " ", Name(k), "[",
           NumElements(buffer.dims), "] __attribute__((aligned(64)));");
    }
    Line("void run(char* const* buffers, const int64_t* statics) {");
    ++depth_;
    for (BufferId k : program_.buffers.ids()) {
      const Buffer& buffer = program_.buffers[k];
      if (IsScratch(buffer.role)) continue;
      absl::string_view type = TypeText(buffer.dtype);
      absl::string_view constant = buffer.role == Role::kIn ? "const " : "";
      Line(constant, type, "* restrict ", Name(k), " = (", constant, type,
           "*)__builtin_assume_aligned(buffers[", k.index, "], 64);");
    }
    for (size_t k = 0; k < program_.statics.size(); ++k) {
      Line("const int64_t s", k, " = statics[", k, "];");
    }
    WriteBlock(program_.body);
    --depth_;
    Line("}");
    return std::move(text_);
  }

 private:
  template <class... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&text_, std::string(2 * depth_, ' '), parts..., "\n");
  }

  std::string IndexText(const Affine& index) {
    std::string text = absl::StrCat(index.offset());
    for (const Affine::Term& term : index.terms()) {
      absl::StrAppend(&text, " + ", term.factor, " * ",
                      term.symbol.kind == Symbol::kStatic ? "s" : "i",
                      term.symbol.number);
    }
    return text;
  }

  // The cell, `more` cells further on.
  std::string CellText(const Access& access, absl::string_view more = "") {
    const Dims& dims = program_.buffers[access.buffer].dims;
    Affine place;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      place = dims[axis] * place + access.indices[axis];
    }
    return absl::StrCat(Name(access.buffer), "[", IndexText(place), more, "]");
  }

  std::string RowText(const Lookup& lookup) {
    return absl::StrCat("(uint64_t)", CellText(lookup.index));
  }

  std::string HasRowText(const Lookup& lookup) {
    return absl::StrCat(RowText(lookup), " < ",
                        program_.buffers[lookup.cell.buffer].dims[lookup.axis]);
  }

  // Of a row that there is.
  std::string CellText(const Lookup& lookup) {
    return CellText(lookup.cell, absl::StrCat(" + ", RowText(lookup), " * ",
                                              LookupStride(program_, lookup)));
  }

  std::string LeafText(const LeafValue& value) {
    return std::visit(
        Overload{
            [&](const Access& access) { return CellText(access); },
            [&](const Lookup& lookup) {
              return absl::StrCat("(", HasRowText(lookup), " ? ",
                                  CellText(lookup), " : 0)");
            },
            [&](const GetLocal& get) { return Name(get.local); },
            [&](const Affine& index) { return IndexText(index); },
        },
        value);
  }

  // A name for the value, after a line for each node of it.
  std::string WriteValue(ExprId value) {
    absl::flat_hash_map<ExprId, std::string> names;
    ExprId root = Expand(program_.exprs, value);
    Rewrite(program_.exprs, root, [&](ExprId id) {
      std::string text = std::visit(
          Overload{
              [&](const Constant& constant) { return ConstantText(constant); },
              [&](const Leaf& leaf) { return LeafText(program_.At(leaf)); },
              [&](const Apply& apply) {
                std::vector<std::string> args;
                for (ExprId arg : apply.args) args.push_back(names.at(arg));
                DType from = TypeOf(program_.exprs, apply.args.back());
                return ApplyText(apply.op, apply.dtype, from, args);
              },
          },
          program_.exprs[id]);
      names[id] = absl::StrCat("t", num_values_++);
      Line("const ", TypeText(TypeOf(program_.exprs, id)), " ", names[id],
           " = ", text, ";");
      return id;
    });
    return names.at(root);
  }

  void WriteFor(const For& loop) {
    const std::string i = Name(loop.iterator);
    Line("for (int64_t ", i, " = 0; ", i, " < ", loop.extent, "; ++", i, ") {");
    ++depth_;
    WriteBlock(loop.body);
    --depth_;
    Line("}");
  }

  void WriteBlock(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      std::visit(Overload{
                     [&](const For& loop) { WriteFor(loop); },
                     [&](const Set& set) {
                       std::string value = WriteValue(set.value);
                       Line(CellText(set.target), " = ", value, ";");
                     },
                     [&](const Scatter& scatter) {
                       std::string value = WriteValue(scatter.value);
                       const Lookup& target = program_.TargetOf(scatter);
                       Line("if (", HasRowText(target), ") ", CellText(target),
                            " = ", value, ";");
                     },
                     [&](const DeclareLocal& declare) {
                       std::string value = WriteValue(declare.value);
                       DType dtype = program_.locals[declare.local].dtype;
                       Line(TypeText(dtype), " ", Name(declare.local), " = ",
                            value, ";");
                     },
                     [&](const SetLocal& set) {
                       std::string value = WriteValue(set.value);
                       Line(Name(set.local), " = ", value, ";");
                     },
                     [&](const ZeroOut& zero) {
                       int64_t cells =
                           NumElements(program_.buffers[zero.buffer].dims);
                       Line("for (int64_t c = 0; c < ", cells, "; ++c) ",
                            Name(zero.buffer), "[c] = 0;");
                     },
                     [&](const Comment&) {},
                 },
                 static_cast<const Stmt::variant&>(stmt));
    }
  }

  LoopProgram program_;
  std::string text_;
  int depth_ = 0;
  int num_values_ = 0;
};

}  // namespace

std::string CText(LoopProgram program) {
  return Writer(std::move(program)).Run();
}

}  // namespace ocannl
