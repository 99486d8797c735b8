// SPDX-License-Identifier: Apache-2.0
//
// Everything that a program needs to write, differentiate, train, look into and
// run tensor expressions. experiments/lessons shows how.
#ifndef OCANNL_OCANNL_H_
#define OCANNL_OCANNL_H_

#include "ocannl/core/assign/print.h"             // PrintCd
#include "ocannl/core/base/ndarray.h"             // NdArray
#include "ocannl/core/compile.h"                  // ToRoutine
#include "ocannl/core/explain.h"                  // ExplainCode
#include "ocannl/core/notation/define.h"          // DefineOp
#include "ocannl/core/notation/parse.h"           // ParseTensor
#include "ocannl/core/runtime/context.h"          // Device, Stream, Context
#include "ocannl/core/runtime/routine.h"          // Routine
#include "ocannl/core/tensor/leaf.h"              // Data, Param
#include "ocannl/core/tensor/tensor.h"            // Tensor and its operations
#include "ocannl/input.h"                         // PrintValues
#include "ocannl/tiers.h"                         // FindTier
#include "ocannl/train/checkpoint/checkpoint.h"   // SaveParams
#include "ocannl/train/code.h"                    // ParseCode
#include "ocannl/train/model.h"                   // Model, Forward, GradUpdate
#include "ocannl/train/parallel/data_parallel.h"  // DataParallel
#include "ocannl/train/sgd.h"                     // SgdUpdate

#endif  // OCANNL_OCANNL_H_
