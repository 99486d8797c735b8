// SPDX-License-Identifier: Apache-2.0
#include "tests/agree/faulty_backend.h"

#include <sys/mman.h>

#include <cfenv>
#include <csignal>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/fuzz/programs/indices.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl::fuzz {
namespace {

using Args = std::vector<Expr>;

// Every operation `op` as `value(operands)`, of derived operations too.
LoopProgram Replaced(LoopProgram program, Op op,
                     absl::FunctionRef<Expr(const Args&, DType)> value) {
  ExprPool& pool = program.exprs;
  RewriteValues(program.body, [&](ExprId root) {
    return Rewrite(pool, Expand(pool, root), [&](ExprId id) {
      const Apply* apply = std::get_if<Apply>(&pool[id]);
      if (apply == nullptr || apply->op != op) return id;
      Args args;
      for (ExprId arg : apply->args) args.emplace_back(&pool, arg);
      return value(args, apply->dtype).id();
    });
  });
  return program;
}

LoopProgram TakesTheFirstOnATie(LoopProgram program) {
  return Replaced(std::move(program), Op::kMax,
                  [](const Args& a, DType) { return Max(a[1], a[0]); });
}

LoopProgram LosesNaNs(LoopProgram program) {
  return Replaced(std::move(program), Op::kMaximum,
                  [](const Args& a, DType) { return Max(a[0], a[1]); });
}

LoopProgram ComparesTheOtherWay(LoopProgram program) {
  return Replaced(std::move(program), Op::kLess, [](const Args& a, DType) {
    return Not(LessEqual(a[1], a[0]));
  });
}

LoopProgram RoundsFmaTwice(LoopProgram program) {
  return Replaced(std::move(program), Op::kFma,
                  [](const Args& a, DType) { return a[0] * a[1] + a[2]; });
}

LoopProgram FusesProducts(LoopProgram program) {
  return Replaced(
      std::move(program), Op::kAdd, [](const Args& a, DType dtype) -> Expr {
        const Apply* product = std::get_if<Apply>(&(*a[0].pool())[a[0].id()]);
        if (!IsFloat(dtype) || product == nullptr || product->op != Op::kMul) {
          return a[0] + a[1];
        }
        return Fma(Expr(a[0].pool(), product->args[0]),
                   Expr(a[0].pool(), product->args[1]), a[1]);
      });
}

LoopProgram NegatesBySubtracting(LoopProgram program) {
  return Replaced(std::move(program), Op::kNeg,
                  [](const Args& a, DType) { return 0 - a[0]; });
}

LoopProgram RoundsHalvesUp(LoopProgram program) {
  return Replaced(std::move(program), Op::kRound,
                  [](const Args& a, DType) { return Floor(a[0] + 0.5); });
}

LoopProgram DividesByReciprocals(LoopProgram program) {
  return Replaced(std::move(program), Op::kDiv, [](const Args& a, DType dtype) {
    return IsFloat(dtype) ? a[0] * (1 / a[1]) : a[0] / a[1];
  });
}

// As the machine's instructions shift.
LoopProgram MasksShifts(LoopProgram program) {
  return Replaced(std::move(program), Op::kShl, [](const Args& a, DType dtype) {
    return a[0] << (a[1] & Literal(*a[1].pool(), dtype, 8 * SizeOf(dtype) - 1));
  });
}

// As the machine's conversions overflow.
LoopProgram ConvertsOverflowToTheLeast(LoopProgram program) {
  return Replaced(std::move(program), Op::kConvert,
                  [](const Args& a, DType dtype) {
                    Expr converted = Convert(a[0], dtype);
                    if (dtype != DType::kI32 || !IsFloat(a[0].dtype()))
                      return converted;
                    Expr fits = (-0x1p31 <= a[0]) & (a[0] < 0x1p31);
                    return Select(fits, converted, -0x1p31);
                  });
}

LoopProgram TreatsU32AsSigned(LoopProgram program) {
  return Replaced(std::move(program), Op::kConvert,
                  [](const Args& a, DType dtype) {
                    if (a[0].dtype() != DType::kU32 || !IsFloat(dtype)) {
                      return Convert(a[0], dtype);
                    }
                    return Convert(Bitcast(a[0], DType::kI32), dtype);
                  });
}

LoopProgram WithLoops(LoopProgram program,
                      absl::FunctionRef<void(For&)> fault) {
  RewriteStmts(program.body, [&](Stmt& stmt) {
    if (For* loop = std::get_if<For>(&stmt)) fault(*loop);
  });
  return program;
}

// Vectors without what does not fill one.
LoopProgram ForgetsTails(LoopProgram program) {
  return WithLoops(std::move(program), [](For& loop) {
    if (loop.kind == LoopKind::kVec && loop.extent > 16) {
      loop.extent -= loop.extent % 16;
    }
  });
}

LoopProgram ForgetsTheLastIteration(LoopProgram program) {
  return WithLoops(std::move(program), [](For& loop) {
    if (loop.extent % 8 == 1 && loop.extent > 1) --loop.extent;
  });
}

// Statement by statement over the iterations, whether they depend on each
// other or not.
LoopProgram DistributesLoops(LoopProgram program) {
  CountIterators(program);
  std::vector<Stmt> body;
  for (Stmt& stmt : program.body.stmts) {
    For* loop = std::get_if<For>(&stmt);
    bool splits = loop != nullptr &&
                  absl::c_all_of(loop->body.stmts, [](const Stmt& inner) {
                    return std::holds_alternative<Set>(inner);
                  });
    if (!splits) {
      body.push_back(std::move(stmt));
      continue;
    }
    for (Stmt& inner : loop->body.stmts) {
      For part = {LoopKind::kFor, program.FreshIterator(), loop->extent, {}};
      part.body.stmts.push_back(std::move(inner));
      Substitute(program, part.body, [&](Symbol symbol) -> Affine {
        bool own = symbol == Iterator(loop->iterator);
        return own ? Iterator(part.iterator) : symbol;
      });
      body.push_back(std::move(part));
    }
  }
  program.body.stmts = std::move(body);
  return program;
}

// Sums from the last to the first.
LoopProgram ReversesLoops(LoopProgram program) {
  std::vector<std::pair<IteratorId, int64_t>> innermost;
  RewriteStmts(program.body, [&](Stmt& stmt) {
    For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || loop->body.stmts.size() != 1) return;
    if (!std::holds_alternative<Set>(loop->body.stmts[0])) return;
    innermost.push_back({loop->iterator, loop->extent});
  });
  Substitute(program, program.body, [&](Symbol symbol) -> Affine {
    for (auto [iterator, extent] : innermost) {
      if (symbol == Iterator(iterator)) {
        return Affine(extent - 1) + -1 * Affine(symbol);
      }
    }
    return symbol;
  });
  return program;
}

