// SPDX-License-Identifier: Apache-2.0
//
// RunObserver: sees each statement of the runs of a TreeBackend.
//
//   class Counter : public RunObserver {
//     absl::Status Stores(const RunState& run, const Stmt& stmt,
//                         const Constant& result) override;
//   };
#ifndef OCANNL_INTERP_OBSERVER_H_
#define OCANNL_INTERP_OBSERVER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/ir.h"

namespace ocannl::interp {

struct LoopAt {
  IteratorId iterator;
  int64_t value;
};

// A run, before a statement of it.
class RunState {
 public:
  virtual ~RunState() = default;

  virtual const LoopProgram& program() const = 0;
  virtual absl::Span<const int64_t> statics() const = 0;

  // The loops around the statement, the outermost first.
  virtual absl::Span<const LoopAt> loops() const = 0;

  // Inside of the loops.
  virtual int64_t ValueOf(Symbol symbol) const = 0;

  // What `leaf` reads here. nullopt: the run has not written that cell of an
  // `out`, temp or private buffer, so that it may hold anything.
  virtual std::optional<Constant> Read(
      const loop_ir::LeafValue& leaf) const = 0;

  // What a node of the statement's value, as the program has it, comes to here.
  virtual Constant ValueOf(ExprId node) const = 0;
};

// `leaf` with its indices here: x[2, 0]. A number made of indices, and a local,
// are as in .ll: [2*i1 + 1].
std::string TextOf(const RunState& run, loop_ir::LeafValue leaf);

// What a Set, Scatter, DeclareLocal or SetLocal stores to, as a leaf that reads
// it.
loop_ir::LeafValue TargetOf(const LoopProgram& program,
                            const loop_ir::Stmt& stmt);

// An error ends the run. No two runs are observed at once.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  virtual absl::Status Starts(const RunState& run);

  // A Comment or a ZeroOut comes.
  virtual absl::Status Meets(const RunState& run, const loop_ir::Stmt& stmt);

  // A Set, Scatter, DeclareLocal or SetLocal is about to store `result`. A
  // Scatter without a cell is not seen.
  virtual absl::Status Stores(const RunState& run, const loop_ir::Stmt& stmt,
                              const Constant& result) = 0;

  // After the last statement, or the error of an observer.
  virtual absl::Status Ends();
};

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_OBSERVER_H_
