// SPDX-License-Identifier: Apache-2.0
//
// FunctionCall: any function of tensors as an operation of a step.
//
//   absl::StatusOr<Tensor> Scale(Tensor x, double factor);
//   Tensor ConvRelu(const ParamScope& scope, const Conv2dOptions& options,
//                   Tensor x, SourceLocation where);
//
// What a parameter of the function is given depends on its type:
//   Tensor, Arg        the tensor of a Ref, with the axes that it has
//   Operand            the same cells, with output axes only
//   std::optional      of these: of a Ref, or of none
//   Span of Operand    of any number of Refs
//   ParamScope         a scope in the graph, of the name that the call has
//   Graph&, Training*, StepIndex, SourceLocation
//                      those of the step; calls leave them out
//   others             the argument itself, which is a part of the code
#ifndef OCANNL_TRAIN_EAGER_FUNCTION_CALL_H_
#define OCANNL_TRAIN_EAGER_FUNCTION_CALL_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/eager/arg.h"
#include "ocannl/train/eager/name_of.h"
#include "ocannl/train/eager/op_call.h"

namespace ocannl::train {

template <class P, class... Types>
inline constexpr bool kIsAnyOf = (std::is_same_v<P, Types> || ...);

template <class P>
inline constexpr bool kIsTensor = kIsAnyOf<P, Tensor, Arg, Operand, Shaped>;
template <class P>
inline constexpr bool kIsMaybeTensor =
    kIsAnyOf<P, std::optional<Tensor>, std::optional<Operand>>;
template <class P>
inline constexpr bool kIsTensors = kIsAnyOf<P, absl::Span<const Operand>>;
template <class P>
inline constexpr bool kIsTraining = kIsAnyOf<P, Training*, const Training*>;
// Calls leave it out.
template <class P>
inline constexpr bool kIsOfStep =
    kIsTraining<P> || kIsAnyOf<P, Graph, StepIndex, SourceLocation>;

// What is kept of an argument; of tensors only how many there are.
template <class P>
using Kept = std::conditional_t<
    kIsOfStep<P> || kIsTensor<P>, std::monostate,
    std::conditional_t<
        kIsMaybeTensor<P> || kIsTensors<P>, size_t,
        std::conditional_t<kIsAnyOf<P, ParamScope, absl::string_view>,
                           std::string, P>>>;

// `x` as a T: itself, or a T that is made of it.
template <class T, class X>
decltype(auto) As(const X& x) {
  if constexpr (std::is_same_v<T, X>) {
    return (x);
  } else {
    return T(x);
  }
}

using Refs = absl::InlinedVector<Ref, 6>;

// Of a function with parameters of the types P, but for const and &.
template <auto F, class... P>
struct CallOf {
  template <size_t k>
  using Param = std::tuple_element_t<k, std::tuple<P...>>;
  using Args = std::tuple<Kept<P>...>;
  using Numbers = std::index_sequence_for<P...>;

  static constexpr bool kTrains = (kIsTraining<P> || ... || false);
  // Whether two words say which tensors it has.
  static constexpr bool kIsShort =
      !kTrains && (kIsTensor<P> + ... + 0) <= 3 &&
      !((kIsMaybeTensor<P> || kIsTensors<P>) || ... || false);

  // Whether a call with `args` is the one that was kept, but for its tensors.
  template <class... A>
  static bool Is(const Args& kept, const A&... args) {
    const auto all = std::tie(args...);
    return [&]<size_t... k>(std::index_sequence<k...>) {
      return (SameArg(std::get<k>(kept), KeptArg<k>(all)) && ...);
    }
    (Numbers());
  }

  template <class... A>
  static Args Keep(const A&... args) {
    static_assert(sizeof...(A) == kArgs.back(),
                  "a call has all arguments of its function, but for those "
                  "that the step has");
    const auto all = std::tie(args...);
    return [&]<size_t... k>(std::index_sequence<k...>) {
      return Args{KeptArg<k>(all)...};
    }
    (Numbers());
  }

  // The tensors among the arguments.
  template <class... A>
  static Refs RefsOf(const A&... args) {
    Refs refs;
    const auto all = std::tie(args...);
    [&]<size_t... k>(std::index_sequence<k...>) {
      (AddRefs<k>(refs, all), ...);
    }
    (Numbers());
    return refs;
  }

