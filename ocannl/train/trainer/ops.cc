// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/trainer/ops.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ocannl::train {
namespace {

absl::InlinedVector<double, 4> Numbers(const Dims& dims) {
  return {dims.begin(), dims.end()};
}

}  // namespace

absl::string_view Name(Primitive op) {
  switch (op) {
#define OCANNL_NAME(name)  \
  case Primitive::k##name: \
    return #name;
    OCANNL_TRAINER_PRIMITIVES(OCANNL_NAME)
#undef OCANNL_NAME
  }
  __builtin_unreachable();
}

uint64_t SignatureOf(const OpCall& call) {
  constexpr uint64_t kNone = ~uint64_t{0};
  if (call.operands.size() > 3) return kNone;
  auto signature = static_cast<uint64_t>(call.op);
  for (size_t k = 0; k < call.operands.size(); ++k) {
    signature |= uint64_t{call.operands[k]} << (8 + kSlotBits * k);
  }
  return signature;
}

Ref Ops::Fail(absl::Status status) {
  status_.Update(std::move(status));
  return {};
}

Ref Ops::CallUnexpected(Primitive op, absl::Span<const Ref> operands,
                        absl::Span<const double> numbers, Where at) {
  OpCall call = {.op = op,
                 .operands = {},
                 .numbers = {numbers.begin(), numbers.end()},
                 .where = at};
  for (Ref operand : operands) {
    if (operand.epoch() != epoch_ || operand.slot() >= next_) {
      return Fail(absl::FailedPreconditionError(absl::StrCat(
          Name(op), " (", ToString(at), "): operand ", call.operands.size() + 1,
          operand.epoch() == 0
              ? " is the result of an operation that failed"
              : " is a tensor of another step or session; make "
                "it in this one")));
    }
    call.operands.push_back(operand.slot());
  }
  return Record(std::move(call));
}

Ref Ops::Const(double number, Where at) {
  return Const(std::make_shared<const NdArray>(
                   NdArray::Of<float>({}, {static_cast<float>(number)})),
               at);
}

Ref Ops::BroadcastTo(Ref x, const Dims& dims, Where at) {
  return Call(Primitive::kBroadcastTo, Numbers(dims), at, x);
}

Ref Ops::Reshape(Ref x, const Dims& dims, Where at) {
  return Call(Primitive::kReshape, Numbers(dims), at, x);
}

Ref Ops::Flatten(Ref x, Where at) {
  return Reshape(x, {NumElements(dims(x))}, at);
}

Ref Ops::Permute(Ref x, const Dims& order, Where at) {
  return Call(Primitive::kPermute, Numbers(order), at, x);
}

Ref Ops::Transpose3dFirstToLast(Ref x, Where at) {
  return Permute(x, {1, 2, 0}, at);
}

Ref Ops::Transpose3dLastToFirst(Ref x, Where at) {
  return Permute(x, {2, 0, 1}, at);
}

Ref Ops::Transpose3dLastTwo(Ref x, Where at) {
  return Permute(x, {0, 2, 1}, at);
}

Ref Ops::SwapAdjacentAtDepth(Ref x, int depth, Where at) {
  Dims order(dims(x).size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
  if (depth < 0 || depth + 1 >= static_cast<int>(order.size())) {
    return Permute(x, {depth}, at);  // which says what is wrong
  }
  std::swap(order[depth], order[depth + 1]);
  return Permute(x, order, at);
}

Ref Ops::ConcatLeadingAxis(absl::Span<const Ref> parts, Where at) {
  return CallUnexpected(Primitive::kConcat, parts, {}, at);
}

Ref Ops::OnWindows(Primitive op, absl::Span<const Ref> operands,
                   const Windows& windows, absl::Span<const double> more,
                   Where at) {
  absl::InlinedVector<double, 16> numbers(more.begin(), more.end());
  numbers.push_back(windows.ceil ? 1 : 0);
  numbers.push_back(windows.count_padding ? 1 : 0);
  // Their lengths, so that no two lists are written alike.
  for (const Dims* each : {&windows.kernel, &windows.stride, &windows.padding,
                           &windows.padding_after, &windows.dilation}) {
    numbers.push_back(static_cast<double>(each->size()));
    numbers.insert(numbers.end(), each->begin(), each->end());
  }
  return CallUnexpected(op, operands, numbers, at);
}

Ref Ops::MaxPool(Ref x, const Windows& windows, Where at) {
  return OnWindows(Primitive::kMaxPool, {x}, windows, {}, at);
}

Ref Ops::AvgPool(Ref x, const Windows& windows, Where at) {
  return OnWindows(Primitive::kAvgPool, {x}, windows, {}, at);
}

Ref Ops::SmoothMaxPool(Ref x, const Windows& windows, double beta, Where at) {
  return OnWindows(Primitive::kSmoothMaxPool, {x}, windows, {beta}, at);
}

Ref Ops::MaxPool2d(Ref x, int64_t kernel, int64_t stride, int64_t padding,
                   Where at) {
  return MaxPool(x, {{kernel, kernel}, {stride, stride}, {padding, padding}},
                 at);
}

Ref Ops::AvgPool2d(Ref x, int64_t kernel, int64_t stride, int64_t padding,
                   Where at) {
  return AvgPool(x, {{kernel, kernel}, {stride, stride}, {padding, padding}},
                 at);
}

Ref Ops::Conv(Ref w, Ref b, Ref x, const Windows& windows, Where at) {
  return OnWindows(Primitive::kConv, {w, b, x}, windows, {}, at);
}

Ref Ops::ConvTranspose(Ref w, Ref b, Ref x, const Windows& windows, Where at) {
  return OnWindows(Primitive::kConvTranspose, {w, b, x}, windows, {}, at);
}

Ref Ops::Conv2d(Ref w, Ref b, Ref x, int64_t stride, int64_t padding,
                Where at) {
  return Conv(w, b, x, {{}, {stride, stride}, {padding, padding}}, at);
}

Ref Ops::ConvTranspose2d(Ref w, Ref b, Ref x, int64_t stride, int64_t padding,
                         Where at) {
  return ConvTranspose(w, b, x, {{}, {stride, stride}, {padding, padding}}, at);
}

Ref Ops::MultiHeadAttention(Ref wq, Ref wk, Ref wv, Ref wo, Ref x,
                            int64_t heads, std::optional<Ref> mask, Where at) {
  absl::InlinedVector<Ref, 6> operands = {wq, wk, wv, wo, x};
  if (mask) operands.push_back(*mask);
  return CallUnexpected(Primitive::kMultiHeadAttention, operands,
                        {double(heads)}, at);
}

Ref Ops::RandUniform(const Dims& dims, Where at) {
  return Call(Primitive::kRandUniform, Numbers(dims), at);
}

Ref Ops::BernoulliMask(Ref keep, const Dims& dims, Where at) {
  return Call(Primitive::kBernoulliMask, Numbers(dims), at, keep);
}

}  // namespace ocannl::train
