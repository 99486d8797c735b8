// SPDX-License-Identifier: Apache-2.0
//
// An overload set: one visitor out of several lambdas. Without a catch-all: a
// new alternative of a variant makes every visitor that forgot it a compile
// error.
//
//   std::visit(Overload{[](const For& f) { ... }, [](const Set& s) { ... }},
//              stmt);

#ifndef OCANNL_CORE_BASE_OVERLOAD_H_
#define OCANNL_CORE_BASE_OVERLOAD_H_

namespace ocannl {

// A callable with the overloads of all of `Fs`.
template <typename... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};

// clang 14 does not deduce the arguments of an aggregate by itself.
template <typename... Fs>
Overload(Fs...) -> Overload<Fs...>;

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_OVERLOAD_H_
