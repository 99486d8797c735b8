// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/verify.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/must_write.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {
namespace {

// More bytes than any machine has, few enough that no size overflows.
constexpr int64_t kMaxBytes = int64_t{1} << 46;

// Names are well-formed and unique; sizes are at least 1.
absl::Status CheckDeclarations(const LoopProgram& program) {
  if (!IsName(program.name)) {
    return UserError("`", program.name, "` is not a name for a program");
  }
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(program.statics.size() + program.buffers.size() +
                program.locals.size());
  auto declare = [&](absl::string_view kind, absl::string_view name) {
    if (!IsName(name)) return UserError(kind, " `", name, "` is not a name");
    if (names.insert(name).second) return absl::OkStatus();
    return UserError(kind, " `", name, "` has the name of something else; ",
                     "choose another name");
  };
  for (const StaticIndex& index : program.statics) {
    OCANNL_RETURN_IF_ERROR(declare("static index", index.name));
    if (index.range < 1 && index.range != kUnranged) {
      return UserError("static index `", index.name, "` has no value");
    }
  }
  for (const Buffer& buffer : program.buffers) {
    OCANNL_RETURN_IF_ERROR(declare("buffer", buffer.name));
    __int128 bytes = SizeOf(buffer.dtype);
    for (int64_t dim : buffer.dims) {
      if (dim < 1) {
        return UserError("buffer `", buffer.name, "` has an axis of size ", dim,
                         "; the least size is 1");
      }
      bytes *= dim;
      if (bytes > kMaxBytes) {
        return UserError("buffer `", buffer.name, "` has over 2^46 bytes; ",
                         "use smaller sizes");
      }
    }
  }
  for (const Local& local : program.locals) {
    OCANNL_RETURN_IF_ERROR(declare("local", local.name));
  }
  return absl::OkStatus();
}

// The loops that enclose a statement, the outermost first.
using Loops = std::vector<const For*>;

bool IsInside(const Loops& loops, LoopKind kind) {
  return absl::c_any_of(loops,
                        [&](const For* loop) { return loop->kind == kind; });
}

// Where loops of a GPU stand: `grid` loops around `for` and `unroll` loops
// around `thread` loops, each kind without anything in between.
absl::Status CheckKind(const Loops& loops, const For& loop) {
  const For* around = loops.empty() ? nullptr : loops.back();
  const bool is_in_grid = IsInside(loops, LoopKind::kGrid);
  const bool is_in_thread = IsInside(loops, LoopKind::kThread);
  if (loop.kind == LoopKind::kGrid && around != nullptr &&
      around->kind != LoopKind::kGrid) {
    return UserError("a grid loop is in a ", WordOf(around->kind),
                     " loop; it stands in the body or in another grid loop");
  }
  if (loop.kind == LoopKind::kThread && !is_in_grid) {
    return UserError("a thread loop is in no grid loop; put one around it");
  }
  if (loop.kind == LoopKind::kPar && is_in_grid) {
    return UserError("a par loop is in a grid loop; make it a thread loop");
  }
  if (loop.kind == LoopKind::kVec && is_in_grid && !is_in_thread) {
    return UserError("a vec loop of a grid loop is in no thread loop; put it ",
                     "into one");
  }
  if (loop.kind == LoopKind::kThread && is_in_thread &&
      (around->kind != LoopKind::kThread || around->body.stmts.size() != 1)) {
    return UserError("a thread loop is not all of the thread loop around it; ",
                     "make them two, one after the other");
  }
  return absl::OkStatus();
}

// What a block computes, its threads compute.
absl::Status CheckInThread(const Loops& loops) {
  if (!IsInside(loops, LoopKind::kGrid) || IsInside(loops, LoopKind::kThread)) {
    return absl::OkStatus();
  }
  return UserError("a statement of a grid loop is in no thread loop; put one ",
                   "around it");
}

// Every iterator in `index` belongs to a loop around the statement.
absl::Status CheckInScope(const Loops& loops, const Affine& index) {
  for (const Affine::Term& term : index.terms()) {
    if (term.symbol.kind == Symbol::kStatic ||
        absl::c_any_of(loops, [&](const For* loop) {
          return loop->iterator == term.symbol.iterator();
        })) {
      continue;
    }
    return UserError("iterator ", Name(term.symbol.iterator()),
                     " is used outside its loop; use the iterator of a loop "
                     "around the statement");
  }
  return absl::OkStatus();
}

class Verifier {
 public:
  Verifier(const LoopProgram& program, const IdVector<BufferId, Role>& roles,
           FaultPlace* place)
      : program_(program), roles_(roles), place_(place), written_(program) {}

