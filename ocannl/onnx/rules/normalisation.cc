// SPDX-License-Identifier: Apache-2.0

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

struct Moments {
  Value mean, variance;
};

Moments MomentsOf(const Value& x, const Numbers& axes) {
  const Value mean = MeanAxes(x, axes);
  const Value centred = x - mean;
  return {mean, MeanAxes(centred * centred, axes)};
}

// One number for each channel, for images of that rank.
Value PerChannel(const Value& numbers, int rank) {
  return Along(numbers, 1, rank);
}

// What Softmax and its kin take: until version 13 they see a matrix.
struct Rows {
  Value x;
  int axis;
};

Rows RowsOf(const OpCall& call) {
  const Value& x = call[0];
  if (call.opset >= 13) return {x, call.AxisOf(-1, x.rank())};
  const int axis = call.AxisOf(1, x.rank());
  return {Reshape(x, {SizeOf(x.dims, 0, axis), SizeOf(x.dims, axis, x.rank())}),
          1};
}

absl::StatusOr<Outputs> SoftmaxRule(const OpCall& call) {
  const auto [x, axis] = RowsOf(call);
  const Value e = Exp(x - ReduceAxes(Op::kMax, x, {axis}));
  return Reshape(e / ReduceAxes(Op::kAdd, e, {axis}), call[0].dims);
}

absl::StatusOr<Outputs> LogSoftmaxRule(const OpCall& call) {
  const auto [x, axis] = RowsOf(call);
  return Reshape(LogSoftmax(x, axis), call[0].dims);
}

absl::StatusOr<Outputs> HardmaxRule(const OpCall& call) {
  const auto [x, axis] = RowsOf(call);
  const Value first = ArgExtreme(x, axis, /*greatest=*/true, /*last=*/false);
  const Value at = Along(Iota(call.graph(), x.dim(axis)), axis, x.rank());
  return Reshape(Cast(Equal(at, first), x.dtype()), call[0].dims);
}

absl::StatusOr<Outputs> BatchNormRule(const OpCall& call) {
  const Value& x = call[0];
  if (call.opset < 14 && call.node.outputs.size() > 1) {
    return absl::UnimplementedError("training before version 14");
  }
  const double epsilon = call.Number("epsilon", 1e-5);
  const Value scale = PerChannel(call[1], x.rank());
  const Value bias = PerChannel(call[2], x.rank());
  Moments moments = {PerChannel(call[3], x.rank()),
                     PerChannel(call[4], x.rank())};
  const Moments running = moments;
  if (call.Whole("training_mode", 0) != 0) {
    Numbers axes = AxesFrom(1, x.rank());
    axes[0] = 0;
    moments = MomentsOf(x, axes);
  }
  Outputs outputs =
      scale * (x - moments.mean) / Sqrt(moments.variance + epsilon) + bias;
  const double momentum = call.Number("momentum", 0.9);
  auto moved = [&](const Value& from, const Value& to) {
    return Reshape(from * momentum + to * (1 - momentum), call[3].dims);
  };
  outputs.push_back(moved(running.mean, moments.mean));
  outputs.push_back(moved(running.variance, moments.variance));
  return outputs;
}

absl::StatusOr<Outputs> InstanceNormRule(const OpCall& call) {
  const Value x = Wide(call[0]);
  const Moments moments = MomentsOf(x, AxesFrom(2, x.rank()));
  const Value y = Wide(PerChannel(call[1], x.rank())) * (x - moments.mean) /
                      Sqrt(moments.variance + call.Number("epsilon", 1e-5)) +
                  Wide(PerChannel(call[2], x.rank()));
  return Cast(y, call[0].dtype());
}

absl::StatusOr<Outputs> LayerNormRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = call.AxisOf(-1, x.rank());
  const Value wide = Wide(x);
  const Moments moments = MomentsOf(wide, AxesFrom(axis, x.rank()));
  const Value inverse =
      Recip(Sqrt(moments.variance + call.Number("epsilon", 1e-5)));
  Value y = Cast((wide - moments.mean) * inverse, x.dtype()) * call[1];
  if (call.Has(2)) y = y + call[2];
  return Outputs{y, moments.mean, inverse};
}

absl::StatusOr<Outputs> RmsNormRule(const OpCall& call) {
  const Value& x = call[0];
  const int axis = call.AxisOf(-1, x.rank());
  const Value wide = Cast(x, DType::kF32);
  const Value squares = MeanAxes(wide * wide, AxesFrom(axis, x.rank()));
  const Value normal = wide / Sqrt(squares + call.Number("epsilon", 1e-5));
  return Cast(normal, x.dtype()) * call[1];
}

