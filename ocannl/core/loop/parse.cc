// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/parse.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/loop_lexer.h"
#include "ocannl/core/loop/value_parser.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/ops/depth.h"

namespace ocannl {
namespace {

class Parser : private ValueParser {
 public:
  explicit Parser(absl::string_view text) : ValueParser(LoopLexer(text)) {}

  absl::StatusOr<LoopProgram> Program() {
    OCANNL_RETURN_IF_ERROR(Header());
    while (Declares()) OCANNL_RETURN_IF_ERROR(Declaration());
    while (lexer_.peek().kind != Token::kEnd) {
      OCANNL_ASSIGN_OR_RETURN(Stmt stmt, Statement(0));
      program_.body.stmts.push_back(std::move(stmt));
    }
    CountIterators(program_);
    return std::move(program_);
  }

  // The error, at its place in the text.
  absl::Status At(const FaultPlace& place, const absl::Status& status) const {
    if (place.stmt)
      return ErrorAt(stmt_offsets_[*place.stmt], status.message());
    if (!place.buffer.valid()) return status;
    return ErrorAt(buffer_offsets_[place.buffer], status.message());
  }

 private:
  ExprPool& Pool() override { return program_.exprs; }

  absl::Status Header() {
    return lexer_.TakeHeader(program_.name, [&](std::string name,
                                                std::optional<int64_t> range) {
      symbols_[name] = Static(static_cast<int32_t>(program_.statics.size()));
      program_.statics.push_back(
          {.name = std::move(name), .range = range.value_or(kUnranged)});
    });
  }

  std::optional<Role> Declares() const {
    if (lexer_.peek().kind != Token::kName) return std::nullopt;
    for (Role role : kRoles) {
      if (lexer_.peek().text == WordOf(role)) return role;
    }
    return std::nullopt;
  }

  absl::Status Declaration() {
    Buffer buffer{
        .name = "", .dtype = DType::kF32, .dims = {}, .role = *Declares()};
    lexer_.Next();
    size_t offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(buffer.name, lexer_.TakeName("a buffer's name"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(":"));
    OCANNL_ASSIGN_OR_RETURN(buffer.dtype, lexer_.TakeDType());
    OCANNL_ASSIGN_OR_RETURN(buffer.dims, lexer_.TakeDims());
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(";"));
    if (!buffers_.emplace(buffer.name, program_.buffers.next_id()).second) {
      return ErrorAt(offset, "buffer `", buffer.name,
                     "` is declared twice; choose another name");
    }
    program_.buffers.push_back(std::move(buffer));
    buffer_offsets_.push_back(offset);
    return absl::OkStatus();
  }

  absl::StatusOr<Stmt> Statement(int depth) {
    if (depth > kMaxLoopDepth) {
      return lexer_.Error(
          "loops are nested too deeply; make one loop of several");
    }
    stmt_offsets_.push_back(lexer_.peek().offset);
    if (lexer_.peek().kind == Token::kComment) {
      absl::string_view text = lexer_.Next().text;
      return Stmt(Comment{std::string(absl::StripAsciiWhitespace(text))});
    }
    for (LoopKind kind : kLoopKinds) {
      if (lexer_.Accept(WordOf(kind))) return Loop(kind, depth);
    }
    absl::StatusOr<Stmt> stmt = Simple(depth);
    OCANNL_RETURN_IF_ERROR(stmt.status());
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(";"));
    return stmt;
  }

