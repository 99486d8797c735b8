// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/op.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl {
namespace {

constexpr std::array<OpInfo, kNumOps> kInfos = {{
#define PRIMITIVE(name, text, arity, typing, traits, grads) \
  {#name, text, arity, Typing::typing, traits, true},
#define DERIVED(name, text, arity, typing, value, grads) \
  {#name, text, arity, Typing::typing, kNoTraits, false},
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
}};

constexpr std::array<Op, kNumOps> kAllOps = [] {
  std::array<Op, kNumOps> ops = {};
  for (int i = 0; i < kNumOps; ++i) ops[i] = static_cast<Op>(i);
  return ops;
}();

absl::string_view Wanted(Typing typing) {
  switch (typing) {
    case Typing::kNumber:
    case Typing::kCompare:
      return "numbers of one type";
    case Typing::kInteger:
      return "integers of one type";
    case Typing::kFloat:
      return "floats of one type";
    case Typing::kBits:
      return "integers or bools of one type";
    case Typing::kWord:
      return "u32 operands";
    case Typing::kSelect:
      return "a bool and two operands of one type";
    case Typing::kConvert:
      return "anything";
    case Typing::kBitcast:
      return "a number and gives one of the same size";
  }
  __builtin_unreachable();
}

// "exp(a)"
std::string Example(Op op, DType wanted) {
  std::vector<std::string> operands;
  for (int i = 0; i < Info(op).arity; ++i) operands.emplace_back(1, 'a' + i);
  return absl::StrCat(CallName(op, wanted), "(", absl::StrJoin(operands, ", "),
                      ")");
}

absl::Status ArityError(Op op, size_t given, DType wanted) {
  const int arity = Info(op).arity;
  return absl::InvalidArgumentError(
      absl::StrCat("`", CallName(op, wanted), "` takes ", arity,
                   arity == 1 ? " operand" : " operands", ", but it was given ",
                   given, "; write ", Example(op, wanted)));
}

absl::Status TypeError(Op op, absl::Span<const DType> args, DType wanted) {
  std::string given = absl::StrJoin(
      args, ", ",
      [](std::string* out, DType dtype) { absl::StrAppend(out, Name(dtype)); });
  return absl::InvalidArgumentError(absl::StrCat(
      "`", CallName(op, wanted), "` takes ", Wanted(Info(op).typing),
      ", but it was given (", given, "); ",
      Info(op).typing == Typing::kBits ? "compare them first, as in (x < 1)"
                                       : "convert the operands"));
}

}  // namespace

const OpInfo& Info(Op op) { return kInfos[static_cast<int>(op)]; }

absl::Span<const Op> AllOps() { return kAllOps; }

std::optional<Op> FindOp(absl::string_view text) {
  for (Op op : AllOps()) {
    if (op == Op::kConvert || op == Op::kBitcast) continue;
    if (Info(op).text == text) return op;
  }
  return std::nullopt;
}

std::string CallName(Op op, DType wanted) {
  if (op == Op::kConvert) return std::string(Name(wanted));
  if (op == Op::kBitcast) return absl::StrCat("bits_", Name(wanted));
  return std::string(Info(op).text);
}

bool IsInfix(Op op) { return !absl::ascii_isalpha(Info(op).text[0]); }

bool Accepts(Typing typing, DType dtype) {
  switch (typing) {
    case Typing::kNumber:
      return dtype != DType::kBool && !IsNarrow(dtype);
    case Typing::kBitcast:
      return dtype != DType::kBool;
    case Typing::kInteger:
      return IsInteger(dtype);
    case Typing::kFloat:
      return IsFloat(dtype);
    case Typing::kBits:
      return IsInteger(dtype) || dtype == DType::kBool;
    case Typing::kWord:
      return dtype == DType::kU32;
    case Typing::kCompare:
      return !IsNarrow(dtype);
    case Typing::kSelect:
    case Typing::kConvert:
      return true;
  }
  __builtin_unreachable();
}

absl::StatusOr<DType> ResultType(Op op, absl::Span<const DType> args,
                                 DType wanted) {
  const OpInfo& info = Info(op);
  if (static_cast<int>(args.size()) != info.arity) {
    return ArityError(op, args.size(), wanted);
  }
  bool is_select = info.typing == Typing::kSelect;
  absl::Span<const DType> same = is_select ? args.subspan(1) : args;
  bool ok = !is_select || args[0] == DType::kBool;
  for (DType dtype : same) {
    ok = ok && dtype == same[0] && Accepts(info.typing, dtype);
  }
  if (info.typing == Typing::kBitcast) {
    ok = ok && wanted != DType::kBool && SizeOf(wanted) == SizeOf(same[0]);
  }
  if (!ok) return TypeError(op, args, wanted);
  switch (info.typing) {
    case Typing::kCompare:
      return DType::kBool;
    case Typing::kConvert:
    case Typing::kBitcast:
      return wanted;
    default:
      return same[0];
  }
}

}  // namespace ocannl
