// SPDX-License-Identifier: Apache-2.0
//
// Routine: an executable bound to the arrays of a context.
//
//   OCANNL_RETURN_IF_ERROR(step.Set("batch", 3));
//   OCANNL_RETURN_IF_ERROR(step.Run());
#ifndef OCANNL_CORE_RUNTIME_ROUTINE_H_
#define OCANNL_CORE_RUNTIME_ROUTINE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/linked_code.h"

namespace ocannl {

// The value of one static index of one routine. Copies stand for the same
// index; they may outlive the routine.
class StaticRef {
 public:
  const std::string& name() const { return index().name; }
  std::optional<int64_t> value() const {
    const int64_t value = cells_->values[number_];
    return value == kUnset ? std::nullopt : std::optional(value);
  }
  // The number of its values, if it has a range.
  std::optional<int64_t> range() const {
    if (index().range == loop_ir::kUnranged) return std::nullopt;
    return index().range;
  }

  // Error: outside of the index's range.
  absl::Status Set(int64_t value);

 private:
  friend class Routine;
  static constexpr int64_t kUnset = -1;
  // Those of one routine.
  struct Cells {
    std::string routine;
    std::vector<loop_ir::StaticIndex> indices;
    std::vector<int64_t> values;
  };
  StaticRef(std::shared_ptr<Cells> cells, size_t number)
      : cells_(std::move(cells)), number_(number) {}
  const loop_ir::StaticIndex& index() const { return cells_->indices[number_]; }

  std::shared_ptr<Cells> cells_;
  size_t number_;
};

// Moves, but does not copy. Not thread-safe, like its context.
class Routine {
 public:
  Routine(Routine&&) noexcept;
  Routine& operator=(Routine&&) noexcept;
  ~Routine();

  const std::string& name() const { return program().name; }
  const LoopProgram& program() const { return *code_->program; }

  // What to link the next routine to, if it builds on this one.
  const Context& context() const { return context_; }

  // One cell per static index of the program, in order.
  const std::vector<StaticRef>& statics() const { return statics_; }

  // Error: no static index of that name.
  absl::StatusOr<StaticRef> Static(absl::string_view name) const;

  // Static(name)->Set(value).
  absl::Status Set(absl::string_view name, int64_t value);

  // Runs once. Errors, before anything is changed: a merge buffer points at an
  // array that it writes (Context::PointMerge); a static index was never set;
  // an input was never written. Also errors: an earlier linked routine
  // conflicts with it and has never run; the merge buffer lacks the array that
  // it reads. The stream may defer the run until a result is read or an input
  // is written.
  absl::Status Run();

  int64_t runs() const { return record_->runs; }

 private:
  friend class Context;
  Routine(std::shared_ptr<const LinkedCode> code, Context context);

  // What only the first run needs to check: nothing becomes unset or unwritten.
  absl::Status CheckReady() const;
  // Of a routine that reads the merge buffer.
  absl::Status CheckMerge() const;
  absl::StatusOr<const std::shared_ptr<const LinkedCode>*> CodeToMerge();

  std::shared_ptr<const LinkedCode> code_;
  Context context_;
  // The same on the arrays that the merge buffer pointed at.
  absl::flat_hash_map<std::shared_ptr<const DeviceArray>,
                      std::shared_ptr<const LinkedCode>>
      pointing_;
  std::shared_ptr<LinkedRoutine> record_;
  std::vector<Conflict> conflicts_;
  std::vector<StaticRef> statics_;
  std::shared_ptr<StaticRef::Cells> static_cells_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_ROUTINE_H_
