// SPDX-License-Identifier: Apache-2.0
//
// BatchCase: a graph of the notation whose operands have an axis of rows, and
// the batches of rows for which it is computed. As text:
//
//   property: rows
//   fill: normal 17
//   sizes: s0=100 s1=30
//   x0: #|s0 any
//   let v0 = (x0 +* "#|a; a, b => #|b" {w0; o=[s0, s1]})
//   batch: 0..63
//   batch: 5
//   batch: alone 5
//
// `#` is the axis of rows: a letter in a spec, the number of rows in a shape.
// It is left out where one row is `alone`.
#ifndef OCANNL_FUZZ_BATCHES_BATCH_CASE_H_
#define OCANNL_FUZZ_BATCHES_BATCH_CASE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl::fuzz {

enum class BatchProperty : uint8_t {
  // Each row is the same in all batches.
  kRows,
  // The first batch has the first rows of the others, whose further rows are
  // padding: sums over rows, and the rows that they share, are the same.
  kTerms,
};

enum class BatchFill : uint8_t {
  kNormal,     // the sum of four uniform numbers
  kSubnormal,  // half of the cells are subnormal
  kZeros,      // most cells are 0 or -0
  kWide,       // magnitudes from 2^-20 to 2^20
  kNonFinite,  // some cells are infinite or NaN
};

// What an operand holds in rows that are padding.
enum class BatchPadding : uint8_t {
  kAny,   // finite numbers, as in other rows
  kZero,  // 0 or -0
  kMask,  // 0; other rows hold 1
};

struct BatchOperand {
  std::string name;
  std::string shape;  // "#|s0, s1"
  BatchPadding padding = BatchPadding::kAny;
};

struct BatchLet {
  std::string name;
  std::string text;
  // Of the value, as of an operand; an empty shape: not known.
  std::string shape = {};
  BatchPadding padding = BatchPadding::kAny;
};

struct Batch {
  std::vector<int64_t> rows;  // which ones, by number
  bool alone = false;         // one row without an axis of rows
};

struct BatchCase {
  BatchProperty property = BatchProperty::kRows;
  BatchFill fill = BatchFill::kNormal;
  uint64_t seed = 1;  // of the fill
  std::map<std::string, int64_t> sizes = {};
  std::vector<BatchOperand> operands = {};
  std::vector<BatchLet> lets = {};  // the last one is the result
  std::vector<Batch> batches = {};  // the first one is compared with others
};

// "0..63", "5, 2", "alone 5"
std::string ToString(const Batch& batch);

std::string ToString(const BatchCase& one);

// The case that a text spells; lines of `#` and a blank are comments. Errors:
// other text, with its line; no result; fewer than two batches.
absl::StatusOr<BatchCase> ParseBatchCase(absl::string_view text);

// The text, or shape, with `rows` in the place of `#`; empty: without it.
std::string WithRows(absl::string_view text, absl::string_view rows);

// The graph as one expression of the notation, with an axis of rows, r, or
// without.
std::string ExpressionOf(const BatchCase& one, bool alone);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_BATCHES_BATCH_CASE_H_
