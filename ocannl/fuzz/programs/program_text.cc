// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/program_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/words.h"

namespace ocannl::fuzz {
namespace {

// Of an array with gaps: what is between them takes time and memory.
constexpr int64_t kMaxCells = 200'000;

// Values with @ for operands; # makes a literal of the program's dtype.
constexpr absl::string_view kNumberValues[] = {
    "@ + @",      "@ - @",     "@ * @",
    "@ * @ + @",  "max(@, @)", "min(@, @)",
    "-(@)",       "abs(@)",    "select(@ < @, @, @)",
    "@ + 1#",     "3# * @",    "select(@ <= 2#, @, @)",
    "max(0#, @)",
};
constexpr absl::string_view kFloatValues[] = {
    "fma(@, @, @)", "@ / (abs(@) + 1#)", "sqrt(abs(@))", "floor(@)",
    "round(@)",     "@ * 0.25#",         "trunc(@)",     "ceil(@)",
};
constexpr absl::string_view kDerivedValues[] = {
    "relu(@)",
    "tanh(@)",
    "sigmoid(@)",
    "exp(min(@, 4#))",
    "exp2(min(@, 4#))",
    "log(abs(@) + 0.5#)",
    "sin(@)",
    "cos(@)",
    "rsqrt(abs(@) + 0.5#)",
    "relu_gate(@, @)",
    "sat01(@)",
    "sat01_gate(@, @)",
    "recip(abs(@) + 1#)",
    "atan(@)",
    "sinh(min(abs(@), 4#))",
    "cbrt(@)",
    "hypot(@, @)",
};
constexpr absl::string_view kIntegerValues[] = {
    "@ & @", "@ | @", "@ ^ @",  "@ << 3#",     "@ >> 2#",
    "@ / @", "@ % @", "not(@)", "rotl(@, 5#)",
};

DType DrawComputedDType(Random& random) {
  constexpr DType kDTypes[] = {DType::kF32, DType::kF32, DType::kF32,
                               DType::kF32, DType::kF32, DType::kF64,
                               DType::kF64, DType::kI32, DType::kI64,
                               DType::kU32, DType::kU64, DType::kU8};
  return random.Pick(kDTypes);
}

}  // namespace

ProgramText::ProgramText(Random* random, const Policies* policies)
    : random_(random), policies_(policies), dtype_(DrawComputedDType(*random)) {
  if (Has(Policy::kStaticIndices)) static_range_ = 2 + random->Below(3);
}

std::string ProgramText::Literal(absl::string_view number) const {
  return absl::StrCat(number, ":", Name(dtype_));
}

Axis ProgramText::NewAxis(int64_t extent) {
  return {absl::StrCat("i", num_iterators_++), extent};
}

Axes ProgramText::NewAxes(absl::Span<const int64_t> extents) {
  Axes axes;
  for (int64_t extent : extents) axes.push_back(NewAxis(extent));
  return axes;
}

std::string ProgramText::NewLocal(absl::string_view value,
                                  std::string& declaration) {
  std::string name = absl::StrCat("v", num_locals_++);
  declaration =
      absl::StrCat("let ", name, " : ", Name(dtype_), " := ", value, "; ");
  return name;
}

Array ProgramText::Declare(Role role, Extents extents) {
  Array array{
      absl::StrCat("b", num_buffers_++), dtype_, std::move(extents), {}};
  const bool gaps = role == Role::kIn || role == Role::kInOut;
  const bool stored = role == Role::kTemp || role == Role::kOut;
  if (Has(Policy::kMixedPrecision) &&
      (role == Role::kIn || (stored && random_->OneIn(3)))) {
    array.dtype = random_->Pick(kDTypes);
  }
  for (size_t axis = 0; axis < array.extents.size(); ++axis) {
    array.slots.push_back({.axis = static_cast<int>(axis)});
  }
  if (Has(Policy::kPermuted)) random_->Shuffle(array.slots);
  Dims dims;
  int64_t cells = NumElements(array.extents);
  for (Array::Slot& slot : array.slots) {
    const int64_t extent = array.extents[slot.axis];
    dims.push_back(extent);
    if (!gaps || !Has(Policy::kBigStrides) || random_->OneIn(2)) continue;
    Array::Slot wide{.axis = slot.axis,
                     .factor = 1 + random_->Below(3),
                     .offset = random_->Below(5)};
    const int64_t size =
        wide.factor * (extent - 1) + 1 + wide.offset + random_->Below(40);
    if (cells / extent * size > kMaxCells) continue;
    cells = cells / extent * size;
    slot = wide;
    dims.back() = size;
  }
  if (gaps && static_range_ > 1 && random_->OneIn(2)) {
    array.slots.insert(array.slots.begin(), {.axis = Array::kStatic});
    dims.insert(dims.begin(), static_range_);
  }
  absl::StrAppend(&declarations_, "  ", WordOf(role), " ", array.name, " : ",
                  Name(array.dtype), "[", absl::StrJoin(dims, ", "), "];\n");
  return array;
}

std::string ProgramText::Cell(const Array& array,
                              const Indices& indices) const {
  std::vector<std::string> texts;
  for (const Array::Slot& slot : array.slots) {
    if (slot.axis == Array::kStatic) {
      texts.push_back("s0");
      continue;
    }
    const Index& index = indices[slot.axis];
    std::string text = absl::StrCat(slot.factor * index.offset + slot.offset);
    for (const auto& [factor, iterator] : index.terms) {
      absl::StrAppend(&text, " + ", factor * slot.factor, "*", iterator);
    }
    texts.push_back(std::move(text));
  }
  return absl::StrCat(array.name, "[", absl::StrJoin(texts, ", "), "]");
}

std::string ProgramText::Read(const Array& array,
                              const Indices& indices) const {
  std::string cell = Cell(array, indices);
  return array.dtype == dtype_ ? cell
                               : absl::StrCat(Name(dtype_), "(", cell, ")");
}

std::string ProgramText::Assign(const Array& array, const Indices& indices,
                                absl::string_view value) const {
  std::string text(value);
  if (array.dtype != dtype_) {
    text = absl::StrCat(Name(array.dtype), "(", value, ")");
  }
  return absl::StrCat(Cell(array, indices), " := ", text, ";\n");
}

Axes ProgramText::Ordered(Axes axes) {
  if (Has(Policy::kPermuted)) random_->Shuffle(axes);
  return axes;
}

std::string ProgramText::InLoops(const Axes& axes, std::string body,
                                 bool outermost) {
  for (size_t at = axes.size(); at-- > 0;) {
    LoopKind kind =
        DrawKind(*random_, *policies_, axes[at].extent, outermost && at == 0);
    body = absl::StrCat(WordOf(kind), " ", axes[at].iterator, " = 0 to ",
                        axes[at].extent - 1, " {\n", body, "}\n");
  }
  return body;
}

std::string ProgramText::Nest(const Axes& axes, std::string body) {
  return InLoops(axes, std::move(body), false);
}

void ProgramText::AddNest(const Axes& axes, std::string body) {
  Add(InLoops(axes, std::move(body), true));
}

void ProgramText::Add(absl::string_view statement) {
  absl::StrAppend(&body_, statement);
}

std::string ProgramText::Value(int depth,
                               absl::FunctionRef<std::string()> leaf) {
  if (depth == 0) return leaf();
  absl::Span<const absl::string_view> values = kNumberValues;
  if (random_->OneIn(2)) {
    values = !IsFloat(dtype_) ? absl::MakeConstSpan(kIntegerValues)
             : Has(Policy::kDerivedFunctions) && random_->OneIn(2)
                 ? absl::MakeConstSpan(kDerivedValues)
                 : absl::MakeConstSpan(kFloatValues);
  }
  std::string text;
  for (char c : random_->Pick(values)) {
    if (c == '@') {
      int below = static_cast<int>(random_->Below(depth));
      absl::StrAppend(&text, "(", Value(below, leaf), ")");
    } else if (c == '#') {
      absl::StrAppend(&text, ":", Name(dtype_));
    } else {
      text += c;
    }
  }
  return text;
}

LoopProgram ProgramText::Parsed() const {
  std::string statics = static_range_ > 1
                            ? absl::StrCat("s0 : [0..", static_range_ - 1, "]")
                            : "";
  std::string text =
      absl::StrCat("structured (", statics, "):\n", declarations_, body_);
  absl::StatusOr<LoopProgram> program = Parse(text);
  CHECK_OK(program) << text;
  return *std::move(program);
}

}  // namespace ocannl::fuzz
