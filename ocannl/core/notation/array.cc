// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/array.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/number.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/core/tensor/arrange.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl {
namespace {

constexpr int kMaxBrackets = 200;

struct Bracket {
  absl::string_view open;
  absl::string_view close;
  std::optional<RowKind> axis;
};

constexpr Bracket kBrackets[] = {{"[", "]", RowKind::kOutput},
                                 {"(", ")", RowKind::kInput},
                                 {"[|", "|]", RowKind::kBatch},
                                 {"{", "}", std::nullopt}};

const Bracket* FindOpen(const Token& token) {
  for (const Bracket& bracket : kBrackets) {
    if (token.kind == Token::kSymbol && token.text == bracket.open) {
      return &bracket;
    }
  }
  return nullptr;
}

bool IsClose(const Token& token) {
  for (const Bracket& bracket : kBrackets) {
    if (token.kind == Token::kSymbol && token.text == bracket.close) {
      return true;
    }
  }
  return false;
}

bool IsSeparator(const Token& token) {
  return token.kind == Token::kSymbol &&
         (token.text == "," || token.text == ";");
}

class ArrayParser {
 public:
  ArrayParser(Lexer& lexer, BracketTable& brackets)
      : lexer_(lexer), brackets_(brackets) {}

  absl::StatusOr<ArrayText> Parse() {
    OCANNL_RETURN_IF_ERROR(Element(0));
    for (const Axis& axis : axes_) array_.shape[axis.kind].push_back(axis.size);
    return std::move(array_);
  }

 private:
  struct Axis {
    RowKind kind;
    int64_t size;  // 0 until its first bracket closes
  };

  absl::Status Element(int depth) {
    if (depth > kMaxBrackets) {
      return lexer_.Error("the array is nested too deeply");
    }
    if (brackets_.AtArray(lexer_)) return Brackets(depth);
    if (lexer_.Accept("(")) {
      OCANNL_RETURN_IF_ERROR(Element(depth + 1));
      return lexer_.Expect(")");
    }
    return Number();
  }

  absl::Status Brackets(int depth) {
    const Token open = lexer_.Next();
    const Bracket& bracket = *FindOpen(open);
    const size_t level = level_++;
    OCANNL_RETURN_IF_ERROR(Open(open, *bracket.axis, level));
    int64_t size = 0;
    do {
      if (size > 0 && IsClose(lexer_.peek())) break;
      OCANNL_RETURN_IF_ERROR(Element(depth + 1));
      ++size;
    } while (lexer_.Accept(",") || lexer_.Accept(";"));
    if (!lexer_.Accept(bracket.close)) {
      return lexer_.ExpectedError(
          absl::StrCat("`,`, `;` or `", bracket.close, "`"));
    }
    if (axes_[level].size == 0) axes_[level].size = size;
    if (axes_[level].size != size) {
      return lexer_.ErrorAt(open.offset, "this row has ", size,
                            " elements, but the one before it has ",
                            axes_[level].size, "; make them equal");
    }
    --level_;
    return absl::OkStatus();
  }

  // The first brackets of a level make its axis; the others must agree.
  absl::Status Open(const Token& open, RowKind kind, size_t level) {
    if (level > 0 && kind < axes_[level - 1].kind) {
      return lexer_.ErrorAt(open,
                            "brackets nest as [|batch|] around [output] around "
                            "(input); change their order");
    }
    if (level == axes_.size() && array_.values.empty()) {
      axes_.push_back({.kind = kind, .size = 0});
    }
    if (level < axes_.size() && axes_[level].kind == kind) {
      return absl::OkStatus();
    }
    return lexer_.ErrorAt(open.offset, "`", open.text,
                          "` opens another kind of element than the "
                          "one before it; make them alike");
  }

  absl::Status Number() {
    const size_t offset = lexer_.peek().offset;
    const char* sign = lexer_.Accept("-") ? "-" : "";
    OCANNL_ASSIGN_OR_RETURN(
        const std::string digits_text,
        TakeDigits(lexer_,
                   "a number or a bracket, as an array holds numbers only"));
    const std::string text = sign + digits_text;
    const std::optional<Constant> digits = ParseConstant(text, DType::kF64);
    if (!digits) {
      return lexer_.ErrorAt(offset, "`", text,
                            "` is not a number that f64 can "
                            "hold; write another number");
    }
    if (level_ < axes_.size()) {
      return lexer_.ErrorAt(offset, "`", text,
                            "` stands beside brackets; "
                            "make the elements alike");
    }
    // What f32 cannot hold is an error only where it becomes one.
    const auto value = ParseConstant(text, DType::kF32).value_or(*digits);
    array_.values.push_back(static_cast<float>(ToDouble(value)));
    array_.digits.push_back(ToDouble(*digits));
    return absl::OkStatus();
  }

  Lexer& lexer_;
  BracketTable& brackets_;
  size_t level_ = 0;  // how many axes are open
  std::vector<Axis> axes_;
  ArrayText array_;
};

// Whether what follows is `: basis)`, but not a dtype.
bool IsBasis(Lexer lexer) {
  if (!lexer.Accept(":") || lexer.peek().kind != Token::kName) return false;
  return !FindDType(lexer.Next().text) && lexer.peek().text == ")";
}

}  // namespace

absl::StatusOr<ArrayText> ParseArray(Lexer& lexer, BracketTable& brackets) {
  return ArrayParser(lexer, brackets).Parse();
}

