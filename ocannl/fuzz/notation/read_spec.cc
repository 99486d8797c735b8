// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/read_spec.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ocannl::fuzz {
namespace {

// An axis of a tensor in the terms of the spec; `size` 0 is not known yet.
struct Place {
  EinsumAxis form;
  int64_t size;
};

// size = constant + the sum of factor * size(name).
struct Sum {
  std::vector<std::pair<std::string, int64_t>> terms;
  int64_t constant = 0;
};
bool Rounds(const EinsumAxis& form) {
  const bool centred = form.fit == WindowFit::kCentred;
  if (form.kernel.empty() || centred || form.fit == WindowFit::kExact) {
    return false;
  }
  return form.stride > 1 || form.fit == WindowFit::kCeil;
}
Sum SumOf(const EinsumAxis& form) {
  Sum sum;
  for (const std::string& part : form.parts) sum.terms.push_back({part, 1});
  if (!form.parts.empty()) return sum;
  sum.terms.push_back({form.name, form.stride});
  const bool by_steps =
      form.fit == WindowFit::kCentred || form.fit == WindowFit::kSame;
  if (form.kernel.empty() || by_steps) return sum;
  sum.terms.push_back({form.kernel, form.dilation});
  // The last window starts `stride` before the end of that many strides, and
  // reaches `dilation` times its gaps and a cell.
  sum.constant = 1 + form.offset - form.stride - form.dilation;
  // Of what it reaches, the paddings are no cells.
  sum.constant -= form.before + form.after;
  return sum;
}

// How many windows lie on so many cells: by trying, from where all fit.
int64_t CountOf(const EinsumAxis& form, int64_t window, int64_t size) {
  const int64_t end = size + form.after;
  const int64_t reach = form.dilation * (window - 1);
  int64_t count = std::max<int64_t>(0, (size - reach) / form.stride - 1);
  while (true) {
    const int64_t first = form.stride * count - form.before;
    const int64_t last = first + reach;
    if (form.fit == WindowFit::kFloor && last >= end) return count;
    if (form.fit != WindowFit::kFloor && first >= size) return count;
    // Rounded up, one more than fits.
    const bool fits = last - form.stride < end - 1;
    if (form.fit == WindowFit::kCeil && !fits) return count;
    ++count;
  }
}

ProgramAxis AxisOf(const Place& place,
                   const std::map<std::string, int64_t>& sizes) {
  const EinsumAxis& form = place.form;
  ProgramAxis axis = {
      .text = "", .names = {}, .size = place.size, .index = nullptr};
  EinsumAxis copy = form;
  for (std::string* name : copy.Names()) {
    axis.names.push_back(*name);
  }
  if (form.is_position()) {
    axis.index = [at = form.position](const Point&) { return at; };
  } else if (!form.parts.empty()) {
    axis.index = ConcatenatedIndex(form.parts, sizes);
  } else {
    int64_t before = form.before;
    if (!form.kernel.empty()) {
      const int64_t reach = (sizes.at(form.kernel) - 1) * form.dilation + 1;
      const int64_t end = form.stride * (sizes.at(form.name) - 1) + reach;
      if (form.fit == WindowFit::kCentred) before = reach / 2;
      if (form.fit == WindowFit::kSame && end > place.size) {
        before = (end - place.size) / 2;
      }
    }
    axis.index = [form, before](const Point& p) -> std::optional<int64_t> {
      if (!p.at(form.name)) return std::nullopt;
      int64_t at = form.stride * *p.at(form.name) + form.offset - before;
      if (form.kernel.empty()) return at;
      if (!p.at(form.kernel)) return std::nullopt;
      return at + form.dilation * *p.at(form.kernel);
    };
  }
  return axis;
}

class Reader {
 public:
  explicit Reader(const EinsumSpec& spec) : spec_(spec) {}

  SpecMeaning Read(absl::Span<const Shape> operands,
                   const std::map<std::string, int64_t>& names,
                   const Shape* result) {
    for (size_t k = 0; k < operands.size() && fits_; ++k) {
      tensors_.push_back(Places(spec_.operands[k], &operands[k]));
    }
    if (fits_) tensors_.push_back(Places(spec_.result, result));
    if (!fits_) return {.kind = SpecMeaning::kIllegal, .program = {}};
    NameTheNameless();
    Positions();
    Equations(names);
    if (!fits_) return {.kind = SpecMeaning::kIllegal, .program = {}};
    if (open_) return {.kind = SpecMeaning::kOpen, .program = {}};
    return {.kind = SpecMeaning::kFits, .program = Program()};
  }

