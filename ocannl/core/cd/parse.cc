// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/cd/parse.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/cd/declaration.h"
#include "ocannl/core/cd/form.h"
#include "ocannl/core/cd/verify.h"
#include "ocannl/core/loop/loop_lexer.h"
#include "ocannl/core/loop/value_parser.h"
#include "ocannl/core/notation/operators.h"

namespace ocannl {
namespace {

// The number that cells outside of an array of `dtype` hold, or an infinity for
// the greatest or least one of its integers.
absl::StatusOr<double> TakeOutside(LoopLexer& in, DType dtype) {
  const size_t offset = in.peek().offset;
  OCANNL_ASSIGN_OR_RETURN(const Constant constant,
                          TakeConstant(in, DType::kF64));
  const double outside = ToDouble(constant);
  const double held = ToDouble(MakeConstant(dtype, outside));
  const bool is_whole = held == outside && std::abs(held) < 0x1p53;
  if (IsFloat(ComputeDType(dtype)) || std::isinf(outside) || is_whole) {
    return outside;
  }
  return in.ErrorAt(offset, "what is outside of an array of ", Name(dtype),
                    " is an integer of it below 2^53, inf or -inf; "
                    "write one of these");
}

std::vector<absl::string_view> Symbols() {
  std::vector<absl::string_view> symbols;
  for (const AssignOperator& each : kAssignOperators) {
    symbols.push_back(each.symbol);
  }
  // Behind those that begin with them.
  symbols.insert(symbols.end(), {"=>", "!@", "~", "@"});
  return symbols;
}

using LoopNames = IdVector<IteratorId, std::string>;
using LoopOrder = std::vector<IteratorId>;  // some more than once

// The loop of that name; the next one, if there is none.
IteratorId Find(const LoopNames& loops, absl::string_view name) {
  const auto found = absl::c_find(loops, name);
  return {static_cast<int32_t>(found - loops.begin())};
}

// A static index of `code`.
absl::StatusOr<Symbol> TakeStatic(LoopLexer& in, const Assignments& code) {
  const bool is_name = in.peek().kind == Token::kName;
  for (size_t k = code.statics.size(); is_name && k-- > 0;) {
    if (code.statics[k].name != in.peek().text) continue;
    in.Next();
    return Static(static_cast<int32_t>(k));
  }
  return in.ExpectedError(
      "a static index, which is declared as in step (batch : [0..9]):");
}

// Reads assignments and adds them to `code`.
class AssignParser : private ValueParser {
 public:
  AssignParser(absl::string_view text, Assignments& code)
      : ValueParser(LoopLexer(text, Symbols())), code_(code) {}

  LoopLexer& lexer() { return lexer_; }

  // Reads the assignment to the array `name`, which is taken already.
  absl::Status Add(const Token& name) {
    loops_.clear();
    in_value_.clear();
    assign_ = Assign();
    OCANNL_ASSIGN_OR_RETURN(assign_.lhs, FindArray(name));
    OCANNL_ASSIGN_OR_RETURN(const std::optional<int32_t> ids, Ids());
    if (ids) assign_.lookup = LookedUpAxis{.axis = -1, .ids = 0};
    const AssignOperator* found = AcceptAssign(lexer_);
    if (found == nullptr) {
      return lexer_.ExpectedError("`:` or an assignment, such as `=:` or `=+`");
    }
    assign_.accum = found->accum;
    assign_.reset = found->reset;
    OCANNL_ASSIGN_OR_RETURN(const Expr value, TakeValue());
    assign_.rhs = value.id();
    if (ids) {
      assign_.lookup->ids = static_cast<int32_t>(assign_.sources.size());
      assign_.sources.push_back(ReadArray{*ids, {}});
    }
    OCANNL_RETURN_IF_ERROR(Logic(name));
    const absl::Status legal = VerifyAssign(code_, assign_);
    if (!legal.ok()) return ErrorAt(name, legal.message());
    code_.list.push_back(assign_);
    return absl::OkStatus();
  }

 private:
  ExprPool& Pool() override { return code_.exprs; }

  absl::StatusOr<int32_t> FindArray(const Token& name) {
    if (auto found = code_.FindArray(name.text)) return *found;
    std::vector<std::string> all;
    for (const Array& array : code_.arrays) all.push_back(array.name);
    return ErrorAt(name, "no array `", name.text, "`",
                   NearNamesHint(name.text, all),
                   "; declare it before: ", name.text, " : f32[...];");
  }

  // [ids], if there is one.
  absl::StatusOr<std::optional<int32_t>> Ids() {
    if (!lexer_.Accept("[")) return std::nullopt;
    OCANNL_ASSIGN_OR_RETURN(const Token name,
                            lexer_.TakeName("an array of integers"));
    OCANNL_ASSIGN_OR_RETURN(const int32_t ids, FindArray(name));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("]"));
    return ids;
  }