bool BracketTable::AtArray(const Lexer& lexer) {
  const Bracket* bracket = FindOpen(lexer.peek());
  if (bracket == nullptr || !bracket->axis) return false;
  return bracket->axis != RowKind::kInput || Find(lexer).has_separator;
}

bool BracketTable::AtNumbers(const Lexer& lexer) {
  return Find(lexer).has_numbers_only;
}

bool BracketTable::AtBasis(const Lexer& lexer) {
  const Token& next = lexer.peek();
  return FindOpen(next) != nullptr && next.text == "(" && Find(lexer).is_basis;
}

Lexer BracketTable::FirstElementEnd(const Lexer& lexer) {
  return Find(lexer).element_end[0];
}

const BracketTable::Entry& BracketTable::Find(const Lexer& lexer) {
  const size_t offset = lexer.peek().offset;
  if (!entries_.contains(offset)) Scan(lexer);
  return entries_.at(offset);
}

void BracketTable::Scan(Lexer lexer) {
  struct Open {
    Entry* entry;
    size_t offset;
    bool is_brace;
    bool has_colon = false;
  };
  std::vector<Open> open;
  size_t others_end = 0;  // of the last token that is in no array of numbers
  size_t digits_end = 0;
  auto end_element = [&](const Open& of) {
    if (of.is_brace && of.entry->element_end.empty()) {
      of.entry->element_end.push_back(lexer);
    }
  };
  auto close = [&] {
    const Open& last = open.back();
    last.entry->has_numbers_only = others_end <= last.offset;
    end_element(last);
    open.pop_back();
  };
  do {
    const Token token = lexer.peek();
    const Bracket* const bracket = FindOpen(token);
    const bool is_digits =  // the _000 of 1_000
        token.kind == Token::kName && token.text[0] == '_' &&
        token.offset == digits_end;
    if (token.kind == Token::kNumber) {
      digits_end = token.offset + token.text.size();
    }
    if (bracket != nullptr) {
      open.push_back({&entries_[token.offset], token.offset, !bracket->axis});
      if (!bracket->axis) others_end = token.offset + 1;
    } else if (IsClose(token)) {
      close();
    } else if (IsSeparator(token)) {
      open.back().entry->has_separator = true;
      end_element(open.back());
    } else if (token.kind != Token::kNumber && token.text != "-" &&
               !is_digits) {
      others_end = token.offset + 1;
    }
    if (!open.empty() && token.text == ":" && !open.back().has_colon) {
      open.back().has_colon = true;
      open.back().entry->is_basis = IsBasis(lexer);
    }
    lexer.Next();
  } while (!open.empty() && lexer.peek().kind != Token::kEnd);
  while (!open.empty()) close();
}

absl::StatusOr<Tensor> TakeWithBasis(Lexer& lexer, BracketTable& brackets,
                                     Graph& graph, SourceLocation where) {
  const size_t offset = lexer.Next().offset;
  if (lexer.peek().kind != Token::kNumber && lexer.peek().text != "-" &&
      !(brackets.AtArray(lexer) && brackets.AtNumbers(lexer))) {
    return lexer.Error(
        "a basis is of a number or an array of numbers; give a parameter its "
        "own: {w; o=[3 rgb]}");
  }
  OCANNL_ASSIGN_OR_RETURN(ArrayText array, ParseArray(lexer, brackets));
  if (array.shape.dims().empty()) array.shape[RowKind::kOutput] = {1};
  if (array.shape.dims().size() > 1) {
    return lexer.ErrorAt(offset, "a basis is of one axis, and the array has ",
                         array.shape.dims().size());
  }
  OCANNL_RETURN_IF_ERROR(lexer.Expect(":"));
  const std::string basis(lexer.Next().text);
  OCANNL_RETURN_IF_ERROR(lexer.Expect(")"));
  TensorNode node =
      Literal(graph, array.shape, array.values, array.digits, where).node();
  ShapeSpec spec = *node.spec;
  for (RowKind kind : kRowKinds) {
    if (array.shape[kind].empty()) continue;
    spec.bases.Mutable()[static_cast<int>(kind)] = {basis};
  }
  node.spec = std::move(spec);
  node.open = kDecided;
  node.name.clear();
  const Tensor literal = {&graph, graph.Add(std::move(node))};
  graph.Open(literal.id);
  return literal;
}

Tensor StackBlock(absl::string_view bracket, absl::Span<const Tensor> parts,
                  SourceLocation where) {
  absl::string_view spec = "...|...->i, ...";
  if (bracket == "(") spec = "...|i, ...->...";
  if (bracket == "[|") spec = "i, ...|...->...";
  return Stack(spec, parts, where);
}

absl::string_view ClosingOf(absl::string_view open) {
  for (const Bracket& bracket : kBrackets) {
    if (bracket.open == open) return bracket.close;
  }
  return "";
}

void SkipUntil(Lexer& lexer,
               absl::FunctionRef<bool(const Lexer& at, int depth)> ends) {
  int depth = 0;
  while (lexer.peek().kind != Token::kEnd && !ends(lexer, depth)) {
    if (IsClose(lexer.peek()) && depth-- == 0) return;
    if (FindOpen(lexer.peek()) != nullptr) ++depth;
    lexer.Next();
  }
}

}  // namespace ocannl
