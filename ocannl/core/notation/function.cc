// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/function.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/habits.h"
#include "ocannl/core/notation/number.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/arrange.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/scalars.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {
namespace {

using Call = FunctionCall;

constexpr double kScaleSquared = 6;  // of the source documents
constexpr int kMaxStacked = 64;
constexpr char kLastAxis[] = "..., i";
constexpr char kLastOfAny[] = "...|...->..., i";
constexpr char kFirstOfAny[] = "...|...->i, ...";

Tensor TensorAt(const Call& call, size_t k) {
  return std::get<Tensor>(call.args[k].value);
}

template <class Scaled>
Function ScaledInit(std::string name, Scaled scaled) {
  auto apply = [name, scaled](const Call& call) -> absl::StatusOr<Tensor> {
    if (!call.parameter) {
      return absl::InvalidArgumentError(
          absl::StrCat("`", name,
                       "` scales by the sizes of a parameter; write it in the "
                       "first value of one: {w = ",
                       name, "(uniform1())}"));
    }
    double scale_sq = kScaleSquared;
    if (call.args.size() > 1) {
      const auto& node = TensorAt(call, 1).node();
      const auto* number = std::get_if<NumberSource>(&node.source);
      if (number == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the second argument of `", name,
            "` is its squared scale, a number, but it was given ", node.text));
      }
      scale_sq = number->value;
    }
    return scaled(TensorAt(call, 0), *call.parameter, scale_sq);
  };
  return {
      .name = std::move(name), .min_args = 1, .max_args = 2, .apply = apply};
}

// Argument `k` from 0, which is a whole number.
absl::StatusOr<int64_t> WholeAt(const Call& call, size_t k) {
  const TensorNode& node = TensorAt(call, k).node();
  const auto* number = std::get_if<NumberSource>(&node.source);
  if (number != nullptr && IsWholeNumber(number->value)) {
    return static_cast<int64_t>(number->value);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "argument ", k + 1, " is a whole number, but it was given ", node.text));
}

using Numbers = std::vector<int64_t>;

class FunctionTable {
 public:
  // A function of `tensors` tensors, then of `numbers` whole numbers.
  template <class Apply>
  void Add(std::string name, int tensors, int numbers, std::string spec,
           Apply apply) {
    auto checked = [=](const Call& call) -> absl::StatusOr<Tensor> {
      Numbers values;
      for (int k = tensors; k < tensors + numbers; ++k) {
        OCANNL_ASSIGN_OR_RETURN(values.emplace_back(), WholeAt(call, k));
      }
      return apply(call, values);
    };
    functions.push_back({.name = std::move(name),
                         .min_args = tensors + numbers,
                         .max_args = tensors + numbers,
                         .apply = checked,
                         .spec = std::move(spec)});
  }
  // A function of tensors without a spec.
  template <class Apply>
  void Add(std::string name, int tensors, Apply apply) {
    functions.push_back({std::move(name), tensors, tensors, apply});
  }

  std::vector<Function> functions;
};

// "2|_->4": positions are sizes, and _ is open.
absl::StatusOr<Shape> ShapeOf(const std::string& text) {
  OCANNL_ASSIGN_OR_RETURN(EinsumSpec spec,
                          ParseEinsum(absl::StrCat(text, " => "), 1));
  Shape shape;
  bool fits = true;
  for (RowKind kind : kRowKinds) {
    const EinsumRow& row = spec.operands[0][static_cast<int>(kind)];
    fits = fits && !row.variable;
    ForEachAxis(row, [&](const EinsumAxis& axis) {
      const bool open = axis.is_plain() && axis.name == "_";
      fits = fits && (open || (axis.is_position() && axis.position > 0));
      shape[kind].push_back(open ? 0 : axis.position);
    });
  }
  if (fits) return shape;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no shape; write one such as \"2|3->4,_\""));
}