  absl::StatusOr<Expr> TakeLeaf(const Token& first) override {
    const auto leaf = static_cast<int32_t>(assign_.sources.size());
    if (first.kind == Token::kSymbol) {
      Affine index;
      if (first.text == "[") {
        OCANNL_ASSIGN_OR_RETURN(index, Index(lexer_, in_value_));
        OCANNL_RETURN_IF_ERROR(lexer_.Expect("]"));
      } else {
        OCANNL_ASSIGN_OR_RETURN(index, TakeStatic(lexer_, code_));
      }
      assign_.sources.push_back(ReadIndex{std::move(index)});
      return MakeLeaf(code_.exprs, DType::kI64, leaf);
    }
    OCANNL_ASSIGN_OR_RETURN(const int32_t array, FindArray(first));
    OCANNL_ASSIGN_OR_RETURN(const std::optional<int32_t> ids, Ids());
    Source& source = assign_.sources.emplace_back(ReadArray{array, {}});
    if (ids) {
      source =
          ReadLookup{ReadArray{array, {}}, /*axis=*/-1, ReadArray{*ids, {}}};
    }
    return MakeLeaf(code_.exprs, ComputeDType(code_.arrays[array].dtype), leaf);
  }

  std::optional<Expr> AsStored(Expr value, DType dtype) override {
    const auto* leaf = std::get_if<Leaf>(&code_.exprs[value.id()]);
    if (leaf == nullptr) return std::nullopt;
    const std::optional<int32_t> array = ArrayOf(assign_.sources[leaf->id]);
    if (!array || code_.arrays[*array].dtype != dtype) return std::nullopt;
    return MakeLeaf(code_.exprs, dtype, leaf->id);
  }

  // What stands behind the value: nothing, or where its cells are.
  absl::Status Logic(const Token& target) {
    if (!lexer_.Accept("~")) return Pointwise(target);
    OCANNL_ASSIGN_OR_RETURN(
        const Token spec,
        TakeLogic(lexer_, "\".\" or a spec, such as \"i, j => i\""));
    return spec.text == "." ? Pointwise(target) : Spec(spec);
  }

  absl::Status Pointwise(const Token& target) {
    const absl::Status made = MakePointwise(code_, !loops_.empty(), assign_);
    if (made.ok()) return made;
    return ErrorAt(target, made.message(), "; say so by ~logic:\"i, j => i\", ",
                   "with an index for each axis of each array in the value, ",
                   "and of the result");
  }

  absl::Status Spec(const Token& quoted) {
    LoopLexer in = lexer_;
    in.Enter(quoted);
    LoopOrder order;
    bool is_first = true;
    auto slot = [&](ReadArray& read, int32_t* looked_up_axis) {
      if (!std::exchange(is_first, false)) {
        OCANNL_RETURN_IF_ERROR(in.Expect(";"));
      }
      return Slot(in, read.array, order, read.indices, looked_up_axis);
    };
    for (Source& source : assign_.sources) {
      if (auto* read = std::get_if<ReadArray>(&source)) {
        OCANNL_RETURN_IF_ERROR(slot(*read, nullptr));
        if (!in.Accept("else")) continue;
        const DType dtype = code_.arrays[read->array].dtype;
        OCANNL_ASSIGN_OR_RETURN(read->outside, TakeOutside(in, dtype));
      } else if (auto* lookup = std::get_if<ReadLookup>(&source)) {
        OCANNL_RETURN_IF_ERROR(slot(lookup->table.Mutable(), &lookup->axis));
        OCANNL_RETURN_IF_ERROR(slot(lookup->ids.Mutable(), nullptr));
      }
    }
    OCANNL_RETURN_IF_ERROR(in.Expect("=>"));
    LoopOrder whole;
    OCANNL_RETURN_IF_ERROR(
        Slot(in, assign_.lhs, whole, assign_.lhs_indices,
             assign_.lookup ? &assign_.lookup->axis : nullptr));
    if (in.peek().kind != Token::kEnd) {
      return in.ExpectedError("the end of the spec");
    }
    whole.insert(whole.end(), order.begin(), order.end());
    whole.insert(whole.end(), in_value_.begin(), in_value_.end());
    return Loops(quoted, whole);
  }

  // An index for each axis of the array; appends the loops in them to `order`.
  absl::Status Slot(LoopLexer& in, int32_t array, LoopOrder& order,
                    Indices& indices, int32_t* looked_up_axis) {
    const size_t offset = in.peek().offset;
    const size_t rank = code_.arrays[array].dims.size();
    for (size_t axis = 0; axis < rank; ++axis) {
      if (axis > 0 && !in.Accept(",")) {
        return ErrorAt(offset, "`", code_.arrays[array].name, "` has ", rank,
                       " axes, not ", axis, "; write an index for each, with ",
                       "commas");
      }
      indices.emplace_back();
      if (looked_up_axis != nullptr && *looked_up_axis < 0 && in.Accept("@")) {
        *looked_up_axis = static_cast<int32_t>(axis);
        continue;
      }
      OCANNL_ASSIGN_OR_RETURN(indices.back(), Index(in, order));
    }
    if (looked_up_axis == nullptr || *looked_up_axis >= 0) {
      return absl::OkStatus();
    }
    return ErrorAt(offset, "no axis of `", code_.arrays[array].name,
                   "` is looked up; write @ for the index of one");
  }

