// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/cd/parse.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/cd/declaration.h"
#include "ocannl/core/cd/form.h"
#include "ocannl/core/cd/verify.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/loop/value_parser.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

std::vector<absl::string_view> Symbols() {
  std::vector<absl::string_view> symbols;
  for (const AssignOperator& each : kAssignOperators) {
    symbols.push_back(each.symbol);
  }
  // Behind those that begin with them.
  symbols.insert(symbols.end(), {"=>", "!@", "~", "@"});
  return symbols;
}

class Parser : private ValueParser {
 public:
  explicit Parser(absl::string_view text)
      : ValueParser(LoopLexer(text, Symbols())) {}

  absl::StatusOr<Assignments> Code() {
    OCANNL_RETURN_IF_ERROR(lexer_.TakeHeader(
        code_.name, [&](std::string name, std::optional<int64_t> range) {
          statics_[name] = static_cast<int32_t>(code_.statics.size());
          code_.statics.push_back({std::move(name), range});
        }));
    while (lexer_.peek().kind != Token::kEnd) {
      if (lexer_.peek().kind == Token::kComment) {
        code_.list.push_back(BlockComment{
            std::string(absl::StripAsciiWhitespace(lexer_.Next().text))});
        continue;
      }
      const size_t offset = lexer_.peek().offset;
      OCANNL_ASSIGN_OR_RETURN(
          std::string name, lexer_.TakeName("a declaration or an assignment"));
      OCANNL_RETURN_IF_ERROR(lexer_.Accept(":")
                                 ? Declaration(std::move(name), offset)
                                 : Assignment(name, offset));
      OCANNL_RETURN_IF_ERROR(lexer_.Expect(";"));
    }
    return std::move(code_);
  }

 private:
  ExprPool& Pool() override { return code_.exprs; }

  absl::Status Declaration(std::string name, size_t offset) {
    OCANNL_ASSIGN_OR_RETURN(Array array,
                            TakeDeclaration(lexer_, std::move(name), offset));
    if (code_.number_of.contains(array.name)) {
      return ErrorAt(offset, "array `", array.name,
                     "` is declared twice; choose another name");
    }
    code_.AddArray(std::move(array));
    return absl::OkStatus();
  }

  absl::StatusOr<int32_t> FindArray(absl::string_view name, size_t offset) {
    const auto found = code_.number_of.find(name);
    if (found != code_.number_of.end()) return found->second;
    std::vector<std::string> all;
    for (const Array& array : code_.arrays) all.push_back(array.name);
    return ErrorAt(offset, "no array `", name, "`", NearNamesHint(name, all),
                   "; declare it before: ", name, " : f32[...];");
  }

