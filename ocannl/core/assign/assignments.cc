// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/assignments.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"

namespace ocannl {

namespace {

// For NameTable.
auto NamesOf(const StableVector<Array>& arrays) {
  return [&](int32_t k) -> absl::string_view { return arrays[k].name; };
}

}  // namespace

Assignments::Assignments() = default;
Assignments::Assignments(const Assignments&) = default;
Assignments::Assignments(Assignments&&) noexcept = default;
Assignments& Assignments::operator=(const Assignments&) = default;
Assignments& Assignments::operator=(Assignments&&) noexcept = default;
Assignments::~Assignments() = default;

std::optional<int32_t> Assignments::FindArray(absl::string_view array) const {
  return numbers.Find(array, NamesOf(arrays));
}

int32_t Assignments::AddArray(Array array) {
  const auto next = static_cast<int32_t>(arrays.size());
  const int32_t number = numbers.Add(array.name, next, NamesOf(arrays));
  if (number == next) {
    arrays.push_back(std::move(array));
    return next;
  }
  Array& known = arrays[number];
  CHECK(known.dtype == array.dtype && known.dims == array.dims &&
        known.is_merge == array.is_merge)
      << "array " << array.name << " has two meanings";
  if (known.data == nullptr) known.data = std::move(array.data);
  if (array.memory && array.memory != known.memory) {
    contradiction.Update(UpdateOf(known.name, *array.memory, known.memory));
  }
  return number;
}

bool AnyAssign(const Assignments& code,
               absl::FunctionRef<bool(const Assign&)> is) {
  return absl::c_any_of(code.list, [&](const Assignment& assignment) {
    const auto* assign = std::get_if<Assign>(&assignment);
    return assign != nullptr && is(*assign);
  });
}

bool EndsWithZero(Op accum, DType dtype) {
  const bool is_extreme = accum == Op::kMin || accum == Op::kMax;
  return IsFloat(dtype) &&
         (accum == Op::kAdd || accum == Op::kSub || is_extreme);
}

double NeutralElement(Op accum) {
  switch (accum) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kOr:
      return 0;
    case Op::kMul:
    case Op::kDiv:
    case Op::kPow:
    case Op::kAnd:
    case Op::kReluGate:
      return 1;
    case Op::kSat01Gate:
      return 0.5;
    case Op::kMax:
    case Op::kMaximum:
      return -std::numeric_limits<double>::infinity();
    case Op::kMin:
    case Op::kMinimum:
      return std::numeric_limits<double>::infinity();
    default:
      break;
  }
  CHECK(false) << Info(accum).name << " does not accumulate";
  __builtin_unreachable();
}

Op AccumulationOf(Op accum, DType dtype) {
  if (!IsFloat(dtype)) return accum;
  return accum == Op::kMin   ? Op::kMinimum
         : accum == Op::kMax ? Op::kMaximum
                             : accum;
}

Array Intermediate(std::string name, const Array& like) {
  Array array{.name = std::move(name), .dtype = like.dtype, .dims = like.dims};
  array.where = like.where;
  return array;
}

Array MergeArray(const Array& of) {
  Array merge = Intermediate(absl::StrCat(of.name, kMergeSuffix), of);
  merge.is_merge = true;
  merge.memory = {MemoryMode::kOnDevice, "the merge buffer"};
  return merge;
}

absl::Status SetMemoryMode(Assignments& code, absl::string_view name,
                           const MemoryRequest& request) {
  for (Array& array : code.arrays) {
    if (array.name == name) return UpdateOf(name, request, array.memory);
  }
  return absl::NotFoundError(
      absl::StrCat("`", code.name, "` has no array `", name, "`"));
}

absl::Status Keep(Assignments& code, absl::string_view name,
                  SourceLocation where) {
  return SetMemoryMode(code, name,
                       AskedBy("Keep", where, MemoryMode::kMaterialized));
}

void WalkArrays(const Source& source,
                absl::FunctionRef<void(const ReadArray&)> visit) {
  std::visit(Overload{[&](const ReadArray& read) { visit(read); },
                      [&](const ReadLookup& read) {
                        visit(*read.table);
                        visit(*read.ids);
                      },
                      [](const ReadIndex&) {}},
             source);
}