  absl::StatusOr<Stmt> Loop(LoopKind kind, int depth) {
    size_t offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(std::string name, lexer_.TakeName("an iterator"));
    const std::optional<IteratorId> iterator = IteratorNamed(name);
    if (!iterator) {
      return ErrorAt(offset, "`", name,
                     "` is not an iterator; write i0, i1, ...");
    }
    For loop{.kind = kind, .iterator = *iterator, .extent = 0, .body = {}};
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
    size_t first_offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(int64_t first,
                            lexer_.TakeInteger("the first value"));
    if (first != 0) {
      return ErrorAt(first_offset, "a loop starts at 0; write ", name,
                     " = 0 to n, and ", name, " + ", first, " in the indices");
    }
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("to"));
    OCANNL_ASSIGN_OR_RETURN(int64_t last, lexer_.TakeInteger("the last value"));
    loop.extent = last + 1;
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("{"));
    if (!symbols_.emplace(name, Iterator(loop.iterator)).second) {
      return ErrorAt(
          offset, "`", name,
          "` is the name of another loop or index; choose another number");
    }
    while (!lexer_.Accept("}")) {
      OCANNL_ASSIGN_OR_RETURN(Stmt stmt, Statement(depth + 1));
      loop.body.stmts.push_back(std::move(stmt));
    }
    return Stmt(std::move(loop));
  }

  absl::StatusOr<Stmt> Simple(int depth) {
    if (lexer_.Accept("zero_out")) {
      size_t offset = lexer_.peek().offset;
      OCANNL_ASSIGN_OR_RETURN(std::string name, lexer_.TakeName("a buffer"));
      OCANNL_ASSIGN_OR_RETURN(BufferId buffer, FindBuffer(name, offset));
      return Stmt(ZeroOut{buffer});
    }
    if (lexer_.Accept("let")) return Declare();
    size_t offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(
        std::string name,
        lexer_.TakeName(depth > 0 ? "a statement or `}`" : "a statement"));
    if (lexer_.peek().text == "[") {
      OCANNL_ASSIGN_OR_RETURN(LeafValue target, Cell(name, offset));
      const Lookup* lookup = std::get_if<Lookup>(&target);
      const Access& cell =
          lookup == nullptr ? std::get<Access>(target) : lookup->cell;
      DType dtype = program_.buffers[cell.buffer].dtype;
      OCANNL_ASSIGN_OR_RETURN(ExprId value, Assigned(dtype, name));
      if (lookup == nullptr) return Stmt(Set{cell, value});
      return Stmt(Scatter{program_.leaves.Add(target), value});
    }
    auto local = locals_.find(name);
    if (local == locals_.end()) {
      return ErrorAt(offset, "`", name,
                     "` is not a statement, a buffer's cell or a local; write "
                     "name[indices] := value or let ",
                     name, " : f32 := value");
    }
    DType dtype = program_.locals[local->second].dtype;
    OCANNL_ASSIGN_OR_RETURN(ExprId value, Assigned(dtype, name));
    return Stmt(SetLocal{local->second, value});
  }

  absl::StatusOr<Stmt> Declare() {
    size_t offset = lexer_.peek().offset;
    Local local{.name = "", .dtype = DType::kF32};
    OCANNL_ASSIGN_OR_RETURN(local.name, lexer_.TakeName("a local"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(":"));
    OCANNL_ASSIGN_OR_RETURN(local.dtype, lexer_.TakeDType());
    OCANNL_ASSIGN_OR_RETURN(ExprId value, Assigned(local.dtype, local.name));
    if (!locals_.emplace(local.name, program_.locals.next_id()).second) {
      return ErrorAt(offset, "local `", local.name,
                     "` is declared twice; choose another name");
    }
    return Stmt(DeclareLocal{program_.locals.Add(std::move(local)), value});
  }

  // `:= value`, of the type of `name`.
  absl::StatusOr<ExprId> Assigned(DType dtype, absl::string_view name) {
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(":="));
    size_t offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(Expr value, TakeValue());
    if (value.dtype() == dtype) return value.id();
    return ErrorAt(offset, "`", name, "` is ", Name(dtype),
                   ", but the value is ", Name(value.dtype()), "; write ",
                   Name(dtype), "(value)");
  }

  absl::StatusOr<BufferId> FindBuffer(absl::string_view name, size_t offset) {
    auto found = buffers_.find(name);
    if (found != buffers_.end()) return found->second;
    std::vector<std::string> all;
    for (const Buffer& buffer : program_.buffers) all.push_back(buffer.name);
    return ErrorAt(offset, "no buffer `", name, "`", NearNamesHint(name, all),
                   "; declare it before the first statement: in ", name,
                   " : f32[...];");
  }

  // The cell `name`[indices] as an Access or, if one index is a cell, a Lookup.
  absl::StatusOr<LeafValue> Cell(absl::string_view name, size_t offset) {
    Lookup lookup{.cell = {}, .axis = -1, .index = {}};
    OCANNL_ASSIGN_OR_RETURN(lookup.cell, TakeAccess(name, offset, &lookup));
    if (lookup.axis < 0) return LeafValue(std::move(lookup.cell));
    return LeafValue(std::move(lookup));
  }

  // The cell `name`[indices]; of `lookup`, if any, one index may be a cell.
  absl::StatusOr<Access> TakeAccess(absl::string_view name, size_t offset,
                                    Lookup* lookup) {
    Access access;
    OCANNL_ASSIGN_OR_RETURN(access.buffer, FindBuffer(name, offset));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("["));
    while (!lexer_.Accept("]")) {
      if (!access.indices.empty()) OCANNL_RETURN_IF_ERROR(lexer_.Expect(","));
      Affine index;
      if (!IsCell()) {
        OCANNL_ASSIGN_OR_RETURN(index, Index());
      } else if (lookup == nullptr || lookup->axis >= 0) {
        return lexer_.Error(
            "no index from a buffer may stand here: a cell has one such index "
            "at most, which has none; use iterators");
      } else {
        const Token cell = lexer_.Next();
        lookup->axis = static_cast<int32_t>(access.indices.size());
        OCANNL_ASSIGN_OR_RETURN(lookup->index,
                                TakeAccess(cell.text, cell.offset, nullptr));
      }
      access.indices.push_back(std::move(index));
    }
    size_t rank = program_.buffers[access.buffer].dims.size();
    if (rank == access.indices.size()) return access;
    std::vector<std::string> all;
    for (size_t k = 0; k < rank; ++k) all.push_back(absl::StrCat("i", k));
    return ErrorAt(offset, "`", name, "` has ", rank, " axes, not ",
                   access.indices.size(), "; write ", name, "[",
                   absl::StrJoin(all, ", "), "]");
  }

  // Whether what comes is name[, and no index.
  bool IsCell() const {
    const Token& name = lexer_.peek();
    if (!lexer_.AtName()) return false;
    if (symbols_.contains(name.text) && !buffers_.contains(name.text)) {
      return false;
    }
    LoopLexer ahead = lexer_;
    ahead.Next();
    return ahead.peek().text == "[";
  }

  absl::StatusOr<Affine> Index() {
    return lexer_.TakeIndex([&] { return TakeSymbol(); });
  }

  absl::StatusOr<Symbol> TakeSymbol() {
    size_t offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(std::string name, lexer_.TakeName("an index"));
    auto found = symbols_.find(name);
    if (found != symbols_.end()) return found->second;
    return ErrorAt(offset, "`", name,
                   "` is neither an iterator nor a static index; write a loop "
                   "around it, or ",
                   program_.name, " (", name, " : [0..n])");
  }

  absl::StatusOr<Expr> TakeLeaf(const Token& first) override {
    if (first.kind == Token::kSymbol) {
      OCANNL_ASSIGN_OR_RETURN(Affine index, Index());
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("]"));
      return program_.Read(std::move(index));
    }
    if (lexer_.peek().text == "[") {
      OCANNL_ASSIGN_OR_RETURN(LeafValue cell, Cell(first.text, first.offset));
      return program_.Read(std::move(cell));
    }
    auto local = locals_.find(first.text);
    if (local != locals_.end()) return program_.Read(GetLocal{local->second});
    return ErrorAt(first.offset, "no local `", first.text,
                   "`; a buffer's cell is written name[indices], an index [",
                   first.text, "]");
  }

  LoopProgram program_;
  std::vector<size_t> stmt_offsets_;  // in preorder
  IdVector<BufferId, size_t> buffer_offsets_;
  absl::flat_hash_map<std::string, Symbol> symbols_;
  absl::flat_hash_map<std::string, BufferId> buffers_;
  absl::flat_hash_map<std::string, LocalId> locals_;
};

}  // namespace

absl::StatusOr<LoopProgram> Parse(absl::string_view text) {
  absl::StatusOr<LoopProgram> program = Parser(text).Program();
  if (!program.ok()) return WithLoopHabit(program.status(), text);
  return program;
}

absl::StatusOr<LoopProgram> ParseVerified(
    absl::string_view text,
    absl::Status (*verify)(const LoopProgram&, FaultPlace*)) {
  Parser parser(text);
  absl::StatusOr<LoopProgram> program = parser.Program();
  if (!program.ok()) return WithLoopHabit(program.status(), text);
  FaultPlace place;
  OCANNL_RETURN_IF_ERROR(parser.At(place, verify(*program, &place)));
  return program;
}

}  // namespace ocannl