  static absl::StatusOr<Tensor> Build(const Site& site, const void* kept) {
    const Args& args = *static_cast<const Args*>(kept);
    return [&]<size_t... k>(std::index_sequence<k...>) {
      size_t next = 0;  // of the operands
      // Braces, for they are made from left to right.
      std::tuple<decltype(Give<k>(site, args, next))...> given{
          Give<k>(site, args, next)...};
      return absl::StatusOr<Tensor>(std::apply(F, std::move(given)));
    }
    (Numbers());
  }
  static bool Same(const void* args, const void* others) {
    return SameArgs(*static_cast<const Args*>(args),
                    *static_cast<const Args*>(others));
  }
  static void Print(const void* args, std::string* out) {
    std::apply([&](const auto&... each) { (AppendArg(out, each), ...); },
               *static_cast<const Args*>(args));
  }

 private:
  // Which of the call's arguments each parameter is, and how many it has.
  static constexpr std::array<size_t, sizeof...(P) + 1> kArgs = [] {
    std::array<size_t, sizeof...(P) + 1> args = {};
    size_t k = 0;
    ((args[k + 1] = args[k] + !kIsOfStep<P>, ++k), ...);
    return args;
  }();

  // What is kept of an argument.
  template <size_t k, class All>
  static decltype(auto) KeptArg(const All& all) {
    if constexpr (kIsOfStep<Param<k>> || kIsTensor<Param<k>>) {
      return std::monostate();
    } else if constexpr (kIsMaybeTensor<Param<k>>) {
      return size_t{std::optional<Ref>(std::get<kArgs[k]>(all)).has_value()};
    } else if constexpr (kIsTensors<Param<k>>) {
      return size_t{std::get<kArgs[k]>(all).size()};
    } else {
      return As<Kept<Param<k>>>(std::get<kArgs[k]>(all));
    }
  }

  template <size_t k, class All>
  static void AddRefs(Refs& refs, const All& all) {
    if constexpr (kIsTensor<Param<k>>) {
      refs.push_back(std::get<kArgs[k]>(all));
    } else if constexpr (kIsMaybeTensor<Param<k>>) {
      const std::optional<Ref> maybe = std::get<kArgs[k]>(all);
      if (maybe) refs.push_back(*maybe);
    } else if constexpr (kIsTensors<Param<k>>) {
      for (Ref ref : std::get<kArgs[k]>(all)) refs.push_back(ref);
    }
  }

  // The next operand as a T.
  template <class T>
  static T Next(const Site& site, size_t& next) {
    const Shaped& x = site.operands[next++];
    if constexpr (std::is_same_v<T, Operand>) return Flat(x);
    if constexpr (std::is_same_v<T, Shaped>) return x;
    if constexpr (std::is_same_v<T, Tensor>) return x.tensor;
    if constexpr (std::is_same_v<T, Arg>) return Arg(x.tensor, site.where);
  }

  template <size_t k>
  static decltype(auto) Give(const Site& site, const Args& args, size_t& next) {
    using Q = Param<k>;
    if constexpr (kIsTensor<Q>) {
      return Next<Q>(site, next);
    } else if constexpr (kIsMaybeTensor<Q>) {
      return std::get<k>(args) == 0
                 ? Q()
                 : Q(Next<typename Q::value_type>(site, next));
    } else if constexpr (kIsTensors<Q>) {
      std::vector<Operand> all;
      for (size_t i = 0; i < std::get<k>(args); ++i) {
        all.push_back(Next<Operand>(site, next));
      }
      return all;
    } else if constexpr (std::is_same_v<Q, ParamScope>) {
      return ParamScope{&site.graph, std::get<k>(args)};
    } else if constexpr (std::is_same_v<Q, Graph>) {
      return (site.graph);
    } else if constexpr (kIsTraining<Q>) {
      return Q(site.training);
    } else if constexpr (std::is_same_v<Q, StepIndex>) {
      return StepIndex(site.step);
    } else if constexpr (std::is_same_v<Q, SourceLocation>) {
      return SourceLocation(site.where);
    } else {
      return (std::get<k>(args));
    }
  }
};

template <auto F, class Type = decltype(F)>
struct FunctionCall;
template <auto F, class R, class... P>
struct FunctionCall<F, R (*)(P...)> : CallOf<F, std::remove_cvref_t<P>...> {};

// The operation that calls F, by its name or that of a type.
template <auto F, class Name = void>
inline constexpr Operation kOperation = {
    .name =
        [] {
          if constexpr (std::is_void_v<Name>)
            return NameOf<F>();
          else
            return NameOfType<Name>();
        }(),
    .build = &FunctionCall<F>::Build,
    .same = &FunctionCall<F>::Same,
    .print = &FunctionCall<F>::Print};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_FUNCTION_CALL_H_
