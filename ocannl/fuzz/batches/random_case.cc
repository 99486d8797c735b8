// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/batches/random_case.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/fuzz/batches/case_state.h"

namespace ocannl::fuzz {
namespace {

constexpr int kTries = 20;  // to find an operation that fits

// Points of the loops of the largest batch.
constexpr int64_t kMostPointsOfBatch = 20'000;

class CaseWriter {
 public:
  explicit CaseWriter(uint64_t seed)
      : random_(seed),
        state_{.random = random_,
               .kind = static_cast<CaseKind>(random_.Below(3)),
               .place = static_cast<RowsPlace>(random_.Below(3)),
               .most_cells = random_.OneIn(3) ? 1100 : 200} {
    state_.made.seed = seed;
    for (absl::Span<const CaseOp> ops : {PlainOps(), ProductOps()}) {
      for (const CaseOp& op : ops) ops_.insert(ops_.end(), op.weight, op);
    }
  }

  BatchCase Write() {
    const bool is_rows = state_.kind == CaseKind::kRows;
    state_.made.property =
        is_rows ? BatchProperty::kRows : BatchProperty::kTerms;
    const auto fill = static_cast<BatchFill>(random_.Below(10));
    if (fill <= (is_rows ? BatchFill::kNonFinite : BatchFill::kWide)) {
      state_.made.fill = fill;
    }
    // Rows must be the outermost axis in gradients of parameters.
    const bool is_any = state_.place == RowsPlace::kAny;
    if (state_.kind == CaseKind::kGradients && is_any) {
      state_.place = RowsPlace::kFirst;
    }
    AddOperands();
    if (state_.kind != CaseKind::kTerms || !is_any) {
      for (int64_t steps = 1 + random_.Below(4); steps > 0; --steps) AddStep();
    }
    if (state_.kind == CaseKind::kTerms) {
      CaseValue sum = SumOverRows(state_);
      state_.Let(std::move(sum));
      state_.values = {state_.values.back()};
      state_.rows_are_summed = true;
      for (int64_t steps = random_.Below(2); steps > 0; --steps) AddStep();
    } else if (!is_rows || random_.OneIn(2)) {
      Weigh();
    }
    AddBatches();
    return std::move(state_.made);
  }

 private:
  void AddOperands() {
    CaseAxes axes;
    int64_t room = state_.most_cells;
    for (int64_t rank = random_.Below(4); rank > 0; --rank) {
      axes.push_back({.size = state_.Size(room)});
      room /= state_.CellsOf(axes.back().size);
      if (random_.OneIn(6)) axes.back().row = RowKind::kInput;
    }
    const BatchPadding padding = state_.kind == CaseKind::kTerms
                                     ? BatchPadding::kZero
                                     : BatchPadding::kAny;
    for (int64_t k = 1 + random_.OneIn(3); k > 0; --k) {
      state_.values.push_back(state_.Operand(state_.WithRows(axes), padding));
    }
  }

  void AddStep() {
    for (int k = 0; k < kTries; ++k) {
      const CaseOp& op = random_.Pick(ops_);
      state_.letters = 0;
      std::optional<CaseValue> made = op.make(state_);
      if (!made || made->axes.size() > 5) continue;
      if (state_.CellsOf(made->axes) > state_.most_cells) continue;
      state_.Let(*std::move(made));
      return;
    }
  }

  // Gradients begin with an operand of rows, not with ones.
  void Weigh() {
    const CaseValue v = state_.values.back();
    const std::string weights =
        state_.Operand(v.axes, BatchPadding::kZero).text;
    state_.Let({absl::StrCat("(", v.text, " *. ", weights, ")"), v.axes,
                /*is_zero=*/true});
  }

  std::vector<int64_t> Rows(int64_t begin, int64_t count) {
    std::vector<int64_t> rows(count);
    std::iota(rows.begin(), rows.end(), begin);
    return rows;
  }

  void AddBatches() {
    static constexpr int64_t kCounts[] = {1,  2,   3,   31,  32,   33,  64,
                                          65, 127, 128, 129, 1024, 1025};
    for (const CaseValue& value : state_.values) {
      state_.points = std::max(state_.points, state_.CellsOf(value.axes));
    }
    const int64_t most =
        std::max<int64_t>(kMostPointsOfBatch / state_.points, 2);
    int64_t n = random_.Pick(kCounts);
    if (n > most || random_.OneIn(3))
      n = 1 + random_.Below(std::min<int64_t>(most, 12));
    std::vector<Batch>& batches = state_.made.batches;
    batches.push_back({Rows(0, n)});
    if (state_.kind == CaseKind::kRows) return AddParts(n);
    for (int k = 0; k < 2; ++k) {
      const int64_t added = random_.Pick(kCounts);
      batches.push_back({Rows(0, n + std::min(added, most))});
    }
  }

  // One row alone, in a batch of its own, and at other places of other batches.
  void AddParts(int64_t n) {
    std::vector<Batch>& batches = state_.made.batches;
    const int64_t row = random_.Below(n);
    const bool may_be_alone =
        !state_.has_dots && state_.place != RowsPlace::kAny;
    if (may_be_alone) batches.push_back({{row}, /*alone=*/true});
    batches.push_back({{row}});
    batches.push_back({{n, row}});
    const int64_t other = random_.Below(n);
    batches.push_back({{n, other, n + 1}});
    std::vector<int64_t> rows = Rows(0, n);
    rows.push_back(n);
    std::reverse(rows.begin(), rows.end());
    batches.push_back({std::move(rows)});
  }

  Random random_;
  CaseState state_;
  std::vector<CaseOp> ops_;
};

}  // namespace

BatchCase RandomBatchCase(uint64_t seed) { return CaseWriter(seed).Write(); }

}  // namespace ocannl::fuzz