void WalkArrays(Source& source, absl::FunctionRef<void(ReadArray&)> visit) {
  std::visit(Overload{[&](ReadArray& read) { visit(read); },
                      [&](ReadLookup& read) {
                        visit(read.table.Mutable());
                        visit(read.ids.Mutable());
                      },
                      [](ReadIndex&) {}},
             source);
}

bool ReadsSource(const Assign& assign, int32_t array) {
  bool reads = false;
  for (const Source& source : assign.sources) {
    WalkArrays(source, [&](const ReadArray& read) {
      reads = reads || read.array == array;
    });
  }
  return reads;
}

namespace {

// Adds what all assignments of `from` need, and returns the number in `to` of
// each array.
template <class From>
std::vector<int32_t> AppendArrays(Assignments& to, From&& from) {
  // Static indices are only ever added to a graph.
  to.contradiction.Update(from.contradiction);
  if (to.statics.size() < from.statics.size()) to.statics = from.statics;
  std::vector<int32_t> array_of;
  array_of.reserve(from.arrays.size());
  if constexpr (std::is_lvalue_reference_v<From>) {
    for (const Array& array : from.arrays) {
      array_of.push_back(to.AddArray(array));
    }
  } else {
    for (; !from.arrays.empty(); from.arrays.pop_front()) {
      array_of.push_back(to.AddArray(std::move(from.arrays.front())));
    }
  }
  return array_of;
}

// Appends `list`, where array_of[k] is array k and `exprs` has the values.
void AppendList(Assignments& to, StableVector<Assignment> list,
                const ExprPool& exprs, absl::Span<const int32_t> array_of) {
  ExprMap copies;
  auto add_leaf = [&](const Leaf& leaf) { return to.exprs.Add(leaf); };
  for (; !list.empty(); list.pop_front()) {
    Assignment& assignment = list.front();
    if (Assign* assign = std::get_if<Assign>(&assignment)) {
      assign->lhs = array_of[assign->lhs];
      assign->rhs = CopyExpr(exprs, assign->rhs, to.exprs, copies, add_leaf);
      for (Source& source : assign->sources) {
        WalkArrays(source,
                   [&](ReadArray& read) { read.array = array_of[read.array]; });
      }
    }
    to.list.push_back(std::move(assignment));
  }
}

// Whether AddArray has seen all arrays by the names that they have.
bool KnowsItsArrays(const Assignments& code) {
  for (size_t k = 0; k < code.arrays.size(); ++k) {
    if (code.FindArray(code.arrays[k].name) != static_cast<int32_t>(k)) {
      return false;
    }
  }
  return code.numbers.size() == code.arrays.size();
}

}  // namespace

bool IsOpenGradient(const Array& array) {
  return !array.memory && absl::EndsWith(array.name, kGradientSuffix);
}

std::string RoutineName(const Assignments& code) {
  if (!code.name.empty()) return code.name;
  const Assign* last = nullptr;
  for (const Assignment& each : code.list) {
    if (const auto* assign = std::get_if<Assign>(&each)) last = assign;
  }
  std::string name = "code";
  if (last != nullptr) name = code.arrays[last->lhs].name + "_code";
  for (char& c : name) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return name;
}

void Append(Assignments& to, const Assignments& from) {
  AppendList(to, from.list, from.exprs, AppendArrays(to, from));
}

void Append(Assignments& to, Assignments&& from) {
  if (to.arrays.empty() && to.exprs.size() == 0 && KnowsItsArrays(from)) {
    to.contradiction.Update(from.contradiction);
    if (to.statics.size() < from.statics.size()) to.statics = from.statics;
    to.arrays = std::move(from.arrays);
    to.numbers = std::move(from.numbers);
    to.exprs = std::move(from.exprs);
    for (; !from.list.empty(); from.list.pop_front()) {
      to.list.push_back(std::move(from.list.front()));
    }
    from = {};
    return;
  }
  from.numbers = {};
  const std::vector<int32_t> array_of = AppendArrays(to, std::move(from));
  AppendList(to, std::move(from.list), from.exprs, array_of);
  from = {};
}

}  // namespace ocannl
