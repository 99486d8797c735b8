// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/export/term.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/onnx/write.h"

namespace ocannl::onnx {
namespace {

// `op` written with operations that ONNX has; none: it has it, or nothing.
std::optional<Expr> InOtherOps(Op op, absl::Span<const Expr> args) {
  const Expr a = args[0];
  const Expr b = args.size() > 1 ? args[1] : a;
  switch (op) {
    case Op::kNotEqual:
      return Not(Equal(a, b));
    case Op::kFma:
      return a * b + args[2];
    case Op::kMul3:
      return a * b * args[2];
    case Op::kTrunc:
      return Select(a < 0, Ceil(a), Floor(a));
    case Op::kRsqrt:
      return Recip(Sqrt(a));
    case Op::kSquare:
      return a * a;
    case Op::kLog1p:
      return Log(1 + a);
    case Op::kExpm1:
      return Exp(a) - 1;
    case Op::kExp2:
      return Pow(LiteralLike(a, 2), a);
    case Op::kLog2:
      return Log(a) * 1.4426950408889634074;
    case Op::kLog10:
      return Log(a) * 0.43429448190325182765;
    case Op::kCbrt:
      return Select(a < 0, -Pow(-a, 1.0 / 3), Pow(a, 1.0 / 3));
    case Op::kHypot:
      return Sqrt(a * a + b * b);
    case Op::kSilu:
      return a * Sigmoid(a);
    case Op::kSat01:
      return Min(1, Max(0, a));
    case Op::kReluGate:
      return Select(LiteralLike(a, 0) < a, b, 0);
    case Op::kSat01Gate:
      return Select((0 < a) & (a < 1), b, 0);
    default:
      return std::nullopt;
  }
}

// Operations that ONNX has under the same name.
constexpr Op kSame[] = {
    Op::kAdd,   Op::kSub,      Op::kMul,   Op::kDiv,   Op::kNeg,  Op::kAbs,
    Op::kSqrt,  Op::kFloor,    Op::kCeil,  Op::kRound, Op::kMin,  Op::kMax,
    Op::kLess,  Op::kEqual,    Op::kExp,   Op::kLog,   Op::kSin,  Op::kCos,
    Op::kTan,   Op::kAsin,     Op::kAcos,  Op::kAtan,  Op::kSinh, Op::kCosh,
    Op::kAsinh, Op::kAcosh,    Op::kAtanh, Op::kTanh,  Op::kErf,  Op::kSigmoid,
    Op::kRelu,  Op::kSoftplus, Op::kGelu,  Op::kPow};

// The operator of ONNX that is `op` on operands of `dtype`; empty: none.
std::string OperatorOf(Op op, DType dtype) {
  if (absl::c_linear_search(kSame, op)) return std::string(Info(op).name);
  switch (op) {
    case Op::kMinimum:
      return "Min";
    case Op::kMaximum:
      return "Max";
    case Op::kLessEqual:
      return "LessOrEqual";
    case Op::kRecip:
      return "Reciprocal";
    case Op::kRem:
      return "Mod";
    case Op::kGeluTanh:
      return "Gelu";
    case Op::kSelect:
      return "Where";
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kNot:
      return absl::StrCat(dtype == DType::kBool ? "" : "Bitwise",
                          Info(op).name);
    case Op::kShl:
    case Op::kShr:
      return IsSigned(dtype) ? "" : "BitShift";
    default:
      return "";
  }
}

FileGraph::Attributes AttributesOf(Op op) {
  switch (op) {
    case Op::kRem:
      return {{"fmod", WholeAttribute(1)}};
    case Op::kGeluTanh:
      return {{"approximate", TextAttribute("tanh")}};
    case Op::kShl:
      return {{"direction", TextAttribute("LEFT")}};
    case Op::kShr:
      return {{"direction", TextAttribute("RIGHT")}};
    default:
      return {};
  }
}

class TermWriter {
 public:
  TermWriter(ExprPool& pool, absl::Span<const FileValue> leaves, FileGraph& to)
      : pool_(pool), leaves_(leaves), to_(to) {}

  FileValue Write(ExprId root) {
    return VisitOnce<FileValue>(pool_, root, done_,
                                [&](ExprId id) { return WriteNode(id); });
  }

 private:
  FileValue WriteNode(ExprId id) {
    const ExprNode node = pool_[id];  // the pool may grow
    return std::visit(
        Overload{[&](const ocannl::Constant& constant) {
                   return to_.Number(constant);
                 },
                 [&](const Leaf& leaf) {
                   return to_.Cast(leaves_[leaf.id], leaf.dtype);
                 },
                 [&](const Apply& apply) { return WriteApply(apply); }},
        node);
  }

  FileValue WriteApply(const Apply& apply) {
    if (apply.op == Op::kConvert) {
      return to_.Cast(done_.at(apply.args[0]), apply.dtype);
    }
    std::vector<Expr> args;
    for (ExprId arg : apply.args) args.emplace_back(&pool_, arg);
    if (std::optional<Expr> other = InOtherOps(apply.op, args)) {
      return Write(other->id());
    }
    const DType dtype = args[0].dtype();
    const std::string name = OperatorOf(apply.op, dtype);
    if (name.empty()) {
      Refuse("ONNX has no operator for ", Info(apply.op).text, " on ",
             Name(dtype));
    }
    std::vector<FileValue> inputs;
    Dims dims;
    for (ExprId arg : apply.args) {
      inputs.push_back(done_.at(arg));
      dims = JoinedDims(dims, inputs.back().dims);
    }
    return to_.Op(name, inputs, apply.dtype, dims, AttributesOf(apply.op));
  }

  ExprPool& pool_;
  absl::Span<const FileValue> leaves_;
  FileGraph& to_;
  NodeMap<FileValue> done_;
};

}  // namespace

FileValue WriteTerm(ExprPool& pool, ExprId root,
                    absl::Span<const FileValue> leaves, FileGraph& to) {
  return TermWriter(pool, leaves, to).Write(root);
}

}  // namespace ocannl::onnx