  // [ids], if there is one.
  absl::StatusOr<std::optional<int32_t>> Ids() {
    if (!lexer_.Accept("[")) return std::nullopt;
    const size_t offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(std::string name,
                            lexer_.TakeName("an array of integers"));
    OCANNL_ASSIGN_OR_RETURN(const int32_t ids, FindArray(name, offset));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("]"));
    return ids;
  }

  absl::Status Assignment(absl::string_view name, size_t offset) {
    loops_.clear();
    in_value_.clear();
    assign_ = Assign();
    OCANNL_ASSIGN_OR_RETURN(assign_.lhs, FindArray(name, offset));
    OCANNL_ASSIGN_OR_RETURN(const std::optional<int32_t> ids, Ids());
    if (ids) assign_.lookup = LookedUpAxis{.axis = -1, .ids = 0};
    const auto* found = absl::c_find_if(
        kAssignOperators,
        [&](const AssignOperator& each) { return lexer_.Accept(each.symbol); });
    if (found == std::end(kAssignOperators)) {
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
    OCANNL_RETURN_IF_ERROR(Logic(offset));
    const absl::Status legal = VerifyAssign(code_, assign_);
    if (!legal.ok()) return ErrorAt(offset, legal.message());
    code_.list.push_back(assign_);
    return absl::OkStatus();
  }

  absl::StatusOr<Expr> TakeLeaf(const Token& first) override {
    const auto leaf = static_cast<int32_t>(assign_.sources.size());
    if (first.kind == Token::kSymbol) {
      Affine index;
      if (first.text == "[") {
        OCANNL_ASSIGN_OR_RETURN(index, Index(lexer_, in_value_));
        OCANNL_RETURN_IF_ERROR(lexer_.Expect("]"));
      } else {
        OCANNL_ASSIGN_OR_RETURN(index, StaticIndex(lexer_));
      }
      assign_.sources.push_back(ReadIndex{std::move(index)});
      return MakeLeaf(code_.exprs, DType::kI64, leaf);
    }
    OCANNL_ASSIGN_OR_RETURN(const int32_t array,
                            FindArray(first.text, first.offset));
    OCANNL_ASSIGN_OR_RETURN(const std::optional<int32_t> ids, Ids());
    if (ids) {
      assign_.sources.push_back(
          ReadLookup{.table = {array, {}}, .axis = -1, .ids = {*ids, {}}});
    } else {
      assign_.sources.push_back(ReadArray{array, {}});
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
  absl::Status Logic(size_t offset) {
    if (!lexer_.Accept("~")) return Pointwise(offset);
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("logic"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(":"));
    const Token spec = lexer_.peek();
    if (spec.kind != Token::kString) {
      return lexer_.ExpectedError("\".\" or a spec, such as \"i, j => i\"");
    }
    lexer_.Next();
    return spec.text == "." ? Pointwise(offset) : Spec(spec);
  }

  absl::Status Pointwise(size_t offset) {
    const Array& lhs = code_.arrays[assign_.lhs];
    CellLoops loops(lhs.dims);
    for (Source& source : assign_.sources) {
      auto* read = std::get_if<ReadArray>(&source);
      if (read == nullptr) continue;
      const Array& array = code_.arrays[read->array];
      if (NumElements(array.dims) == 1) {
        read->indices = Indices(array.dims.size(), Affine(0));
      } else if (array.dims == lhs.dims) {
        read->indices = loops.indices;
      } else {
        return ErrorAt(offset, "`", lhs.name, "` is ",
                       DescribeArray(lhs.dtype, lhs.dims), ", but `",
                       array.name, "` ", DescribeArray(array.dtype, array.dims),
                       "; ", kSaySpec);
      }
    }
    const bool looks_up =
        assign_.lookup || absl::c_any_of(assign_.sources, [](const Source& s) {
          return std::holds_alternative<ReadLookup>(s);
        });
    if (looks_up || !loops_.empty()) {
      return ErrorAt(offset, "which cells go together is open; ", kSaySpec);
    }
    assign_.lhs_indices = std::move(loops.indices);
    assign_.extents = std::move(loops.extents);
    return absl::OkStatus();
  }

  absl::Status Spec(const Token& quoted) {
    LoopLexer in = lexer_;
    in.Enter(quoted);
    std::vector<int32_t> order;  // in which loops are named
    std::vector<int32_t> in_value = std::exchange(in_value_, {});
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
        OCANNL_ASSIGN_OR_RETURN(const Constant outside,
                                TakeConstant(in, DType::kF64));
        read->outside = ToDouble(outside);
      } else if (auto* lookup = std::get_if<ReadLookup>(&source)) {
        OCANNL_RETURN_IF_ERROR(slot(lookup->table, &lookup->axis));
        OCANNL_RETURN_IF_ERROR(slot(lookup->ids, nullptr));
      }
    }
    OCANNL_RETURN_IF_ERROR(in.Expect("=>"));
    std::vector<int32_t> whole;
    OCANNL_RETURN_IF_ERROR(
        Slot(in, assign_.lhs, whole, assign_.lhs_indices,
             assign_.lookup ? &assign_.lookup->axis : nullptr));
    if (in.peek().kind != Token::kEnd) {
      return in.ExpectedError("the end of the spec");
    }
    whole.insert(whole.end(), order.begin(), order.end());
    whole.insert(whole.end(), in_value.begin(), in_value.end());
    return Loops(quoted.offset, whole);
  }

  // An index for each axis of the array; appends the loops in them to `order`.
  absl::Status Slot(LoopLexer& in, int32_t array, std::vector<int32_t>& order,
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

  absl::StatusOr<Affine> Index(LoopLexer& in, std::vector<int32_t>& order) {
    return in.TakeIndex([&]() -> absl::StatusOr<Symbol> {
      if (in.peek().text == "!@") {
        in.Next();
        return StaticIndex(in);
      }
      if (in.peek().kind != Token::kName) return in.ExpectedError("an index");
      const auto next = static_cast<int32_t>(loops_.size());
      const int32_t loop = loops_.emplace(in.Next().text, next).first->second;
      order.push_back(loop);
      return Iterator({loop});
    });
  }

  absl::StatusOr<Symbol> StaticIndex(LoopLexer& in) const {
    const Token name = in.peek();
    const auto found = statics_.find(name.text);
    if (name.kind != Token::kName || found == statics_.end()) {
      return in.ExpectedError(
          "a static index, which is declared as in step (batch : [0..9]):");
    }
    in.Next();
    return Static(found->second);
  }

  // Numbers the loops as they run: as behind the spec, else in `order`, where
  // some are more than once.
  absl::Status Loops(size_t offset, const std::vector<int32_t>& order) {
    IdVector<IteratorId, IteratorId> place(loops_.size());
    LoopExtents extents;
    if (lexer_.Accept("[")) {
      OCANNL_RETURN_IF_ERROR(ListedLoops(place, extents));
    } else {
      for (int32_t k : order) {
        const IteratorId loop = {k};
        if (place[loop].valid()) continue;
        const std::optional<int64_t> extent = PlainExtent(code_, assign_, loop);
        if (!extent) {
          return ErrorAt(offset, "no axis is indexed by `", NameOf(loop),
                         "` alone; list all loops behind the spec, the ",
                         "outermost first: [\"", NameOf(loop), "\" = 3; ...]");
        }
        place[loop] = extents.Add(*extent);
      }
    }
    Renumber(place);
    assign_.extents = std::move(extents);
    MergeSources();
    return absl::OkStatus();
  }

  std::string NameOf(IteratorId loop) const {
    const auto found = absl::c_find_if(
        loops_, [&](const auto& each) { return each.second == loop.index; });
    return found->first;
  }

  // ["i" = 3; "j" = 4]
  absl::Status ListedLoops(IdVector<IteratorId, IteratorId>& place,
                           LoopExtents& extents) {
    do {
      const Token name = lexer_.peek();
      if (name.kind != Token::kString) {
        return lexer_.ExpectedError("a loop and its size: \"i\" = 3");
      }
      lexer_.Next();
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
      const size_t offset = lexer_.peek().offset;
      OCANNL_ASSIGN_OR_RETURN(const int64_t extent,
                              lexer_.TakeInteger("a size"));
      if (extent < 1) return ErrorAt(offset, "the least size is 1");
      const IteratorId next = extents.Add(extent);
      const auto named = loops_.find(name.text);
      if (named == loops_.end()) continue;  // it repeats the others
      IteratorId& at = place[IteratorId{named->second}];
      if (at.valid()) {
        return ErrorAt(name.offset, "`", name.text, "` is listed twice");
      }
      at = next;
    } while (lexer_.Accept(";"));
    for (IteratorId loop : place.ids()) {
      if (place[loop].valid()) continue;
      return lexer_.Error(absl::StrCat("`", NameOf(loop), "` is not listed; ",
                                       "list all loops or none"));
    }
    return lexer_.Expect("]");
  }

  void Renumber(const IdVector<IteratorId, IteratorId>& place) {
    auto renumber = [&](Affine& index) {
      index = index.Substitute([&](Symbol symbol) -> Affine {
        if (symbol.kind == Symbol::kStatic) return symbol;
        return Iterator(place[symbol.iterator()]);
      });
    };
    auto renumber_all = [&](ReadArray& read) {
      absl::c_for_each(read.indices, renumber);
    };
    absl::c_for_each(assign_.lhs_indices, renumber);
    for (Source& source : assign_.sources) {
      if (auto* read = std::get_if<ReadArray>(&source)) renumber_all(*read);
      if (auto* number = std::get_if<ReadIndex>(&source)) {
        renumber(number->index);
      }
      if (auto* lookup = std::get_if<ReadLookup>(&source)) {
        renumber_all(lookup->table);
        renumber_all(lookup->ids);
      }
    }
  }

  // Each source once, so that it is padded once.
  void MergeSources() {
    std::vector<Source> merged;
    std::vector<int32_t> number;
    for (Source& source : assign_.sources) {
      const auto known = absl::c_find_if(
          merged, [&](const Source& s) { return SameSource(s, source); });
      number.push_back(static_cast<int32_t>(known - merged.begin()));
      if (known == merged.end()) merged.push_back(std::move(source));
    }
    assign_.sources = std::move(merged);
    if (assign_.lookup) assign_.lookup->ids = number[assign_.lookup->ids];
    assign_.rhs = Rewrite(code_.exprs, assign_.rhs, [&](ExprId node) {
      const auto* leaf = std::get_if<Leaf>(&code_.exprs[node]);
      if (leaf == nullptr) return node;
      return MakeLeaf(code_.exprs, leaf->dtype, number[leaf->id]).id();
    });
  }

  static constexpr absl::string_view kSaySpec =
      "say so by ~logic:\"i, j => i\", with an index for each axis of each "
      "array in the value, and of the result";

  Assignments code_;
  absl::flat_hash_map<std::string, int32_t> statics_;
  // Of the assignment that is read:
  Assign assign_;
  absl::flat_hash_map<std::string, int32_t> loops_;
  std::vector<int32_t> in_value_;  // loops in indices that are numbers
};

}  // namespace

absl::StatusOr<Assignments> ParseCd(absl::string_view text) {
  return Parser(text).Code();
}

}  // namespace ocannl
