// SPDX-License-Identifier: Apache-2.0
//
// Calls: records calls of functions and blocks as the operations of a step.
//
//   Ref h = ops.Block<Mlp>("in", MlpOptions{.sizes = {16}})(ops.AsBatch(x));
//   Ref y = ops.Call<&Swish>(h);  // Tensor Swish(Tensor x)
//
// A function is any that FunctionCall (function_call.h) takes, and depends on
// its arguments alone: it is called when a step records it, and once more for
// each routine that is compiled.
//
// A block, or a function with a ParamScope, makes parameters. They are those of
// their names in the ParamList of the session (session.h), to which the first
// call adds them with their first values. So a name is that of one parameter in
// a step; a block that is applied twice is a function that applies it twice.
#ifndef OCANNL_TRAIN_EAGER_CALLS_H_
#define OCANNL_TRAIN_EAGER_CALLS_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/eager/function_call.h"
#include "ocannl/train/eager/op_call.h"

namespace ocannl::train {

// How an argument is passed on: a tensor or a number in a register, for calls
// that are repeated not to write it to memory.
template <class T>
using Light = std::conditional_t<std::is_trivially_copyable_v<T> &&
                                     sizeof(T) <= sizeof(uint64_t),
                                 T, const T&>;

// An argument and where it was written.
template <class T>
struct At {
  template <class U>
  requires std::convertible_to<U, T> At(  // NOLINT
      const U& u, SourceLocation at = SourceLocation::Current())
      : value(u), where(at) {}

  T value;
  SourceLocation where;
};

// A block as a function of its scope, its options and what it is applied to.
template <class Block, class Options, class Method>
struct BlockFunction;
template <class Block, class... O, class R, class... P>
struct BlockFunction<Block, std::tuple<O...>, R (Block::*)(P...) const> {
  static R Apply(const ParamScope& scope, const O&... options, P... operands,
                 SourceLocation where) {
    if constexpr (std::is_constructible_v<Block, const ParamScope&, const O&...,
                                          SourceLocation>) {
      return Block(scope, options..., where)(operands...);
    } else {
      return Block(scope, options...)(operands...);
    }
  }
};

// Not thread-safe.
class Calls {
 public:
  using Where = SourceLocation;

  Calls(const Calls&) = delete;
  virtual ~Calls() = default;

  // The first error of this step.
  const absl::Status& status() const { return status_; }

  // {} of what is in error.
  virtual Dims dims(Ref x) const = 0;
  virtual DType dtype(Ref x) const = 0;

  // The value now. Errors: of the step; of a loss that is being compiled, when
  // nothing has a value.
  virtual absl::StatusOr<NdArray> Value(Ref x) = 0;

  // Data of the step. Other values in the next step are those of that step.
  Ref Const(std::shared_ptr<const NdArray> value, Where at = Where::Current()) {
    return AddConst(std::move(value), at);
  }
  Ref Const(double number, Where at = Where::Current());  // f32, shape {}

  // What F, a function of tensors, gives for them. The first argument is a
  // tensor, or the name of a scope for parameters; others are tensors, numbers,
  // texts, lists of them and structs of options.
  template <auto F, class... A>
  Ref Call(At<Ref> first, const A&... rest) {
    return CallAt<F>(first.where, first.value, rest...);
  }
  template <auto F, class... A>
  Ref Call(At<absl::string_view> scope, const A&... rest) {
    return CallAt<F>(scope.where, scope.value, rest...);
  }

  // The block B of that scope and those options, to be applied at once, as in
  // ops.Block<LayerNorm>("norm")(x).
  template <class B, class... O>
  auto Block(At<absl::string_view> scope, const O&... options) {
    using Function =
        BlockFunction<B, std::tuple<O...>, decltype(&B::operator())>;
    return [this, scope, options...](const auto&... args) {
      return this->template CallAt<&Function::Apply, B>(
          scope.where, scope.value, options..., args...);
    };
  }

  // Whether the calls to come are of training, as at first if gradients are
  // tracked, or of inference: dropout and batch norm depend on it.
  bool trains() const { return trains_; }
  void set_trains(bool trains) { trains_ = trains; }

 protected:
  Calls() = default;

  // A call that is not the next one of `calls_`.
  virtual Ref Record(OpCall call) = 0;
  virtual Ref AddConst(std::shared_ptr<const NdArray> value, Where at) = 0;

  // The operation, if it comes where it came in the recorded step: what all
  // steps but the first do, in a few nanoseconds.
  template <auto F, class Name = void, class... A>
  ABSL_ATTRIBUTE_ALWAYS_INLINE Ref CallAt(Where at, const A&... args) {
    using Function = FunctionCall<F>;
    if constexpr (Function::kIsShort) {
      uint64_t slots = 0;
      Signature signature = {.op = &kOperation<F, Name>};
      int shift = 0;
      auto add = [&](const auto& arg) {
        if constexpr (std::is_same_v<std::decay_t<decltype(arg)>, Ref>) {
          slots |= arg.SlotIn(epoch_);
          signature.slots |= arg.SlotIn(epoch_) << shift;
          shift += kSlotBits;
        }
      };
      (add(args), ...);
      if (next_ < signatures_.size() && signatures_[next_] == signature &&
          slots >> kSlotBits == 0 &&
          Function::Is(*static_cast<const typename Function::Args*>(
                           calls_.data()[next_].args.get()),
                       args...)) {
        return {next_++, epoch_};
      }
    }
    return CallOther<F, Name, Light<A>...>(at, args...);
  }

  // The same where it is another one.
  template <auto F, class Name, class... A>
  ABSL_ATTRIBUTE_NOINLINE ABSL_ATTRIBUTE_COLD Ref CallOther(Where at,
                                                            A... args) {
    using Function = FunctionCall<F>;
    return RecordCall(kOperation<F, Name>, Function::RefsOf(args...),
                      std::make_shared<const typename Function::Args>(
                          Function::Keep(args...)),
                      Function::kTrains && trains_, at);
  }
  Ref RecordCall(const Operation& op, absl::Span<const Ref> operands,
                 std::shared_ptr<const void> args, bool trains, Where at);

  Ref Fail(absl::Status status);

  absl::Span<const OpCall> calls_;          // expected in this step
  absl::Span<const Signature> signatures_;  // of those
  uint32_t next_ = 0;  // of them, or of those that were recorded
  uint64_t epoch_ = 0;
  absl::Status status_;
  bool trains_ = true;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_CALLS_H_