void AddIndexing(FunctionTable& table) {
  table.Add("range", 0, 1, "", [](const Call& c, const Numbers& n) {
    return Range(*c.graph, n[0], DType::kF32, c.where);
  });
  table.Add("range_of_shape", 0, 0, "2,3",
            [](const Call& c, const Numbers&) -> absl::StatusOr<Tensor> {
              OCANNL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(c.spec));
              const int64_t cells = NumElements(shape.dims());
              if (cells == 0) {
                return absl::InvalidArgumentError(
                    "nothing tells what `_` is here; write its size");
              }
              const Tensor range = Range(*c.graph, cells, DType::kF32, c.where);
              return Reshape(Arg(range, c.where), shape);
            });
  table.Add("dim", 1, [](const Call& c) {
    const Tensor of = TensorAt(c, 0);
    // A size that a spec captured is one already.
    if (std::holds_alternative<DimSource>(of.node().source)) return of;
    return EmbedDim(TensorAt(c, 0), {kRowKinds.begin(), kRowKinds.end()},
                    c.where);
  });
  table.Add("one_hot", 1, 1, "", [](const Call& c, const Numbers& n) {
    const Tensor hot = OneHot(TensorAt(c, 0), n[0], DType::kF32, c.where);
    const bool is_error =
        std::holds_alternative<ErrorSource>(hot.node().source);
    if (!is_error) c.graph->Open(hot.id);
    return hot;
  });
  table.Add("gather", 2, 0, "v->d; ...| => ...|d",
            [](const Call& c, const Numbers&) {
              return Gather(c.spec, TensorAt(c, 0), TensorAt(c, 1), c.where);
            });
  table.Add("scatter_add", 2, 1, "b, d; b => v, d",
            [](const Call& c, const Numbers& n) {
              return ScatterAdd(c.spec, TensorAt(c, 0), TensorAt(c, 1), n[0],
                                c.where);
            });
  table.Add("argmax", 1, 0, kLastAxis, [](const Call& c, const Numbers&) {
    return ArgMax(c.spec, TensorAt(c, 0), c.where);
  });
  table.Add("argmin", 1, 0, kLastAxis, [](const Call& c, const Numbers&) {
    return ArgMin(c.spec, TensorAt(c, 0), c.where);
  });
  table.Add("cumulative_sum", 1, 0, kLastAxis,
            [](const Call& c, const Numbers&) {
              return CumulativeSum(c.spec, TensorAt(c, 0), c.where);
            });
}

void AddArranging(FunctionTable& table) {
  table.Add("interleave", 2, 0, kLastAxis, [](const Call& c, const Numbers&) {
    return Interleave(c.spec, TensorAt(c, 0), TensorAt(c, 1), c.where);
  });
  table.functions.back().default_spec = kLastOfAny;
  table.Add("every_nth", 1, 2, kLastAxis, [](const Call& c, const Numbers& n) {
    return EveryNth(c.spec, TensorAt(c, 0), n[0], n[1], c.where);
  });
  table.Add("part", 1, 2, kLastAxis, [](const Call& c, const Numbers& n) {
    return Part(c.spec, TensorAt(c, 0), n[0], n[1], c.where);
  });
  table.Add("reshape", 1, 0, "2,3",
            [](const Call& c, const Numbers&) -> absl::StatusOr<Tensor> {
              OCANNL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(c.spec));
              return Reshape(c.args[0], shape);
            });
  table.functions.push_back({.name = "stack",
                             .min_args = 1,
                             .max_args = kMaxStacked,
                             .apply =
                                 [](const Call& call) {
                                   std::vector<Tensor> parts;
                                   for (size_t k = 0; k < call.args.size();
                                        ++k) {
                                     parts.push_back(TensorAt(call, k));
                                   }
                                   return Stack(call.spec, parts, call.where);
                                 },
                             .spec = "i, ...",
                             .default_spec = kFirstOfAny});
}

