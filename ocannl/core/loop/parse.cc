// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/parse.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
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
    OCANNL_RETURN_IF_ERROR(lexer_.TakeHeader(
        program_.name, [&](std::string name, std::optional<int64_t> range) {
          symbols_[name] = Static(program_.statics.size());
          program_.statics.push_back(
              {.name = std::move(name), .range = range.value_or(kUnranged)});
        }));
    while (auto role = TakeRole()) OCANNL_RETURN_IF_ERROR(Declaration(*role));
    while (lexer_.peek().kind != Token::kEnd) {
      OCANNL_ASSIGN_OR_RETURN(Stmt stmt, Statement(0));
      program_.body.stmts.push_back(std::move(stmt));
    }
    CountIterators(program_);
    return std::move(program_);
  }

  // The error, at its place in the text.
  absl::Status At(const FaultPlace& place, const absl::Status& status) const {
    if (!place.stmt && !place.buffer.valid()) return status;
    return ErrorAt(
        place.stmt ? stmt_offsets_[*place.stmt] : buffer_offsets_[place.buffer],
        status.message());
  }

 private:
  ExprPool& Pool() override { return program_.exprs; }

  std::optional<Role> TakeRole() {
    const auto* role = absl::c_find_if(
        kRoles, [&](Role each) { return lexer_.Accept(WordOf(each)); });
    return role == kRoles.end() ? std::nullopt : std::optional(*role);
  }

  absl::Status Declaration(Role role) {
    OCANNL_ASSIGN_OR_RETURN(const Token name,
                            lexer_.TakeName("a buffer's name"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(":"));
    OCANNL_ASSIGN_OR_RETURN(const DType dtype, lexer_.TakeDType());
    OCANNL_ASSIGN_OR_RETURN(Dims dims, lexer_.TakeDims());
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(";"));
    if (!buffers_.emplace(name.text, program_.buffers.next_id()).second) {
      return ErrorAt(name, "buffer `", name.text,
                     "` is declared twice; choose another name");
    }
    program_.buffers.push_back(
        {std::string(name.text), dtype, role, std::move(dims)});
    buffer_offsets_.push_back(name.offset);
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
    OCANNL_ASSIGN_OR_RETURN(Stmt stmt, Simple(depth));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(";"));
    return stmt;
  }

  absl::StatusOr<Stmt> Loop(LoopKind kind, int depth) {
    OCANNL_ASSIGN_OR_RETURN(const Token name, lexer_.TakeName("an iterator"));
    const std::optional<IteratorId> iterator = IteratorNamed(name.text);
    if (!iterator) {
      return ErrorAt(name, "`", name.text,
                     "` is not an iterator; write i0, i1, ...");
    }
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
    const size_t first_offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(int64_t first,
                            lexer_.TakeInteger("the first value"));
    if (first != 0) {
      return ErrorAt(first_offset, "a loop starts at 0; write ", name.text,
                     " = 0 to n, and ", name.text, " + ", first,
                     " in the indices");
    }
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("to"));
    OCANNL_ASSIGN_OR_RETURN(int64_t last, lexer_.TakeInteger("the last value"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("{"));
    For loop{
        .kind = kind, .iterator = *iterator, .extent = last + 1, .body = {}};
    if (!symbols_.emplace(name.text, Iterator(loop.iterator)).second) {
      return ErrorAt(
          name, "`", name.text,
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
      OCANNL_ASSIGN_OR_RETURN(const Token name, lexer_.TakeName("a buffer"));
      OCANNL_ASSIGN_OR_RETURN(BufferId buffer, FindBuffer(name));
      return Stmt(ZeroOut{buffer});
    }
    if (lexer_.Accept("let")) return Declare();
    OCANNL_ASSIGN_OR_RETURN(
        const Token name,
        lexer_.TakeName(depth > 0 ? "a statement or `}`" : "a statement"));
    if (lexer_.peek().text == "[") {
      OCANNL_ASSIGN_OR_RETURN(Lookup target, Cell(name));
      const DType dtype = program_.buffers[target.cell.buffer].dtype;
      OCANNL_ASSIGN_OR_RETURN(ExprId value, Assigned(dtype, name));
      if (target.axis < 0) return Stmt(Set{std::move(target.cell), value});
      return Stmt(Scatter{program_.leaves.Add(std::move(target)), value});
    }
    auto local = locals_.find(name.text);
    if (local == locals_.end()) {
      return ErrorAt(name, "`", name.text,
                     "` is not a statement, a buffer's cell or a local; write "
                     "name[indices] := value or let ",
                     name.text, " : f32 := value");
    }
    DType dtype = program_.locals[local->second].dtype;
    OCANNL_ASSIGN_OR_RETURN(ExprId value, Assigned(dtype, name));
    return Stmt(SetLocal{local->second, value});
  }

  absl::StatusOr<Stmt> Declare() {
    OCANNL_ASSIGN_OR_RETURN(const Token name, lexer_.TakeName("a local"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(":"));
    OCANNL_ASSIGN_OR_RETURN(const DType dtype, lexer_.TakeDType());
    OCANNL_ASSIGN_OR_RETURN(ExprId value, Assigned(dtype, name));
    if (!locals_.emplace(name.text, program_.locals.next_id()).second) {
      return ErrorAt(name, "local `", name.text,
                     "` is declared twice; choose another name");
    }
    const LocalId local = program_.locals.Add({std::string(name.text), dtype});
    return Stmt(DeclareLocal{local, value});
  }

  // `:= value`, of the type of `name`.
  absl::StatusOr<ExprId> Assigned(DType dtype, const Token& name) {
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(":="));
    size_t offset = lexer_.peek().offset;
    OCANNL_ASSIGN_OR_RETURN(Expr value, TakeValue());
    if (value.dtype() == dtype) return value.id();
    return ErrorAt(offset, "`", name.text, "` is ", Name(dtype),
                   ", but the value is ", Name(value.dtype()), "; write ",
                   Name(dtype), "(value)");
  }

  absl::StatusOr<BufferId> FindBuffer(const Token& name) {
    auto found = buffers_.find(name.text);
    if (found != buffers_.end()) return found->second;
    std::vector<std::string> all;
    for (const Buffer& buffer : program_.buffers) all.push_back(buffer.name);
    return ErrorAt(name, "no buffer `", name.text, "`",
                   NearNamesHint(name.text, all),
                   "; declare it before the first statement: in ", name.text,
                   " : f32[...];");
  }

  // The cell `name`[indices]. One index may be a cell; else the axis is -1.
  absl::StatusOr<Lookup> Cell(const Token& name, bool is_index = false) {
    Lookup lookup{.cell = {}, .axis = -1, .index = {}};
    OCANNL_ASSIGN_OR_RETURN(lookup.cell.buffer, FindBuffer(name));
    Indices& indices = lookup.cell.indices;
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("["));
    while (!lexer_.Accept("]")) {
      if (!indices.empty()) OCANNL_RETURN_IF_ERROR(lexer_.Expect(","));
      Affine index;
      if (!IsCell()) {
        OCANNL_ASSIGN_OR_RETURN(index, Index());
      } else if (is_index || lookup.axis >= 0) {
        return lexer_.Error(
            "no index from a buffer may stand here: a cell has one such index "
            "at most, which has none; use iterators");
      } else {
        lookup.axis = static_cast<int32_t>(indices.size());
        OCANNL_ASSIGN_OR_RETURN(Lookup cell,
                                Cell(lexer_.Next(), /*is_index=*/true));
        lookup.index = std::move(cell.cell);
      }
      indices.push_back(std::move(index));
    }
    const size_t rank = program_.buffers[lookup.cell.buffer].dims.size();
    if (rank == indices.size()) return lookup;
    std::vector<std::string> all;
    for (size_t k = 0; k < rank; ++k) all.push_back(absl::StrCat("i", k));
    return ErrorAt(name, "`", name.text, "` has ", rank, " axes, not ",
                   indices.size(), "; write ", name.text, "[",
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
    return lexer_.TakeIndex([&]() -> absl::StatusOr<Symbol> {
      OCANNL_ASSIGN_OR_RETURN(const Token name, lexer_.TakeName("an index"));
      auto found = symbols_.find(name.text);
      if (found != symbols_.end()) return found->second;
      return ErrorAt(name, "`", name.text,
                     "` is neither an iterator nor a static index; write a "
                     "loop around it, or ",
                     program_.name, " (", name.text, " : [0..n])");
    });
  }

  absl::StatusOr<Expr> TakeLeaf(const Token& first) override {
    if (first.kind == Token::kSymbol) {
      OCANNL_ASSIGN_OR_RETURN(Affine index, Index());
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("]"));
      return program_.Read(std::move(index));
    }
    if (lexer_.peek().text == "[") {
      OCANNL_ASSIGN_OR_RETURN(Lookup lookup, Cell(first));
      if (lookup.axis < 0) return program_.Read(std::move(lookup.cell));
      return program_.Read(std::move(lookup));
    }
    auto local = locals_.find(first.text);
    if (local != locals_.end()) return program_.Read(GetLocal{local->second});
    return ErrorAt(first, "no local `", first.text,
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