LoopProgram ForgetsZeroOut(LoopProgram program) {
  RewriteStmts(program.body, [](Stmt& stmt) {
    if (std::holds_alternative<ZeroOut>(stmt)) stmt = Comment{""};
  });
  return program;
}

LoopProgram WithCells(LoopProgram program,
                      absl::FunctionRef<void(Affine&)> fault) {
  RewriteCells(program, program.body, [&](Access cell) {
    for (Affine& index : cell.indices) fault(index);
    return cell;
  });
  return program;
}

// Still in bounds, because the offset is what keeps the index from 0.
LoopProgram LosesOffsets(LoopProgram program) {
  return WithCells(std::move(program), [](Affine& index) {
    bool rises = absl::c_all_of(index.terms(), [](const Affine::Term& term) {
      return term.factor > 0;
    });
    if (rises && index.terms().size() > 1) index += -index.offset();
  });
}

LoopProgram StepsByOne(LoopProgram program) {
  return WithCells(std::move(program), [](Affine& index) {
    Affine stepped = index.offset();
    for (const Affine::Term& term : index.terms()) {
      stepped += (term.factor == 2 ? 1 : term.factor) * Affine(term.symbol);
    }
    index = stepped;
  });
}

int64_t BytesOf(const Buffer& buffer) {
  return NumElements(buffer.dims) * static_cast<int64_t>(SizeOf(buffer.dtype));
}

void WritesPastTheEnd(const LoopProgram& program,
                      absl::Span<std::byte* const> buffers, bool after) {
  if (!after || buffers.empty()) return;
  buffers.back()[BytesOf(program.buffers.back())] = std::byte{0};
}

void WritesBeforeTheStart(const LoopProgram&,
                          absl::Span<std::byte* const> buffers, bool after) {
  if (after && !buffers.empty()) buffers.back()[-1] = std::byte{0};
}

