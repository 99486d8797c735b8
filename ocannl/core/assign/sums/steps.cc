// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/sums/steps.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/base/containers/stable_vector.h"

namespace ocannl {
namespace {

bool IsExtreme(const Assign& assign) {
  return assign.accum == Op::kMin || assign.accum == Op::kMax;
}

class StepPlanner {
 public:
  StepPlanner(const Assignments& code, const PartialSums& sums)
      : code_(code), sums_(sums), uses_(code.arrays.size()) {}

  StepPlan Run() {
    StartCells();
    FindUses();
    EndWithZeros();
    return {std::move(steps_), std::move(shows_signs_), std::move(uses_)};
  }

 private:
  // Elides an assignment that only zeroes what the next one to touch the array
  // adds to, if the addition can start the cells itself: it comes once a cell,
  // and becomes an assignment, or it ends a sum in lanes.
  void StartCells() {
    // What zeroes each array, if nothing has touched it since.
    constexpr uint32_t kNone = -1;
    std::vector<uint32_t> zero_of(code_.arrays.size(), kNone);
    for (const Assignment& assignment : code_.list) {
      const Assign* assign = std::get_if<Assign>(&assignment);
      if (assign == nullptr) continue;
      const auto number = static_cast<uint32_t>(steps_.size());
      LowerStep& step = steps_.emplace_back(
          LowerStep{.assign = assign,
                    .reaches_all = ReachesAll(code_, *assign),
                    .accum = assign->accum,
                    .reset = assign->reset});
      if (auto lanes = FindLanes(code_, *assign, sums_)) {
        step.lanes = std::make_unique<LaneSplit>(*std::move(lanes));
      }
      WalkReads(*assign, [&](int32_t array) { zero_of[array] = kNone; });
      uint32_t& zero = zero_of[assign->lhs];
      const bool adds =
          zero != kNone && assign->accum == Op::kAdd && !assign->reset;
      const bool once = ReachesOnce(code_, *assign);
      // The first term of =- is negated, so that it is no plain assignment.
      const bool sets =
          once && (adds || (assign->reset && EndsWithZero(code_, *assign) &&
                            assign->accum != Op::kSub));
      if (sets) {
        step.accum.reset();
        step.lanes.reset();
      }
      step.reset = !sets && (assign->reset || (adds && step.lanes));
      if (adds && (sets || step.lanes)) steps_[zero].is_elided = true;
      is_once_.push_back(once);
      step.zeroes = !step.accum && step.reaches_all && IsZero(code_, *assign);
      zero = step.zeroes ? number : kNone;
    }
  }

  void FindUses() {
    for (const LowerStep& step : steps_) {
      const Assign& assign = *step.assign;
      if (step.is_elided) continue;
      auto read = [&](int32_t array) {
        uses_[array].read_first |= !uses_[array].written;
      };
      if (step.accum && !step.reset) read(assign.lhs);
      WalkReads(assign, read);
      ArrayUse& use = uses_[assign.lhs];
      if (std::exchange(use.written, true)) continue;
      use.part_first = !step.reset && !step.reaches_all;
    }
    for (size_t k = 0; k < uses_.size(); ++k) {
      const Array& array = code_.arrays[k];
      uses_[k].is_stored =
          IsStored(array) || (uses_[k].read_first && IsOpenGradient(array));
    }
  }

  void EndWithZeros() {
    std::vector<bool> is_kept;
    for (const ArrayUse& use : uses_) is_kept.push_back(use.is_stored);
    ZeroSigns signs = FindZeroSigns(code_, is_kept);
    shows_signs_ = std::move(signs.sources);
    // Whether no cell of an array is -0: all that was written to it since it
    // was zeroed is sums that make none of +0.
    std::vector<bool> from_zero(code_.arrays.size(), false);
    for (size_t k = 0; k < steps_.size(); ++k) {
      LowerStep& step = steps_[k];
      const Assign& assign = *step.assign;
      const int32_t array = assign.lhs;
      const bool is_zeroed = assign.reset || from_zero[array];
      if (signs.target[k]) EndWithZero(k, is_zeroed);
      const bool keeps_zero =
          signs.target[k] || step.lanes != nullptr ||
          !(is_once_[k] || IsExtreme(assign) || IsChainOfProducts(k));
      from_zero[array] =
          step.zeroes || (EndsWithZero(code_, assign) &&
                          (is_zeroed || !step.accum) && keeps_zero);
    }
  }

