// SPDX-License-Identifier: Apache-2.0
//
// Operations of Ops with what they compute, by plain numbers.
#ifndef TESTS_TRAINER_PRIMITIVE_CASES_H_
#define TESTS_TRAINER_PRIMITIVE_CASES_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/train/eager/ops.h"

namespace ocannl::train {

using Numbers = std::vector<double>;
using Args = std::vector<Numbers>;

struct Case {
  std::string name;
  std::vector<Dims> shapes;
  std::function<Ref(Ops&, absl::Span<const Ref>)> op;
  std::function<Numbers(const Args&)> value;  // by plain numbers
  bool has_gradient = true;
};

inline void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

// f of each number.
Numbers Map(const Numbers& x, const std::function<double(double)>& f);
// exp(x) over its sum, of each `width` neighbours.
Numbers Softmaxed(Numbers x, int width);
// Of one operand, whose cells the result has in the order of `from`; -1 is 0.
Case Moved(std::string name, Dims shape, std::function<Ref(Ops&, Ref)> op,
           std::vector<int> from);

std::vector<Case> PointwiseCases();
std::vector<Case> FunctionCases();
std::vector<Case> GroupCases();
std::vector<Case> ShapeCases();
std::vector<Case> IndexCases();
std::vector<Case> JoinCases();
std::vector<Case> ScatterCases();
std::vector<Case> SumCases();
std::vector<Case> ProductCases();
std::vector<Case> LayerCases();
std::vector<Case> PoolingCases();
std::vector<Case> ConvolutionCases();

}  // namespace ocannl::train

#endif  // TESTS_TRAINER_PRIMITIVE_CASES_H_
