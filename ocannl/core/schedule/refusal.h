// SPDX-License-Identifier: Apache-2.0
//
// Refusals: nests that keep the loops from before a pass, as Verify does not
// accept what the pass made of them, or a rewrite was an error. A program that
// a user may write never ends the process, but each refusal is a bug of ours.
#ifndef OCANNL_CORE_SCHEDULE_REFUSAL_H_
#define OCANNL_CORE_SCHEDULE_REFUSAL_H_

#include <string>
#include <vector>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct Refusal {
  std::string nest;    // the buffers that it writes; empty: all nests
  std::string pass;    // "rewrite"
  std::string reason;  // of Verify, or of the rewrite
};

// The buffers that the statement writes: "a, b".
std::string WrittenNames(const LoopProgram& program, const Stmt& stmt);

// Of a statement of the program's body.
Refusal RefusalOf(const LoopProgram& program, const Stmt& nest,
                  std::string pass, std::string reason);

// A line of reports: "nest of y keeps the loops from before rewrite: ...".
std::string Text(const Refusal& refusal);

// A comment at the start of the program for each.
void AddComments(const std::vector<Refusal>& refused, LoopProgram& program);

// Appends the refusal to `to`. CHECK-fails if `to` is null.
void Report(Refusal refusal, std::vector<Refusal>* to);

// Whether a tier CHECK-fails in the place of using what is left: with the
// environment variable TEST_FATAL_REFUSALS, which tests set, or after
// MakeRefusalsFatal, which fuzzers call.
bool AreRefusalsFatal();
void MakeRefusalsFatal();

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_REFUSAL_H_
