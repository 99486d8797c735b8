// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/einsum_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ocannl::fuzz {

std::function<std::optional<int64_t>(const Point&)> ConcatenatedIndex(
    std::vector<std::string> parts, std::map<std::string, int64_t> sizes) {
  return [parts = std::move(parts),
          sizes = std::move(sizes)](const Point& p) -> std::optional<int64_t> {
    int64_t start = 0;
    for (const std::string& part : parts) {
      if (p.at(part)) return start + *p.at(part);
      start += sizes.at(part);
    }
    return std::nullopt;
  };
}

Shape ProgramTensor::shape() const {
  Shape shape;
  for (size_t r = 0; r < 3; ++r) {
    for (const ProgramAxis& axis : rows[r]) shape.rows[r].push_back(axis.size);
  }
  return shape;
}

std::optional<int64_t> ProgramTensor::CellAt(const Point& point) const {
  int64_t cell = 0;
  bool inside = true;
  for (const auto& row : rows) {
    for (const ProgramAxis& axis : row) {
      std::optional<int64_t> index = axis.index(point);
      if (!index) return std::nullopt;
      inside = inside && *index >= 0 && *index < axis.size;
      cell = cell * axis.size + *index;
    }
  }
  return inside ? cell : -1;
}

bool ProgramTensor::HasName(const std::string& name) const {
  for (const auto& row : rows) {
    for (const ProgramAxis& axis : row) {
      if (std::count(axis.names.begin(), axis.names.end(), name) != 0) {
        return true;
      }
    }
  }
  return false;
}

std::string EinsumProgram::Spec() const {
  auto text = [&](const ProgramTensor& tensor) {
    std::array<std::string, 3> rows;
    for (size_t r = 0; r < 3; ++r)
      rows[r] = absl::StrJoin(tensor.texts[r], ", ");
    return absl::StrCat(rows[0], "|", rows[2], "->", rows[1]);
  };
  std::vector<std::string> texts;
  for (const ProgramTensor& operand : operands) texts.push_back(text(operand));
  return absl::StrCat(absl::StrJoin(texts, "; "), " => ", text(result));
}

void EinsumProgram::ForEachPoint(
    const std::function<void(const Point&)>& visit) const {
  // What is there one at a time: a name alone, or the parts of a group.
  std::vector<std::vector<std::string>> choices = groups;
  Point point;
  for (const auto& [name, size] : sizes) {
    auto has_name = [&, name = name](const std::vector<std::string>& group) {
      return std::count(group.begin(), group.end(), name) != 0;
    };
    if (!std::any_of(groups.begin(), groups.end(), has_name)) {
      choices.push_back({name});
    }
    point[name] = std::nullopt;
  }
  std::function<void(size_t)> walk = [&](size_t k) {
    if (k == choices.size()) return visit(point);
    for (const std::string& name : choices[k]) {
      for (int64_t i = 0; i < sizes.at(name); ++i) {
        point[name] = i;
        walk(k + 1);
      }
      point[name] = std::nullopt;
    }
  };
  walk(0);
}

namespace {

bool IsProduct(const EinsumProgram& program) {
  return program.op == Op::kMul || program.op == Op::kMul3;
}

double Combine(const EinsumProgram& program, const Values& args) {
  double value = args[0];
  for (size_t k = 1; k < args.size(); ++k) {
    value = IsProduct(program) ? value * args[k] : value + args[k];
  }
  return value;
}

// What argument `k` is multiplied with.
double FactorOf(const EinsumProgram& program, const Values& args, size_t k) {
  double factor = 1;
  for (size_t j = 0; IsProduct(program) && j < args.size(); ++j) {
    if (j != k) factor *= args[j];
  }
  return factor;
}

double NeutralOf(Op accum) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (accum == Op::kAdd) return 0;
  return accum == Op::kMax ? -kInfinity : kInfinity;
}

double Accumulated(Op accum, double value, double more) {
  if (accum == Op::kAdd) return value + more;
  const bool wins = accum == Op::kMax ? more > value : more < value;
  return wins || std::isnan(more) ? more : value;
}

// A term that counts: where it goes, and what it is made of; cells are -1 where
// an operand has none.
struct TermOf {
  int64_t cell;
  Values args;
  std::vector<int64_t> cells;
  bool is_outside = false;  // of an operand
};

// Whether the point has the term of `operand` alone once more: what the others
// name is not summed over.
bool Repeats(const EinsumProgram& program, const ProgramTensor& operand,
             const Point& point) {
  return std::any_of(point.begin(), point.end(), [&](const auto& entry) {
    return entry.second.value_or(0) != 0 && !operand.HasName(entry.first) &&
           !program.result.HasName(entry.first);
  });
}

