// SPDX-License-Identifier: Apache-2.0
//
// Print: a LoopProgram as .ll text; parse.h reads it back.
#ifndef OCANNL_CORE_LOOP_PRINT_H_
#define OCANNL_CORE_LOOP_PRINT_H_

#include <string>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// The whole program. Parse(Print(p)) == p.
std::string Print(const LoopProgram& program);

// Same text, comments included. Printing leaves nothing out, while ids depend
// on the order of construction.
bool operator==(const LoopProgram& a, const LoopProgram& b);

// One statement, indented by `depth` levels, as Print writes it.
std::string PrintStmt(const LoopProgram& program, const Stmt& stmt, int depth);

// A statement's value: fma(w[i2], x[i2], v1).
std::string PrintValue(const LoopProgram& program, ExprId value);

// "2*i3 + batch - 1".
std::string PrintIndex(const LoopProgram& program, const Affine& index);

// "w1[i3, 0]".
std::string PrintAccess(const LoopProgram& program, const Access& access);

// That, or "w1[ids[i3], 0]", or "v1", or "[2*i1 + 1]".
std::string PrintLeaf(const LoopProgram& program, const LeafValue& leaf);

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_PRINT_H_
