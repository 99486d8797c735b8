// SPDX-License-Identifier: Apache-2.0
//
// Rewriter: the driver of rewrites. It has a method for each row of
// rewrites.def, and keeps the script of what was done.
//
//   Rewriter rewriter(program, &script);
//   Rewriter::Savepoint before(rewriter);
//   OCANNL_ASSIGN_OR_RETURN(const NewLoops made, rewriter.Split(i3, 16));
//   if (!rewriter.Vectorize(made[0]).ok()) before.RollBack();
//
// The planners for CPUs and GPUs call the methods. RunScript looks up the rows
// by their names in a text (script.h), which Print makes of a script
// (print_script.h). After an error, the program and the script are as they
// were.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_REWRITER_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_REWRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/legality.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/savepoint.h"

namespace ocannl::rewrite {

// The loops that a rewrite has made, in the order in which rewrites.def names
// them; behind them all others, such as those of copies.
using NewLoops = std::vector<IteratorId>;

// The new loops or an error; as a Status where the loops do not matter.
class Made : public absl::StatusOr<NewLoops> {
 public:
  using StatusOr::StatusOr;
  operator absl::Status() const { return status(); }  // NOLINT
};

// What a rewrite is called with: each parameter gets what is of its type, the
// loops in order.
struct Arguments {
  template <class... Given>
  static Arguments Of(const Given&... given) {
    Arguments arguments;
    (arguments.Add(given), ...);
    return arguments;
  }

  void Add(IteratorId loop) { loops.push_back(loop); }
  void Add(absl::Span<const IteratorId> more) {
    loops.insert(loops.end(), more.begin(), more.end());
  }
  void Add(absl::string_view name) { buffer = std::string(name); }
  void Add(int64_t given) { number = given; }
  void Add(LoopKind to) { kind = to; }

  std::vector<IteratorId> loops;
  std::string buffer;
  int64_t number = 0;
  LoopKind kind = LoopKind::kFor;
};

// A row of rewrites.def, which says what its columns are.
struct Row {
  enum class Changes : uint8_t { kLoop, kNest, kRounding, kProgram };

  absl::string_view name;
  absl::string_view arguments;
  absl::string_view usage;
  Changes changes;
  absl::Status (*apply)(LoopProgram&, const Arguments&, Legality);
};
absl::Span<const Row> Rows();  // in the order of rewrites.def

// A rewrite that was done.
struct Step {
  const Row* row;
  Arguments arguments;
  NewLoops made;
  // The loops that were in its first loop, outer ones first. A remainder has
  // copies of them, in this order.
  std::vector<IteratorId> inside;
};
using Script = std::vector<Step>;

// Whether `function` has these parameters, behind the program and before what
// it must prove.
template <auto function, class... Given>
concept TakenBy =
    std::is_invocable_v<decltype(function), LoopProgram&, Given...> ||
    std::is_invocable_v<decltype(function), LoopProgram&, Given..., Legality>;

class Rewriter {
 public:
  // What to roll a few rewrites back to: the program (savepoint.h) and the
  // script. The rewriter outlives it.
  class Savepoint;

  // `program` has counted its iterators (CountIterators), is one that Verify
  // accepts, and outlives this object, as does `script`, which gets what was
  // done. The time that a rewrite takes depends on how many statements are in
  // the body: others may wait elsewhere.
  explicit Rewriter(LoopProgram& program, Script* script = nullptr,
                    Legality legality = Legality::kProve)
      : program_(program), script_(script), legality_(legality) {}
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

#define REWRITE(function, ...)                                        \
  template <class... Given>                                           \
  requires TakenBy<&rewrite::function, Given...> Made function(       \
      const Given&... given) {                                        \
    return Apply(RowAt(RowOf::k##function), Arguments::Of(given...)); \
  }
#include "ocannl/core/schedule/rewrite/rewrites.def"
#undef REWRITE

  Made Apply(const Row& row, const Arguments& arguments);

  // Collapse of each pair, all in the time of one.
  absl::Status CollapsePairs(absl::Span<const LoopPair> pairs);

  // Appends a statement to the body, which stays there when a savepoint that
  // there is rolls back.
  void Append(Stmt stmt);

  const LoopProgram& program() const { return program_; }

 private:
  enum class RowOf : uint8_t {
#define REWRITE(function, ...) k##function,
#include "ocannl/core/schedule/rewrite/rewrites.def"
#undef REWRITE
  };

  static const Row& RowAt(RowOf row) {
    return Rows()[static_cast<size_t>(row)];
  }

  // Has the savepoints save what a rewrite of these loops may change; of none:
  // all.
  void SaveNestsOf(absl::Span<const IteratorId> loops);

  LoopProgram& program_;
  Script* const script_;
  const Legality legality_;
  std::vector<Savepoint*> savepoints_;  // those that there are
};

class Rewriter::Savepoint {
 public:
  explicit Savepoint(Rewriter& rewriter);
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  ~Savepoint();

  // Before something else than the rewriter changes statements of the body.
  void SaveAll() { program_.SaveAll(); }

  // All is as it was when the savepoint was made. It may roll back again.
  void RollBack();

 private:
  friend class Rewriter;

  Rewriter& rewriter_;
  rewrite::Savepoint program_;
  const size_t script_size_;
};

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_REWRITER_H_