  // Decides how a reduction in order ends, of which a cell may be -0, as it was
  // before, or by a product that underflows.
  void EndWithZero(size_t number, bool from_zero) {
    LowerStep& step = steps_[number];
    if (step.lanes || !EndsWithZero(code_, *step.assign)) return;
    if (is_once_[number]) {
      step.adds_zero = step.accum ? AddsZero::kToResults : AddsZero::kToTerms;
      return;
    }
    // An extreme in order has no term of -0; sums end after all terms.
    if (IsExtreme(*step.assign)) step.adds_zero = AddsZero::kToTerms;
    const int32_t array = step.assign->lhs;
    if (!from_zero) {
      step.zero_pass = ZeroPass::kTarget;
    } else if (IsChainOfProducts(number)) {
      step.zero_pass =
          OnlyMapsRead(array, number) ? ZeroPass::kReaders : ZeroPass::kArray;
    }
  }

  // Whether the step is a sum of products that ends with `+ 0`, in order.
  bool IsChainOfProducts(size_t number) const {
    const Assign& assign = *steps_[number].assign;
    const auto* apply = std::get_if<Apply>(&code_.exprs[assign.rhs]);
    return apply != nullptr && apply->op == Op::kMul &&
           EndsWithZero(code_, assign) && !IsExtreme(assign) &&
           !is_once_[number] && !steps_[number].lanes;
  }

  // The steps after `number` that read or write the array.
  absl::Span<const uint32_t> UsesAfter(int32_t array, size_t number) {
    if (places_.empty()) FindPlaces();
    const Places& all = places_[array];
    const auto next = absl::c_upper_bound(all, number);
    return absl::MakeSpan(all).subspan(next - all.begin());
  }

  void FindPlaces() {
    places_.resize(code_.arrays.size());
    for (uint32_t k = 0; k < steps_.size(); ++k) {
      auto add = [&](int32_t array) { places_[array].push_back(k); };
      add(steps_[k].assign->lhs);
      WalkReads(*steps_[k].assign, add);
    }
  }

  // Whether maps alone read the array until it is written anew or lost.
  bool OnlyMapsRead(int32_t array, size_t number) {
    if (uses_[array].is_stored) return false;
    for (const size_t place : UsesAfter(array, number)) {
      const LowerStep& step = steps_[place];
      const Assign& use = *step.assign;
      if (use.lhs == array) {
        return !ReadsSource(use, array) && (!use.accum || use.reset) &&
               step.reaches_all;
      }
      if (use.lookup || Reduces(use.extents, use.lhs_indices) ||
          absl::c_any_of(use.sources, [](const Source& source) {
            return std::holds_alternative<ReadLookup>(source);
          })) {
        return false;
      }
    }
    return true;
  }

  static void WalkReads(const Assign& assign,
                        absl::FunctionRef<void(int32_t)> visit) {
    for (const Source& source : assign.sources) {
      WalkArrays(source, [&](const ReadArray& read) { visit(read.array); });
    }
  }

  const Assignments& code_;
  const PartialSums& sums_;
  StableVector<LowerStep> steps_;
  std::vector<bool> shows_signs_;
  std::vector<bool> is_once_;  // of each step: it reaches each cell once
  std::vector<ArrayUse> uses_;
  // The steps that use an array, ascending; one that does twice is there twice.
  using Places = absl::InlinedVector<uint32_t, 4>;
  std::vector<Places> places_;  // of each array, once UsesAfter has been asked
};

}  // namespace

StepPlan PlanSteps(const Assignments& code, const PartialSums& sums) {
  return StepPlanner(code, sums).Run();
}

}  // namespace ocannl
