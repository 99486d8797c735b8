// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/check_text.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/equal.h"
#include "ocannl/core/cd/parse.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/fuzz/notation/einsum_program.h"
#include "ocannl/fuzz/notation/read_spec.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl::fuzz {
namespace {

// Cells and steps of what is run.
constexpr double kMostWork = 200'000;
constexpr double kMostWorkOfTiers = 50'000;

// Small whole numbers, whose sums of products are exact.
Values ValuesOf(const Shape& shape, size_t number) {
  Values values(NumElements(shape.dims()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>((i * 5 + number * 3 + i / 7) % 7) - 3;
  }
  return values;
}

std::string TextOfValues(const Values& values) {
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

template <class Sizes>
double Product(const Sizes& sizes) {
  double product = 1;
  for (int64_t size : sizes) product *= static_cast<double>(size);
  return product;
}

double Work(const Assignments& code) {
  double work = 0;
  for (const Array& array : code.arrays) work += Product(array.dims);
  for (const Assignment& assignment : code.list) {
    const auto* assign = std::get_if<Assign>(&assignment);
    if (assign != nullptr) work += Product(assign->extents);
  }
  return work;
}

class Check {
 public:
  Check(const RandomText& text, const CodeTrial& trial)
      : text_(text), trial_(trial) {
    for (size_t k = 0; k < text.operands.size(); ++k) {
      AddOperand(absl::StrCat("x", k), k);
    }
    const char* const kNames[] = {"x", "y", "a", "b", "t", "c"};
    for (size_t k = 0; k < 6; ++k) {
      const size_t operand = k % text.operands.size();
      const Tensor tensor = names_.tensors.at(absl::StrCat("x", operand));
      names_.tensors.emplace(kNames[k], tensor);
    }
    Shape pair;
    pair[RowKind::kOutput] = {2};
    names_.tensors.emplace(
        "n", Data(graph_, "n", NdArray(DType::kI64, {2}), SpecOf(pair)));
    names_.statics.emplace("step", graph_.AddStatic("step", 2));
    names_.numbers = {{"lr", 10}, {"s", 2}};
  }

  TextOutcome Run() {
    const int32_t size = graph_.size();
    absl::StatusOr<ParsedTensor> parsed =
        ParseTensor(graph_, text_.text, names_);
    ReadEinsum(parsed.status());
    if (!parsed.ok()) {
      const bool kept = graph_.size() == size && graph_.NextRandom() == 1;
      if (!kept) Error("a text that is refused leaves a trace");
      Illegal(parsed.status(), "line ");
      return outcome_;
    }
    result_ = parsed->tensor.id;
    Infer(parsed->parameters);
    return outcome_;
  }

 private:
  void AddOperand(const std::string& name, size_t k) {
    const Shape& shape = text_.operands[k];
    values_.push_back(ValuesOf(shape, k));
    std::vector<float> cells(values_.back().begin(), values_.back().end());
    names_.tensors.emplace(
        name, Data(graph_, name, NdArray::Of<float>(shape.dims(), cells),
                   SpecOf(shape)));
  }

  void Error(std::string error) {
    if (outcome_.error.empty()) outcome_.error = std::move(error);
  }

  void Illegal(const absl::Status& status, absl::string_view start) {
    if (status.code() != absl::StatusCode::kInvalidArgument &&
        status.code() != absl::StatusCode::kFailedPrecondition) {
      Error(absl::StrCat("the error is of another kind: ", status.ToString()));
    }
    if (!absl::StartsWith(status.message(), start)) {
      Error(absl::StrCat("the error has no place: ", status.message()));
    }
    const bool is_right = (text_.einsum && text_.einsum->is_right) ||
                          (!text_.lets.empty() && text_.lets_fit);
    if (is_right) Error(absl::StrCat("it is right, but ", status.message()));
  }

  // What the spec means; whether it can be read is no other question.
  void ReadEinsum(const absl::Status& status) {
    if (!text_.einsum) return;
    const int count = static_cast<int>(text_.operands.size());
    const auto named = NameParts(text_.einsum->spec);
    auto spec = named.ok() ? ParseEinsum(named->spec, count, names_.numbers)
                           : named.status();
    if (!spec.ok()) {
      if (status.ok()) Error("a spec is read, and is not");
      return;
    }
    auto again = ParseEinsum(ToString(*spec), count);
    if (!again.ok() || !(*again == *spec)) {
      Error(absl::StrCat("it is printed as ", ToString(*spec)));
    }
    if (!status.ok()) return;
    sizes_ = text_.einsum->sizes;
    sizes_.insert(named->sizes.begin(), named->sizes.end());
    meaning_ = ReadSpec(*spec, text_.operands, sizes_, nullptr);
    spec_ = *std::move(spec);
  }

  void Infer(const std::vector<Tensor>& parameters) {
    outcome_.stage = TextOutcome::kNoShapes;
    outcome_.open = meaning_ && meaning_->kind == SpecMeaning::kOpen;
    absl::Status status = InferShapes(graph_, {result_}, shapes_);
    if (!status.ok()) {
      Illegal(status, "");
      if (!shapes_.empty()) Error("an inference that fails leaves shapes");
      if (meaning_ && meaning_->kind == SpecMeaning::kFits) {
        Error(absl::StrCat("it fits, but ", status.message()));
      }
      return;
    }
    if (!InferShapes(graph_, {result_}, shapes_).ok()) {
      Error("what was inferred does not hold a second time");
    }
    CompareShapes();
    MakeCode(parameters);
  }

  void CompareShapes() {
    if (!meaning_) return;
    const Shape& shape = shapes_.at(result_);
    if (meaning_->kind == SpecMeaning::kOpen) {
      std::map<std::string, int64_t> sizes = sizes_;
      auto names = shapes_.names.find(result_);
      if (names != shapes_.names.end()) {
        sizes.insert(names->second.begin(), names->second.end());
      }
      meaning_ = ReadSpec(*spec_, text_.operands, sizes, &shape);
    }
    if (meaning_->kind == SpecMeaning::kIllegal) {
      Error(
          absl::StrCat("it does not fit, but the result is ", ToString(shape)));
    } else if (meaning_->kind == SpecMeaning::kFits &&
               meaning_->program.result.shape() != shape) {
      Error(absl::StrCat("the result is ", ToString(shape), ", not ",
                         ToString(meaning_->program.result.shape())));
    }
  }

  // The loops of code; nothing if it is illegal.
  absl::StatusOr<LoopProgram> Compile(absl::StatusOr<Assignments> code) {
    if (code.ok()) code->name = "text";
    absl::StatusOr<LoopProgram> loops =
        code.ok() ? CompileProgram(*code, {}) : code.status();
    if (!loops.ok()) {
      Illegal(loops.status(), "");
      return loops;
    }
    // Only now: what is too large cannot be read either.
    const absl::StatusOr<Assignments> again = ParseCd(PrintCd(*code));
    if (!again.ok() || !(*again == *code)) Error("its .cd is other code");
    return loops;
  }

  void MakeCode(const std::vector<Tensor>& parameters) {
    outcome_.stage = TextOutcome::kNoCode;
    CHECK(
        graph_.SetMemoryMode(result_, {MemoryMode::kMaterialized, "the result"})
            .ok());
    ComputedBy computed_by;
    auto forward = Forward(graph_, shapes_, result_, computed_by);
    auto loops = Compile(forward);
    if (!loops.ok()) return;
    Assignments whole = *forward;
    whole.name = "text";
    if (graph_[result_].has_gradient) {
      auto backward = Backward(graph_, shapes_, result_, computed_by);
      if (!backward.ok()) {
        Illegal(backward.status(), "");
      } else {
        Assignments both = whole;
        Append(both, backward->Whole());
        if (Compile(both).ok()) whole = std::move(both);
      }
    }
    std::vector<TensorId> ids;
    for (Tensor parameter : parameters) {
      // What the result does not depend on has no shape.
      if (shapes_.contains(parameter.id)) ids.push_back(parameter.id);
    }
    if (!ids.empty()) (void)Compile(Initialize(graph_, shapes_, ids));
    outcome_.stage = TextOutcome::kTooLarge;
    if (Work(*forward) <= kMostWork) RunAndCompare(*forward, *loops);
    if (trial_.tiers.empty() || Work(whole) > kMostWorkOfTiers) return;
    for (Tensor parameter : parameters) {
      // One that nothing reaches has none.
      (void)Keep(whole, absl::StrCat(parameter.node().name, ".grad"));
    }
    if (outcome_.error.empty()) Error(CompareCode(whole, trial_));
    const Assignments varied = WithOtherOperators(whole, trial_.seed);
    if (outcome_.error.empty() && Compile(varied).ok()) {
      const std::string difference = CompareCode(varied, trial_);
      if (!difference.empty()) {
        Error(absl::StrCat(difference, " of\n", PrintCd(varied)));
      }
    }
    outcome_.stage = TextOutcome::kCompared;
  }

  void RunAndCompare(const Assignments& code, const LoopProgram& program) {
    std::vector<NdArray> arrays;
    std::vector<std::byte*> buffers;
    const NdArray* result = nullptr;
    arrays.reserve(program.buffers.size());
    for (const Buffer& buffer : program.buffers) {
      arrays.emplace_back(buffer.dtype, buffer.dims);
      for (const Array& array : code.arrays) {
        if (array.name != buffer.name || !array.data) continue;
        std::memcpy(arrays.back().data(), array.data->data(),
                    arrays.back().bytes());
      }
      if (buffer.name == graph_[result_].name) result = &arrays.back();
      buffers.push_back(arrays.back().data());
    }
    const std::vector<int64_t> statics(program.statics.size(), 1);
    auto executable = interp::InterpBackend().Compile(program);
    CHECK_OK(executable);
    (*executable)->Run(buffers, statics);
    outcome_.stage = TextOutcome::kRan;
    if (result == nullptr) return;
    const bool compares = meaning_ && meaning_->kind == SpecMeaning::kFits &&
                          outcome_.error.empty();
    if (compares) Compare(*result);
  }

  void Compare(const NdArray& result) {
    EinsumProgram& program = meaning_->program;
    double points = 1;
    for (const auto& entry : program.sizes) {
      points *= static_cast<double>(std::max<int64_t>(entry.second, 1));
    }
    if (points > kMostWork) return;
    program.op = text_.einsum->op;
    program.accum = text_.einsum->accum;
    const Values expected =
        Evaluate(program, values_, Values(result.size(), 0.0)).result;
    Values actual;
    for (int64_t i = 0; i < result.size(); ++i) {
      actual.push_back(result.AsDouble(i));
    }
    outcome_.stage = TextOutcome::kCompared;
    if (actual == expected) return;
    Error(absl::StrCat("the result is ", TextOfValues(actual), ", not ",
                       TextOfValues(expected)));
  }

  const RandomText& text_;
  const CodeTrial trial_;
  Graph graph_;
  Names names_;
  Shapes shapes_;
  std::vector<Values> values_;  // of the operands
  std::optional<EinsumSpec> spec_;
  std::map<std::string, int64_t> sizes_;  // that the text gives
  std::optional<SpecMeaning> meaning_;
  TensorId result_;
  TextOutcome outcome_ = {
      .stage = TextOutcome::kIllegal, .open = false, .error = ""};
};

}  // namespace

absl::string_view Name(TextOutcome::Stage stage) {
  static constexpr absl::string_view kNames[TextOutcome::kNumStages] = {
      "refused by the parser",
      "without shapes",
      "without code",
      "too large to run",
      "ran",
      "compared"};
  return kNames[stage];
}

TextOutcome CheckText(const RandomText& text, const CodeTrial& trial) {
  return Check(text, trial).Run();
}

}  // namespace ocannl::fuzz