 private:
  using Tensor = std::array<std::vector<Place>, 3>;

  // The axes of a tensor of that shape, or else of a result.
  Tensor Places(const EinsumSlot& slot, const Shape* shape) {
    Tensor tensor;
    int axes = 0;
    for (size_t r = 0; r < 3; ++r) {
      const EinsumRow& row = slot[r];
      const int rank =
          shape == nullptr ? -1 : static_cast<int>(shape->rows[r].size());
      if (rank >= 0 && rank < row.size()) fits_ = false;
      if (rank > row.size() && !row.variable) fits_ = false;
      if (!fits_) return tensor;
      axes += row.size() + Length(row, rank);
      if (axes > kMaxAxes) fits_ = false;
      for (const EinsumAxis& axis : row.begin) tensor[r].push_back({axis, 0});
      for (int i = 0; i < Length(row, rank); ++i) {
        tensor[r].push_back(
            {{.name = absl::StrCat("..", *row.variable, "..", i)}, 0});
      }
      for (const EinsumAxis& axis : row.end) tensor[r].push_back({axis, 0});
      if (rank >= 0 && static_cast<int>(tensor[r].size()) != rank) {
        fits_ = false;
        return tensor;
      }
      for (int i = 0; i < rank; ++i) tensor[r][i].size = shape->rows[r][i];
    }
    return tensor;
  }

  // Of the row's variable: what it was before, or what the rank leaves. One
  // that only a result of no known rank has fits if it is an ellipsis.
  int Length(const EinsumRow& row, int rank) {
    if (!row.variable) return 0;
    const int left = rank < 0 ? 0 : rank - row.size();
    const auto [length, is_new] = lengths_.try_emplace(*row.variable, left);
    if (is_new && rank < 0 && !absl::StartsWith(*row.variable, "...")) {
      fits_ = false;
    }
    return length->second;
  }

  template <class Visit>
  void ForEachPlace(Visit visit) {
    for (Tensor& tensor : tensors_) {
      for (auto& row : tensor) {
        for (Place& place : row) visit(place, &tensor == &tensors_.back());
      }
    }
  }

  void NameTheNameless() {
    int count = 0;
    ForEachPlace([&](Place& place, bool) {
      for (std::string* name : place.form.Names()) {
        if (*name == "_") absl::StrAppend(name, count++);
      }
    });
  }

  void Positions() {
    ForEachPlace([&](Place& place, bool is_result) {
      if (!place.form.is_position()) return;
      const int64_t least = place.form.position + 1;
      if (place.size == 0) place.size = least;
      const bool exact = is_result && place.size != least;
      if (place.size < least || exact) fits_ = false;
    });
  }

  void Learn(const std::string& name, int64_t size) {
    const int64_t least = alone_.contains(name) ? 1 : 0;
    if (size < least) fits_ = false;
    int64_t known = sizes_.try_emplace(name, size).first->second;
    if (known != size) fits_ = false;
  }

  // Of windows whose number is rounded; whether it told something.
  bool ApplyRounded(Place& place) {
    const auto window = sizes_.find(place.form.kernel);
    const auto count = sizes_.find(place.form.name);
    const bool has_window =
        window != sizes_.end() || place.form.fit == WindowFit::kSame;
    if (place.size == 0 || !has_window) return false;
    const int64_t is = CountOf(
        place.form, window == sizes_.end() ? 1 : window->second, place.size);
    if (is < 1) fits_ = false;
    if (count == sizes_.end()) {
      Learn(place.form.name, is);
      return true;
    }
    if (count->second != is) fits_ = false;
    return false;
  }