// A whole vector where a part of it would do.
void ReadsPastTheEnd(const LoopProgram& program,
                     absl::Span<std::byte* const> buffers, bool after) {
  if (!after) return;
  for (BufferId k : program.buffers.ids()) {
    int64_t end = (BytesOf(program.buffers[k]) + 63) / 64 * 64;
    static_cast<void>(
        *const_cast<volatile std::byte*>(buffers[k.index] + end - 1));
  }
}

void WritesBackWhatItRead(const LoopProgram&,
                          absl::Span<std::byte* const> buffers, bool) {
  for (std::byte* buffer : buffers) {
    volatile std::byte* cell = buffer;
    *cell = *cell;
  }
}

void RoundsUp(const LoopProgram&, absl::Span<std::byte* const>, bool after) {
  std::fesetround(after ? FE_TONEAREST : FE_UPWARD);
}

void TrapsOnDivision(const LoopProgram& program, absl::Span<std::byte* const>,
                     bool after) {
  bool divides = false;
  for (int32_t k = 0; k < program.exprs.size(); ++k) {
    const Apply* apply = std::get_if<Apply>(&program.exprs[ExprId{k}]);
    divides |= apply != nullptr && apply->op == Op::kRem;
  }
  if (divides && after) std::raise(SIGFPE);
}

void LeavesCodeWritable(const LoopProgram&) {
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
}

constexpr Fault kFaults[] = {
    {"takes_the_first_on_a_tie", TakesTheFirstOnATie, nullptr, nullptr},
    {"loses_nans", LosesNaNs, nullptr, nullptr},
    {"compares_the_other_way", ComparesTheOtherWay, nullptr, nullptr},
    {"rounds_fma_twice", RoundsFmaTwice, nullptr, nullptr},
    {"fuses_products", FusesProducts, nullptr, nullptr},
    {"negates_by_subtracting", NegatesBySubtracting, nullptr, nullptr},
    {"rounds_halves_up", RoundsHalvesUp, nullptr, nullptr},
    {"divides_by_reciprocals", DividesByReciprocals, nullptr, nullptr},
    {"masks_shifts", MasksShifts, nullptr, nullptr},
    {"converts_overflow", ConvertsOverflowToTheLeast, nullptr, nullptr},
    {"treats_u32_as_signed", TreatsU32AsSigned, nullptr, nullptr},
    {"forgets_tails", ForgetsTails, nullptr, nullptr},
    {"forgets_the_last", ForgetsTheLastIteration, nullptr, nullptr},
    {"distributes_loops", DistributesLoops, nullptr, nullptr},
    {"reverses_loops", ReversesLoops, nullptr, nullptr},
    {"forgets_zero_out", ForgetsZeroOut, nullptr, nullptr},
    {"loses_offsets", LosesOffsets, nullptr, nullptr},
    {"steps_by_one", StepsByOne, nullptr, nullptr},
    {"writes_past_the_end", nullptr, WritesPastTheEnd, nullptr},
    {"writes_before_the_start", nullptr, WritesBeforeTheStart, nullptr},
    {"reads_past_the_end", nullptr, ReadsPastTheEnd, nullptr},
    {"writes_back", nullptr, WritesBackWhatItRead, nullptr},
    {"rounds_up", nullptr, RoundsUp, nullptr},
    {"traps_on_division", nullptr, TrapsOnDivision, nullptr},
    {"leaves_code_writable", nullptr, nullptr, LeavesCodeWritable},
};

class FaultyExecutable : public Executable {
 public:
  FaultyExecutable(std::unique_ptr<Executable> inner, LoopProgram program,
                   const Fault* fault)
      : inner_(std::move(inner)), program_(std::move(program)), fault_(fault) {}

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    if (fault_->around) fault_->around(program_, buffers, false);
    inner_->Run(buffers, statics);
    if (fault_->around) fault_->around(program_, buffers, true);
  }

 private:
  std::unique_ptr<Executable> inner_;
  LoopProgram program_;
  const Fault* fault_;
};

}  // namespace

absl::Span<const Fault> Faults() { return kFaults; }

absl::StatusOr<std::unique_ptr<Executable>> FaultyBackend::Compile(
    const LoopProgram& program) const {
  if (fault_->compile) fault_->compile(program);
  auto inner = interp::InterpBackend().Compile(
      fault_->rewrite ? fault_->rewrite(program) : program);
  CHECK_OK(inner);
  return std::make_unique<FaultyExecutable>(*std::move(inner), program, fault_);
}

}  // namespace ocannl::fuzz