  absl::Status Run(const Block& body) {
    OCANNL_RETURN_IF_ERROR(CheckDeclarations(program_));
    nest_of_.resize(program_.buffers.size(), nullptr);
    known_locals_.resize(program_.locals.size());
    live_locals_.resize(program_.locals.size());
    OCANNL_RETURN_IF_ERROR(Visit(body));
    for (BufferId k : program_.buffers.ids()) {
      if (roles_[k] != Role::kOut || written_.CoversAll(k)) continue;
      if (place_ != nullptr) place_->buffer = k;
      return UserError("out buffer `", program_.buffers[k].name,
                       "` is not written everywhere; start with zero_out ",
                       program_.buffers[k].name, ", or declare it inout");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Visit(const Block& block) {
    std::vector<LocalId> declared;
    for (const Stmt& stmt : block.stmts) {
      const size_t number = visited_++;
      if (loops_.empty()) nest_ = &stmt;
      const bool computes = !std::holds_alternative<For>(stmt) &&
                            !std::holds_alternative<Comment>(stmt);
      absl::Status status = std::visit(
          Overload{
              [&](const For& loop) { return VisitLoop(loop); },
              [&](const Set& s) {
                OCANNL_RETURN_IF_ERROR(Stores(s.value, s.target.buffer));
                OCANNL_RETURN_IF_ERROR(InBounds(s.target));
                written_.Write(s.target);
                return absl::OkStatus();
              },
              [&](const Scatter& s) {
                const Lookup& target = program_.TargetOf(s);
                OCANNL_RETURN_IF_ERROR(Stores(s.value, target.cell.buffer));
                // Other cells stay, so what they hold must be known.
                return Looks(target, "written to by index");
              },
              [&](const DeclareLocal& let) {
                OCANNL_RETURN_IF_ERROR(
                    Value(let.value, program_.locals[let.local].dtype));
                if (known_locals_[let.local]) {
                  return UserError("the local is declared twice");
                }
                known_locals_[let.local] = live_locals_[let.local] = true;
                declared.push_back(let.local);
                return absl::OkStatus();
              },
              [&](const SetLocal& s) {
                OCANNL_RETURN_IF_ERROR(Live(s.local));
                return Value(s.value, program_.locals[s.local].dtype);
              },
              [&](const ZeroOut& zero) {
                OCANNL_RETURN_IF_ERROR(Writable(zero.buffer));
                written_.WriteAll(zero.buffer);
                return absl::OkStatus();
              },
              [&](const Comment&) { return absl::OkStatus(); },
          },
          static_cast<const Stmt::variant&>(stmt));
      if (status.ok() && computes) status = CheckInThread(loops_);
      if (!status.ok()) return InStatement(status, stmt, number);
    }
    for (LocalId local : declared) live_locals_[local] = false;
    return absl::OkStatus();
  }

  // Names the statement, once, the innermost one.
  absl::Status InStatement(const absl::Status& status, const Stmt& stmt,
                           size_t number) {
    if (std::exchange(named_, true)) return status;
    if (place_ != nullptr) place_->stmt = number;
    if (place_ != nullptr) return status;
    const std::string text = PrintStmt(program_, stmt, 0);
    return UserError(status.message(),
                     "\n  in: ", text.substr(0, text.find('\n')));
  }

  absl::Status VisitLoop(const For& loop) {
    if (loop.extent < 1) return UserError("the loop has no iteration");
    if (absl::c_any_of(program_.statics, [&](const StaticIndex& index) {
          return IteratorNamed(index.name) == loop.iterator;
        })) {
      return UserError("iterator ", Name(loop.iterator),
                       " has a static index's name");
    }
    if (!extents_.emplace(loop.iterator, loop.extent).second) {
      return UserError("iterator ", Name(loop.iterator),
                       " belongs to another loop too");
    }
    OCANNL_RETURN_IF_ERROR(CheckKind(loops_, loop));
    loops_.push_back(&loop);
    written_.Enter(loop);
    OCANNL_RETURN_IF_ERROR(Visit(loop.body));
    written_.Leave();
    loops_.pop_back();
    return absl::OkStatus();
  }

  absl::Status Stores(ExprId value, BufferId buffer) {
    OCANNL_RETURN_IF_ERROR(Value(value, program_.buffers[buffer].dtype));
    return Writable(buffer);
  }

  absl::Status Writable(BufferId buffer) {
    OCANNL_RETURN_IF_ERROR(OfThisNest(buffer));
    const Role role = roles_[buffer];
    if (!IsReadOnly(role)) return absl::OkStatus();
    return UserError("`", program_.buffers[buffer].name, "` is ",
                     role == Role::kIn ? "an in" : "a merge",
                     " buffer, which may not be written; declare it inout");
  }

  absl::Status OfThisNest(BufferId buffer) {
    const std::string& name = program_.buffers[buffer].name;
    const Role role = roles_[buffer];
    if (!IsOfNest(role)) return absl::OkStatus();
    if (role == Role::kShared && !IsInside(loops_, LoopKind::kGrid)) {
      return UserError("`", name, "` is shared, but by no threads: the ",
                       "statement is in no grid loop");
    }
    if (nest_of_[buffer] == nullptr) nest_of_[buffer] = nest_;
    if (nest_of_[buffer] == nest_) return absl::OkStatus();
    return UserError("`", name, "` is ", WordOf(role), ", but more than one ",
                     "statement of the body uses it; declare it temp");
  }

  absl::Status InBounds(const Access& access) {
    const Buffer& buffer = program_.buffers[access.buffer];
    for (size_t axis = 0; axis < buffer.dims.size(); ++axis) {
      __int128 least = access.indices[axis].offset();
      __int128 greatest = least;
      OCANNL_RETURN_IF_ERROR(CheckInScope(loops_, access.indices[axis]));
      for (const Affine::Term& term : access.indices[axis].terms()) {
        const int64_t range = term.symbol.kind == Symbol::kStatic
                                  ? program_.statics[term.symbol.number].range
                                  : extents_.at(term.symbol.iterator());
        if (range == kUnranged) {
          return UserError("static index `",
                           program_.statics[term.symbol.number].name,
                           "` has no range, so it may not index `", buffer.name,
                           "`; declare its range");
        }
        __int128 span = static_cast<__int128>(term.factor) * (range - 1);
        (span < 0 ? least : greatest) += span;
      }
      if (least >= 0 && greatest < buffer.dims[axis]) continue;
      return UserError("index ", axis, " of `", PrintAccess(program_, access),
                       "` runs from ", static_cast<int64_t>(least), " to ",
                       static_cast<int64_t>(greatest),
                       ", but the axis has size ", buffer.dims[axis],
                       "; keep it from 0 to ", buffer.dims[axis] - 1);
    }
    return OfThisNest(access.buffer);
  }

  absl::Status Value(ExprId value, DType wanted) {
    absl::Status status;
    WalkLeaves(program_, value, [&](const LeafValue& leaf) {
      if (status.ok()) status = VisitLeaf(leaf);
    });
    OCANNL_RETURN_IF_ERROR(status);
    DType given = TypeOf(program_.exprs, value);
    if (given == wanted) return absl::OkStatus();
    return UserError("a value of type ", Name(given), " is stored as ",
                     Name(wanted));
  }

  absl::Status VisitLeaf(const LeafValue& leaf) {
    return std::visit(
        Overload{
            [&](const Access& access) {
              OCANNL_RETURN_IF_ERROR(InBounds(access));
              return Written(access.buffer, access, "read");
            },
            [&](const Lookup& lookup) { return Looks(lookup, "read"); },
            [&](const GetLocal& get) { return Live(get.local); },
            [&](const Affine& index) { return CheckInScope(loops_, index); },
        },
        leaf);
  }

  absl::Status Live(LocalId local) const {
    if (live_locals_[local]) return absl::OkStatus();
    return UserError(
        "local `", program_.locals[local].name,
        "` is used where it is not declared; declare it in the same "
        "block or around it");
  }

  absl::Status Looks(const Lookup& lookup, absl::string_view how) {
    const Access& cell = lookup.cell;
    const Buffer& index = program_.buffers[lookup.index->buffer];
    if (!IsInteger(index.dtype)) {
      return UserError("`", index.name, "` holds indices of `",
                       program_.buffers[cell.buffer].name, "`, but is ",
                       Name(index.dtype), "; indices are integers");
    }
    if (static_cast<size_t>(lookup.axis) >= cell.indices.size() ||
        cell.indices[lookup.axis] != Affine()) {
      return UserError("no axis is looked up, or it has another index too");
    }
    OCANNL_RETURN_IF_ERROR(InBounds(*lookup.index));
    OCANNL_RETURN_IF_ERROR(InBounds(cell));
    OCANNL_RETURN_IF_ERROR(
        Written(lookup.index->buffer, *lookup.index, "read"));
    return Written(cell.buffer, lookup, how);
  }

  // Error: `cell` of the buffer is not written before this use. `how` names the
  // use.
  template <class Cell>
  absl::Status Written(BufferId number, const Cell& cell,
                       absl::string_view how) const {
    const Role role = roles_[number];
    if (IsInput(role) || written_.Covers(cell)) return absl::OkStatus();
    std::string fix =
        IsOfNest(role)
            ? absl::StrCat("write it first, in the same iteration of a ",
                           role == Role::kShared ? "grid" : "par", " loop")
            : absl::StrCat("start with zero_out ",
                           program_.buffers[number].name,
                           ", or declare it inout");
    return UserError("`", PrintLeaf(program_, cell), "` is ", how,
                     " before it is written; ", fix);
  }

  const LoopProgram& program_;
  const IdVector<BufferId, Role>& roles_;
  FaultPlace* const place_;
  size_t visited_ = 0;                                // statements
  absl::flat_hash_map<IteratorId, int64_t> extents_;  // of every loop so far
  Loops loops_;  // that enclose the statement
  IdVector<LocalId, bool> known_locals_;
  IdVector<LocalId, bool> live_locals_;
  MustWriteRegions written_;
  const Stmt* nest_ = nullptr;               // the statement of the body
  IdVector<BufferId, const Stmt*> nest_of_;  // that uses the private buffer
  bool named_ = false;
};

}  // namespace

absl::Status Verify(const LoopProgram& program, FaultPlace* place) {
  IdVector<BufferId, Role> roles;
  roles.reserve(program.buffers.size());
  for (const Buffer& buffer : program.buffers) roles.push_back(buffer.role);
  return Verifier(program, roles, place).Run(program.body);
}

absl::Status VerifyPart(const LoopProgram& program, const Block& body,
                        const IdVector<BufferId, Role>& roles) {
  return Verifier(program, roles, nullptr).Run(body);
}

}  // namespace ocannl