// uniform1(), uniform1_at(counter), uniform1_f64(), uniform1_at_f64(counter).
void AddRandom(FunctionTable& table) {
  auto add = [&](const std::string& name, decltype(&Uniform) random,
                 DType dtype) {
    const std::string suffix =
        dtype == DType::kF32 ? "" : absl::StrCat("_", Name(dtype));
    table.Add(name + suffix, 0, [=](const Call& call) {
      return random(*call.graph, {dtype}, call.where);
    });
    table.Add(absl::StrCat(name, "_at", suffix), 1, [=](const Call& call) {
      Tensor counter = TensorAt(call, 0);
      const DType from = counter.node().dtype;
      const bool is_long = IsInteger(from) && SizeOf(from) == 8;
      const TensorSource& source = counter.node().source;
      const auto* data = std::get_if<DataSource>(&source);
      const bool has_fractions =
          data != nullptr && data->digits != nullptr &&
          !absl::c_all_of(data->digits->values<double>(), IsWholeNumber);
      // By way of f32, a static index would lose bits. What has fractions is an
      // error.
      if (!IsNumberLike(source) && !is_long && !has_fractions) {
        counter = InDType(counter, DType::kU32, call.where);
      }
      return random(*call.graph, {dtype, counter}, call.where);
    });
  };
#define OCANNL_DRAWS(enumerator, text, type)                                \
  if (IsSigned(DType::k##enumerator) && !IsInteger(DType::k##enumerator)) { \
    add("uniform1", Uniform1, DType::k##enumerator);                        \
    add("uniform", Uniform, DType::k##enumerator);                          \
    add("normal1", Normal1, DType::k##enumerator);                          \
    add("normal", Normal, DType::k##enumerator);                            \
  }
  OCANNL_DTYPES(OCANNL_DRAWS)
#undef OCANNL_DRAWS
}

std::vector<Function> MakeFunctions() {
  FunctionTable table;
  for (Op op : AllOps()) {
    if (IsInfix(op) || op == Op::kConvert || op == Op::kBitcast) continue;
    table.Add(
        std::string(Info(op).text), Info(op).arity, [op](const Call& call) {
          return op == Op::kNot ? !call.args[0] : Pointwise(op, call.args);
        });
    if (op == Op::kRsqrt) {
      table.functions.push_back(table.functions.back());
      table.functions.back().name = "recip_sqrt";
    }
  }
#define OCANNL_CONVERSIONS(enumerator, text, type)      \
  table.Add(text, 1, [](const Call& call) {             \
    return Convert(call.args[0], DType::k##enumerator); \
  });                                                   \
  table.Add("bits_" text, 1, [](const Call& call) {     \
    return Bitcast(call.args[0], DType::k##enumerator); \
  });
  OCANNL_DTYPES(OCANNL_CONVERSIONS)
#undef OCANNL_CONVERSIONS
  table.Add("stretch", 1, [](const Call& call) {
    return Stretch(TensorAt(call, 0), call.where);
  });
  table.Add("where", 3, [](const Call& call) {
    return Where(call.args[0], call.args[1], call.args[2]);
  });
  table.Add("type_as", 2, [](const Call& call) {
    return InDType(TensorAt(call, 0), DecidedDType(TensorAt(call, 1)),
                   call.where);
  });
  table.Add("widen", 1, [](const Call& call) {
    const Tensor x = TensorAt(call, 0);
    return InDType(x, ComputeDType(DecidedDType(x)), call.where);
  });
  table.Add("stop_gradient", 1,
            [](const Call& call) { return StopGradient(call.args[0]); });
  AddIndexing(table);
  AddArranging(table);
  table.Add("embed_self_id", 0, [](const Call& call) {
    return Number(*call.graph, call.graph->size(), call.where);
  });
  AddRandom(table);
  table.functions.push_back(ScaledInit("kaiming", Kaiming));
  table.functions.push_back(ScaledInit("xavier", Xavier));
  return std::move(table.functions);
}

const std::vector<Function>& Functions() {
  static const auto* functions = new std::vector<Function>(MakeFunctions());
  return *functions;
}

}  // namespace

std::string FunctionExample(const Function& function) {
  std::string text = absl::StrCat(function.name, "(");
  if (function.takes_spec()) absl::StrAppend(&text, "\"", function.spec, "\"");
  for (int i = 0; i < function.min_args; ++i) {
    absl::StrAppend(&text, i > 0 || function.takes_spec() ? ", " : "",
                    std::string(1, 'a' + i));
  }
  return text + ")";
}

const Function* FindFunction(absl::string_view name) {
  for (const Function& function : Functions()) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const Function& function : Functions()) names.push_back(function.name);
  return names;
}

bool TakesSoMany(const Function& function, const FunctionCall& call) {
  const int given = static_cast<int>(call.args.size());
  const bool spec_fits =
      call.spec.empty() ? !function.needs_spec() : function.takes_spec();
  return spec_fits && function.min_args <= given && given <= function.max_args;
}

absl::StatusOr<Tensor> CallFunction(const Function& function,
                                    const FunctionCall& call) {
  if (TakesSoMany(function, call)) {
    if (!call.spec.empty() || !function.takes_spec()) {
      return function.apply(call);
    }
    FunctionCall with_spec = call;
    with_spec.spec = function.default_spec;
    return function.apply(with_spec);
  }
  const std::string hint = NameHabitHint(function.name, /*is_call=*/true);
  if (call.spec.empty() ? function.needs_spec() : !function.takes_spec()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`", function.name, "` takes ",
        function.takes_spec() ? "a spec in quotes first" : "no spec",
        "; write ", FunctionExample(function), hint));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "`", function.name, "` takes ", function.min_args,
      function.max_args > function.min_args
          ? absl::StrCat(
                function.max_args > function.min_args + 1 ? " to " : " or ",
                function.max_args)
          : "",
      function.max_args == 1 ? " argument" : " arguments",
      ", but it was given ", call.args.size(), "; write ",
      FunctionExample(function), hint));
}

}  // namespace ocannl
