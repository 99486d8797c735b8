// SPDX-License-Identifier: Apache-2.0
//
// Predict: static cost estimation: how much there is to do in a program, from
// its text, as all its trip counts are constants.
//
//   for i0 = 0 to 159 { y[i0] := x[i0] * 2; }   ->   480 operations of 30
//                                                    instructions
#ifndef OCANNL_CORE_TIERING_COST_PREDICT_H_
#define OCANNL_CORE_TIERING_COST_PREDICT_H_

#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct Prediction {
  double operations = 0;    // of one run, in the unit of opt/cost.h
  double instructions = 0;  // that a compiler writes, a very rough guess
  // ArithmeticOf (opt/cost.h), of one run.
  double arithmetic = 0;
  double flops = 0;
};

Prediction Predict(const LoopProgram& program);

// Of statements of the program.
Prediction Predict(const LoopProgram& program, const Block& block);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_COST_PREDICT_H_
