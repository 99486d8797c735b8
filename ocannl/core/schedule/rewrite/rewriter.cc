// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/rewriter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl::rewrite {
namespace {

// Gives each parameter of a rewrite what is of its type.
class Giver {
 public:
  Giver(const Arguments& arguments, Legality legality)
      : arguments_(arguments), legality_(legality) {}

  // One loop after the other; the last one again where there are too few, and
  // a span gets those that are left.
  void Give(IteratorId& loop) {
    const std::vector<IteratorId>& loops = arguments_.loops;
    loop = loops[std::min(given_++, loops.size() - 1)];
  }
  void Give(absl::Span<const IteratorId>& rest) {
    rest = absl::MakeSpan(arguments_.loops)
               .subspan(std::min(given_, arguments_.loops.size()));
  }
  void Give(absl::string_view& name) { name = arguments_.buffer; }
  void Give(int64_t& number) { number = arguments_.number; }
  void Give(LoopKind& kind) { kind = arguments_.kind; }
  void Give(Legality& legality) { legality = legality_; }

 private:
  const Arguments& arguments_;
  const Legality legality_;
  size_t given_ = 0;
};

// Calls it with what each of its parameters is given, in order.
template <typename... T>
absl::Status Call(absl::Status (*rewrite)(LoopProgram&, T...),
                  LoopProgram& program, Giver giver) {
  std::tuple<T...> given;
  auto call = [&](T&... parameters) {
    (giver.Give(parameters), ...);
    return rewrite(program, parameters...);
  };
  return std::apply(call, given);
}

constexpr Row kRows[] = {
#define REWRITE(function, parameters, name, arguments, usage, changes)   \
  {name, arguments, usage, Row::Changes::changes,                        \
   [](LoopProgram& program, const Arguments& given, Legality legality) { \
     return Call(function, program, Giver(given, legality));             \
   }},
#include "ocannl/core/schedule/rewrite/rewrites.def"
#undef REWRITE
};

// Those that are in the first loop, if there is one.
std::vector<IteratorId> LoopsInside(LoopProgram& program,
                                    absl::Span<const IteratorId> loops) {
  std::vector<IteratorId> inside;
  if (loops.empty()) return inside;
  const absl::StatusOr<LoopSite> site = FindLoop(program, loops[0]);
  if (!site.ok()) return inside;  // so the rewrite will say
  WalkLoops(site->loop().body,
            [&](const For& loop) { inside.push_back(loop.iterator); });
  return inside;
}

}  // namespace

absl::Span<const Row> Rows() { return kRows; }

Made Rewriter::Apply(const Row& row, const Arguments& arguments) {
  if (!savepoints_.empty()) {
    const bool is_of_nest = row.changes != Row::Changes::kProgram;
    SaveNestsOf(is_of_nest ? arguments.loops : std::vector<IteratorId>());
  }
  std::vector<IteratorId> inside;
  if (script_ != nullptr) inside = LoopsInside(program_, arguments.loops);
  const IteratorId first = program_.next_iterator;
  absl::Status status = row.apply(program_, arguments, legality_);
  if (!status.ok()) {
    program_.next_iterator = first;
    return status;
  }
  NewLoops made;
  for (IteratorId k = first; k < program_.next_iterator;) made.push_back(k++);
  if (script_ != nullptr) {
    script_->push_back({&row, arguments, made, std::move(inside)});
  }
  return made;
}

absl::Status Rewriter::CollapsePairs(absl::Span<const LoopPair> pairs) {
  SaveNestsOf({});
  OCANNL_RETURN_IF_ERROR(rewrite::CollapsePairs(program_, pairs));
  if (script_ == nullptr) return absl::OkStatus();
  for (const auto& [outer, inner] : pairs) {
    script_->push_back(
        {&RowAt(RowOf::kCollapse), Arguments::Of(outer, inner), {}, {}});
  }
  return absl::OkStatus();
}

void Rewriter::Append(Stmt stmt) {
  for (Savepoint* savepoint : savepoints_) savepoint->program_.Appended(1);
  program_.body.stmts.push_back(std::move(stmt));
}

void Rewriter::SaveNestsOf(absl::Span<const IteratorId> loops) {
  const std::vector<Stmt>& stmts = program_.body.stmts;
  if (stmts.empty()) return;
  std::vector<size_t> nests;
  for (IteratorId loop : loops) {
    const absl::StatusOr<LoopSite> site = FindLoop(program_, loop);
    if (!site.ok()) return;  // so the rewrite will say
    nests.push_back(site->nest);
  }
  if (loops.empty()) nests = {0, stmts.size() - 1};
  for (Savepoint* savepoint : savepoints_) {
    for (size_t at : nests) savepoint->program_.Save(at);
  }
}

Rewriter::Savepoint::Savepoint(Rewriter& rewriter)
    : rewriter_(rewriter),
      program_(rewriter.program_),
      script_size_(rewriter.script_ == nullptr ? 0 : rewriter.script_->size()) {
  rewriter_.savepoints_.push_back(this);
}

Rewriter::Savepoint::~Savepoint() { std::erase(rewriter_.savepoints_, this); }

void Rewriter::Savepoint::RollBack() {
  program_.RollBack();
  if (Script* script = rewriter_.script_) {
    script->erase(script->begin() + static_cast<int64_t>(script_size_),
                  script->end());
  }
}

}  // namespace ocannl::rewrite
