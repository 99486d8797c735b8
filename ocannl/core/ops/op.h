// SPDX-License-Identifier: Apache-2.0
//
// Op: the scalar operations of ops.def, and what is known about each.
#ifndef OCANNL_CORE_OPS_OP_H_
#define OCANNL_CORE_OPS_OP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"

namespace ocannl {

enum class Op : uint8_t {
#define PRIMITIVE(name, ...) k##name,
#define DERIVED(name, ...) k##name,
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
};

inline constexpr int kNumOps = 0
#define PRIMITIVE(...) +1
#define DERIVED(...) +1
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
    ;

// Which operand types an op takes, and the type of its result.
enum class Typing : uint8_t {
  kNumber,   // (T...) -> T, T an integer or a float
  kInteger,  // (T...) -> T, T an integer
  kFloat,    // (T...) -> T, T a float
  kBits,     // (T...) -> T, T an integer or bool
  kWord,     // (u32...) -> u32
  kCompare,  // (T, T) -> bool
  kSelect,   // (bool, T, T) -> T
  kConvert,  // any -> any
  kBitcast,  // any number -> any number of the same size
};

enum Traits : uint8_t { kNoTraits = 0, kCommutative = 1 };

struct OpInfo {
  absl::string_view name;  // "Add"
  absl::string_view text;  // "+"
  int arity;
  Typing typing;
  Traits traits;
  bool primitive;
};

const OpInfo& Info(Op op);

// Every op, in the order of ops.def.
absl::Span<const Op> AllOps();

// The op whose text is `text`, if any. Convert and Bitcast, whose text is the
// dtype they give, are not found.
std::optional<Op> FindOp(absl::string_view text);

// What stands before the operands of `op` in text: "max", "f32", "bits_u32".
// For Convert and Bitcast, `wanted` is the type of the result.
std::string CallName(Op op, DType wanted);

// Whether `op` stands between its operands in text: a + b.
bool IsInfix(Op op);

// Whether `op` takes operands of type T: see Typing.
bool Accepts(Typing typing, DType dtype);

// The type of op(args...). For Convert and Bitcast, `wanted`. Error: a wrong
// number of operands, or types that the op does not take.
absl::StatusOr<DType> ResultType(Op op, absl::Span<const DType> args,
                                 DType wanted);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_OP_H_