// The term at a point, if there is one.
std::optional<TermOf> TermAt(const EinsumProgram& program,
                             const std::vector<Values>& operands,
                             double neutral, const Point& point) {
  std::optional<int64_t> cell = program.result.CellAt(point);
  if (!cell || *cell < 0) return std::nullopt;
  TermOf term = {.cell = *cell, .args = {}, .cells = {}};
  for (size_t k = 0; k < operands.size(); ++k) {
    std::optional<int64_t> from = program.operands[k].CellAt(point);
    term.cells.push_back(from.value_or(-1));
    if (!from && !program.op) continue;
    if (!from) return std::nullopt;
    if (!program.op && Repeats(program, program.operands[k], point)) {
      return std::nullopt;
    }
    term.args.push_back(*from < 0 ? neutral : operands[k][*from]);
    term.is_outside = term.is_outside || *from < 0;
  }
  if (term.args.empty()) return std::nullopt;
  return term;
}

// Adds what the term gives to the gradients of its operands.
void AddGradients(const EinsumProgram& program, const TermOf& term,
                  const Values& c, EinsumValues& values) {
  for (size_t k = 0; k < term.cells.size(); ++k) {
    if (term.cells[k] < 0) continue;
    const double factor = FactorOf(program, term.args, k);
    values.gradients[k][term.cells[k]] += c[term.cell] * factor;
  }
}

// The names in the order in which the result, then the operands have them.
std::vector<std::string> NamesInOrder(const EinsumProgram& program) {
  std::vector<ProgramTensor> tensors = {program.result};
  tensors.insert(tensors.end(), program.operands.begin(),
                 program.operands.end());
  std::vector<std::string> names;
  for (const ProgramTensor& tensor : tensors) {
    for (const auto& row : tensor.rows) {
      for (const ProgramAxis& axis : row) {
        for (const std::string& name : axis.names) {
          if (std::count(names.begin(), names.end(), name) == 0) {
            names.push_back(name);
          }
        }
      }
    }
  }
  return names;
}

// Where a point is among all, in that order: of parts the first come first.
std::vector<int64_t> PlaceOf(const Point& point,
                             const std::vector<std::string>& names) {
  std::vector<int64_t> place;
  for (const std::string& name : names) {
    place.push_back(
        point.at(name).value_or(std::numeric_limits<int64_t>::max()));
  }
  return place;
}

// Of the terms that the greatest or the least is, the first gets the gradient.
void AddGradientsOfFirsts(const EinsumProgram& program,
                          const std::vector<Values>& operands, const Values& c,
                          EinsumValues& values) {
  const std::vector<std::string> names = NamesInOrder(program);
  std::map<int64_t, std::pair<std::vector<int64_t>, TermOf>> firsts;
  program.ForEachPoint([&](const Point& point) {
    std::optional<TermOf> term =
        TermAt(program, operands, NeutralOf(program.accum), point);
    if (!term || term->is_outside) return;
    const double value = Combine(program, term->args);
    const double result = values.result[term->cell];
    if (value != result && !(std::isnan(value) && std::isnan(result))) return;
    std::pair at(PlaceOf(point, names), *term);
    auto [first, is_new] = firsts.try_emplace(term->cell, at);
    if (!is_new && at.first < first->second.first) first->second = at;
  });
  for (const auto& entry : firsts) {
    AddGradients(program, entry.second.second, c, values);
  }
}

}  // namespace

EinsumValues Evaluate(const EinsumProgram& program,
                      const std::vector<Values>& operands, const Values& c) {
  const double neutral = NeutralOf(program.accum);
  EinsumValues values;
  values.result.assign(c.size(), neutral);
  for (const Values& operand : operands) {
    values.gradients.emplace_back(operand.size(), 0.0);
  }
  program.ForEachPoint([&](const Point& point) {
    std::optional<TermOf> term = TermAt(program, operands, neutral, point);
    if (!term) return;
    double& value = values.result[term->cell];
    const double more = Combine(program, term->args);
    value = Accumulated(program.accum, value, more);
  });
  if (program.accum != Op::kAdd) {
    AddGradientsOfFirsts(program, operands, c, values);
    return values;
  }
  program.ForEachPoint([&](const Point& point) {
    std::optional<TermOf> term = TermAt(program, operands, neutral, point);
    if (term) AddGradients(program, *term, c, values);
  });
  return values;
}

}  // namespace ocannl::fuzz