  // One equation; whether it told something.
  bool Apply(Place& place) {
    if (Rounds(place.form) && place.size != 0) return ApplyRounded(place);
    Sum sum = SumOf(place.form);
    int64_t rest = place.size - sum.constant;
    std::optional<std::pair<std::string, int64_t>> unknown;
    for (const auto& [name, factor] : sum.terms) {
      auto known = sizes_.find(name);
      if (known != sizes_.end()) {
        rest -= factor * known->second;
      } else if (unknown) {
        return false;
      } else {
        unknown = {name, factor};
      }
    }
    if (place.size == 0) {
      if (unknown) return false;
      place.size = -rest;
      if (place.size < 1) fits_ = false;
      return true;
    }
    if (!unknown) {
      if (rest != 0) fits_ = false;
      return false;
    }
    if (rest % unknown->second != 0) {
      fits_ = false;
      return false;
    }
    Learn(unknown->first, rest / unknown->second);
    return true;
  }

  void Equations(const std::map<std::string, int64_t>& names) {
    std::set<std::string> all, of_operands;
    ForEachPlace([&](Place& place, bool is_result) {
      for (std::string* name : place.form.Names()) {
        all.insert(*name);
        if (place.form.parts.empty()) alone_.insert(*name);
        const bool computed = !place.form.is_plain();
        if (!is_result || computed) of_operands.insert(*name);
      }
    });
    for (const auto& [name, size] : names) {
      if (all.contains(name)) Learn(name, size);
    }
    auto apply = [&](Place& place, bool is_result) {
      if (!fits_ || place.form.is_position()) return;
      // What stands in the result only needs a size; `_` has one cell.
      const std::string& name = place.form.name;
      const bool free =
          is_result && place.form.is_plain() && !of_operands.contains(name);
      if (free && absl::StartsWith(name, "_")) sizes_.try_emplace(name, 1);
      if (free && place.size == 0 && !sizes_.contains(name)) fits_ = false;
      more_ = Apply(place) || more_;
    };
    do {
      more_ = false;
      ForEachPlace(apply);
    } while (more_ && fits_);
    ForEachPlace([&](Place& place, bool) {
      if (place.size == 0) open_ = true;
      for (std::string* name : place.form.Names()) {
        if (!sizes_.contains(*name)) open_ = true;
      }
    });
    // A window of cells that may be none is nobody's business.
    ForEachPlace([&](Place& place, bool) {
      const bool windows = !place.form.kernel.empty();
      if (!windows || !sizes_.contains(place.form.kernel)) return;
      if (sizes_.at(place.form.kernel) < 1) fits_ = false;
    });
  }

  EinsumProgram Program() {
    EinsumProgram program;
    for (const Tensor& tensor : tensors_) {
      ProgramTensor& made = program.operands.emplace_back();
      for (size_t r = 0; r < 3; ++r) {
        for (const Place& place : tensor[r]) {
          made.rows[r].push_back(AxisOf(place, sizes_));
        }
      }
    }
    program.result = std::move(program.operands.back());
    program.operands.pop_back();
    program.sizes = sizes_;
    ForEachPlace([&](Place& place, bool) {
      if (!place.form.parts.empty()) Join(place.form.parts, program.groups);
    });
    return program;
  }

  // Adds a group, and to it all that share a part with it.
  static void Join(const std::vector<std::string>& parts,
                   std::vector<std::vector<std::string>>& groups) {
    std::set<std::string> joined(parts.begin(), parts.end());
    std::vector<std::vector<std::string>> apart;
    for (const auto& group : groups) {
      bool shares =
          std::any_of(group.begin(), group.end(), [&](const std::string& part) {
            return std::count(parts.begin(), parts.end(), part) != 0;
          });
      if (shares) {
        joined.insert(group.begin(), group.end());
      } else {
        apart.push_back(group);
      }
    }
    apart.emplace_back(joined.begin(), joined.end());
    groups = std::move(apart);
  }

  const EinsumSpec& spec_;
  std::vector<Tensor> tensors_;  // the result last
  std::map<std::string, int> lengths_;
  std::map<std::string, int64_t> sizes_;
  std::set<std::string> alone_;  // names that have an axis of their own
  bool fits_ = true;
  bool open_ = false;
  bool more_ = false;
};

}  // namespace

SpecMeaning ReadSpec(const EinsumSpec& spec, absl::Span<const Shape> operands,
                     const std::map<std::string, int64_t>& names,
                     const Shape* result) {
  return Reader(spec).Read(operands, names, result);
}

}  // namespace ocannl::fuzz
