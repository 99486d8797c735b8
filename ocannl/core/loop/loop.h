// SPDX-License-Identifier: Apache-2.0
//
// The nodes of loop programs (ir.h), by their bare names: for the engine's own
// code, which is about little else. Headers for users say loop_ir::For.
#ifndef OCANNL_CORE_LOOP_LOOP_H_
#define OCANNL_CORE_LOOP_LOOP_H_

#include "ocannl/core/loop/ir.h"

namespace ocannl {

using loop_ir::Access;
using loop_ir::Block;
using loop_ir::Buffer;
using loop_ir::BufferId;
using loop_ir::Comment;
using loop_ir::DeclareLocal;
using loop_ir::For;
using loop_ir::GetLocal;
using loop_ir::IsInput;
using loop_ir::IsReadOnly;
using loop_ir::IsResult;
using loop_ir::IsScratch;
using loop_ir::kUnranged;
using loop_ir::LeafId;
using loop_ir::LeafValue;
using loop_ir::Local;
using loop_ir::LocalId;
using loop_ir::Lookup;
using loop_ir::LoopKind;
using loop_ir::Role;
using loop_ir::Scatter;
using loop_ir::Set;
using loop_ir::SetLocal;
using loop_ir::StaticIndex;
using loop_ir::Stmt;
using loop_ir::ZeroOut;

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_LOOP_H_