// Channels in groups; each group of an image is normalised by itself. Version
// 21: scale and bias are of channels.
absl::StatusOr<Outputs> GroupNormRule(const OpCall& call) {
  const Value& x = call[0];
  const int64_t groups = call.Whole("num_groups", 0);
  Require(groups > 0 && x.dim(1) % groups == 0, groups,
          " groups do not divide the channels");
  const int64_t size = x.dim(1) / groups * SizeOf(x.dims, 2, x.rank());
  const Value grouped = Cast(Reshape(x, {x.dim(0), groups, size}), DType::kF32);
  const Moments moments = MomentsOf(grouped, {2});
  const Value normal = (grouped - moments.mean) /
                       Sqrt(moments.variance + call.Number("epsilon", 1e-5));
  return Cast(Reshape(normal, x.dims), x.dtype()) *
             PerChannel(call[1], x.rank()) +
         PerChannel(call[2], x.rank());
}

// Divided by the norm along an axis; 0 stays 0.
absl::StatusOr<Outputs> LpNormRule(const OpCall& call) {
  const Value x = Wide(call[0]);
  const Numbers axis = {call.AxisOf(-1, x.rank())};
  const Value norm = call.Whole("p", 2) == 1
                         ? ReduceAxes(Op::kAdd, Abs(x), axis)
                         : Sqrt(ReduceAxes(Op::kAdd, x * x, axis));
  return Cast(Select(Equal(norm, 0), 0, x / norm), call[0].dtype());
}

absl::StatusOr<Outputs> MeanVarianceRule(const OpCall& call) {
  const Value x = Wide(call[0]);
  const Moments moments =
      MomentsOf(x, DistinctAxes(call.Wholes("axes", {0, 2, 3}), x.rank()));
  return Cast((x - moments.mean) / (Sqrt(moments.variance) + 1e-9),
              call[0].dtype());
}

// Each cell over a power of the sum of squares of the channels around it.
absl::StatusOr<Outputs> LrnRule(const OpCall& call) {
  const Value& x = call[0];
  const int64_t size = call.Whole("size", 1);
  Require(size > 0, "a size of ", size);
  Axes image = AxisNames(x.rank());
  Axes result = image;
  image[1] = absl::StrCat("1*", result[1], "<+k");
  const Value squares =
      Reduce({}, Op::kAdd, {{Pad(x * x, 1, (size - 1) / 2, size / 2), image}},
             result, {{result[1], x.dim(1)}, {"k", size}});
  const double alpha = call.Number("alpha", 1e-4);
  const Value base =
      squares * (alpha / static_cast<double>(size)) + call.Number("bias", 1);
  return x / Pow(base, call.Number("beta", 0.75));
}

// Without training, and with a ratio of 0, everything stays.
absl::StatusOr<Outputs> DropoutRule(const OpCall& call) {
  const Value& x = call[0];
  bool trains = false;
  if (call.Has(2)) {
    OCANNL_ASSIGN_OR_RETURN(Numbers training, call.WholeElements(2));
    trains = training[0] != 0;
  }
  double ratio = 0.5;
  if (call.Has(1)) {
    OCANNL_ASSIGN_OR_RETURN(NdArray given, call.Elements(1));
    Require(given.size() == 1, "a ratio of ", given.size(), " cells");
    ratio = given.AsDouble(0);
  }
  if (trains && ratio > 0) {
    return absl::UnimplementedError("random numbers of another generator");
  }
  if (call.node.outputs.size() == 1) return x;
  return Outputs{x, Filled(call.graph(), x.dims, 1, DType::kBool)};
}

}  // namespace

std::vector<OpRule> NormalisationRules() {
  return {{"Softmax", SoftmaxRule},
          {"LogSoftmax", LogSoftmaxRule},
          {"Hardmax", HardmaxRule},
          {"BatchNormalization", BatchNormRule},
          {"InstanceNormalization", InstanceNormRule},
          {"LayerNormalization", LayerNormRule},
          {"RMSNormalization", RmsNormRule},
          {"GroupNormalization", GroupNormRule},
          {"LpNormalization", LpNormRule},
          {"MeanVarianceNormalization", MeanVarianceRule},
          {"LRN", LrnRule},
          {"Dropout", DropoutRule}};
}

}  // namespace ocannl::onnx
