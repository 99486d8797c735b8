// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/op.h"

#include <array>
#include <optional>
#include <string>

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
    case Typing::kBitcast:
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
      return "one operand";
  }
  __builtin_unreachable();
}

absl::Status TypeError(Op op, absl::Span<const DType> args) {
  std::string given = absl::StrJoin(
      args, ", ",
      [](std::string* out, DType dtype) { absl::StrAppend(out, Name(dtype)); });
  return absl::InvalidArgumentError(
      absl::StrCat("`", Info(op).text, "` takes ", Wanted(Info(op).typing),
                   ", but it was given (", given, "); convert the operands"));
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

bool IsInfix(Op op) { return !absl::ascii_isalpha(Info(op).text[0]); }

bool Accepts(Typing typing, DType dtype) {
  switch (typing) {
    case Typing::kNumber:
    case Typing::kBitcast:
      return dtype != DType::kBool;
    case Typing::kInteger:
      return IsInteger(dtype);
    case Typing::kFloat:
      return IsFloat(dtype);
    case Typing::kBits:
      return !IsFloat(dtype);
    case Typing::kWord:
      return dtype == DType::kU32;
    case Typing::kCompare:
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
    return absl::InvalidArgumentError(
        absl::StrCat("`", info.text, "` takes ", info.arity,
                     " operands, but it was given ", args.size()));
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
  if (!ok) return TypeError(op, args);
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