  absl::StatusOr<Affine> Index(LoopLexer& in, LoopOrder& order) {
    return in.TakeIndex([&]() -> absl::StatusOr<Symbol> {
      if (in.Accept("!@")) return TakeStatic(in, code_);
      OCANNL_ASSIGN_OR_RETURN(const Token name,
                              in.Take(Token::kName, "an index"));
      const IteratorId loop = Find(loops_, name.text);
      if (loop == loops_.next_id()) loops_.Add(std::string(name.text));
      order.push_back(loop);
      return Iterator(loop);
    });
  }

  // Numbers the loops as they run: as behind the spec, else in `order`.
  absl::Status Loops(const Token& spec, const LoopOrder& order) {
    IdVector<IteratorId, IteratorId> place(loops_.size());
    if (lexer_.Accept("[")) {
      OCANNL_RETURN_IF_ERROR(ListedLoops(place));
    } else {
      for (IteratorId loop : order) {
        if (place[loop].valid()) continue;
        const std::optional<int64_t> extent = PlainExtent(code_, assign_, loop);
        if (!extent) {
          return ErrorAt(spec, "no axis is indexed by `", loops_[loop],
                         "` alone; list all loops behind the spec, the ",
                         "outermost first: [\"", loops_[loop], "\" = 3; ...]");
        }
        place[loop] = assign_.extents.Add(*extent);
      }
    }
    OCANNL_RETURN_IF_ERROR(CheckReduced(spec, place));
    SubstituteLoops(assign_,
                    [&](IteratorId loop) { return Iterator(place[loop]); });
    MergeSources(code_.exprs, assign_);
    return absl::OkStatus();
  }

  // Error: a loop writes cells again and again, and accumulates nothing.
  absl::Status CheckReduced(const Token& spec,
                            const IdVector<IteratorId, IteratorId>& place) {
    if (assign_.accum || assign_.lookup) return absl::OkStatus();
    for (IteratorId loop : loops_.ids()) {
      if (DependsOn(assign_.lhs_indices, loop) ||
          assign_.extents[place[loop]] == 1) {
        continue;
      }
      return ErrorAt(spec, "`", loops_[loop], "` is not in the result, so ",
                     "only the last value of each cell would stay; ",
                     "accumulate them, such as by =:+ or =:@^");
    }
    return absl::OkStatus();
  }

  // ["i" = 3; "j" = 4]
  absl::Status ListedLoops(IdVector<IteratorId, IteratorId>& place) {
    do {
      OCANNL_ASSIGN_OR_RETURN(
          const Token name,
          lexer_.Take(Token::kString, "a loop and its size: \"i\" = 3"));
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
      const size_t offset = lexer_.peek().offset;
      OCANNL_ASSIGN_OR_RETURN(const int64_t extent,
                              lexer_.TakeInteger("a size"));
      if (extent < 1) return ErrorAt(offset, "the least size is 1");
      const IteratorId next = assign_.extents.Add(extent);
      const IteratorId loop = Find(loops_, name.text);
      if (loop == loops_.next_id()) continue;  // it repeats the others
      if (place[loop].valid()) {
        return ErrorAt(name, "`", name.text, "` is listed twice");
      }
      place[loop] = next;
    } while (lexer_.Accept(";"));
    for (IteratorId loop : place.ids()) {
      if (place[loop].valid()) continue;
      return lexer_.Error("`", loops_[loop], "` is not listed; ",
                          "list all loops or none");
    }
    return lexer_.Expect("]");
  }

  Assignments& code_;
  // Of the assignment that is read:
  Assign assign_;
  LoopNames loops_;
  LoopOrder in_value_;  // loops in indices that are numbers
};

absl::Status Read(absl::string_view text, Assignments& code) {
  AssignParser assignments(text, code);
  LoopLexer& in = assignments.lexer();
  OCANNL_RETURN_IF_ERROR(in.TakeHeader(
      code.name, [&](std::string name, std::optional<int64_t> range) {
        code.statics.push_back({std::move(name), range});
      }));
  while (in.peek().kind != Token::kEnd) {
    if (in.peek().kind == Token::kComment) {
      code.list.push_back(BlockComment{
          std::string(absl::StripAsciiWhitespace(in.Next().text))});
      continue;
    }
    OCANNL_ASSIGN_OR_RETURN(const Token name,
                            in.TakeName("a declaration or an assignment"));
    if (in.Accept(":")) {
      OCANNL_ASSIGN_OR_RETURN(Array array, TakeDeclaration(in, name));
      if (code.FindArray(array.name)) {
        return in.ErrorAt(name, "array `", array.name,
                          "` is declared twice; choose another name");
      }
      code.AddArray(std::move(array));
    } else {
      OCANNL_RETURN_IF_ERROR(assignments.Add(name));
    }
    OCANNL_RETURN_IF_ERROR(in.Expect(";"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Assignments> ParseCd(absl::string_view text) {
  Assignments code;
  OCANNL_RETURN_IF_ERROR(WithLoopHabit(Read(text, code), text));
  return code;
}

}  // namespace ocannl
