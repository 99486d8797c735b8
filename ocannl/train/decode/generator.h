// SPDX-License-Identifier: Apache-2.0
//
// Generator: a network that continues sequences, token by token, with a cache
// of what it knows of the tokens so far. A token is one run of a routine, whose
// result the next one reads where it is, so that steps need no host in between.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       auto generator,
//       train::Generator::Make(model, {.length = 64, .batch = 8},
//                              [&](Tensor token, train::Decoding& decoding) {
//                                return net.Step(token, decoding);
//                              },
//                              step.context()));
//   OCANNL_ASSIGN_OR_RETURN(NdArray more, generator.Generate(prompt, 20));
#ifndef OCANNL_TRAIN_DECODE_GENERATOR_H_
#define OCANNL_TRAIN_DECODE_GENERATOR_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/attention.h"
#include "ocannl/train/decode/sample.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

struct GeneratorOptions {
  int64_t length;             // places of a sequence
  int64_t batch = 1;          // sequences at once
  int64_t memory_length = 0;  // of what an encoder makes, if one does
  SampleOptions sample = {};
};

// Moves, but does not copy. Not thread-safe, like its context.
class Generator {
 public:
  // The logits, batch|n, of the token after `token`, batch|: Step of a model.
  using Next = absl::FunctionRef<Tensor(Tensor token, Decoding& decoding)>;

  // Compiles what computes the next token, once. It reads the parameters that
  // `context` has, as they are when it runs. Errors: those of Forward and
  // ToRoutine.
  static absl::StatusOr<Generator> Make(Model& model,
                                        const GeneratorOptions& options,
                                        Next next, const Context& context);

  // The `count` tokens after each row of `prompt`: i32 {batch, given} gives
  // {batch, count}. Calls draw other tokens, unless the temperature is 0.
  // Errors: a prompt of another dtype or batch; no token, or more than the
  // length has places for; those of Routine::Run.
  absl::StatusOr<NdArray> Generate(const NdArray& prompt, int64_t count);

  // What Make linked: here go the sources of an encoder.
  const Context& context() const { return step_.context(); }

 private:
  // The arrays of the tokens that are given and that are drawn, length,batch,
  // and the static indices of a step.
  struct Names {
    std::string prompt, written, position, given, draw;
  };

  Generator(const GeneratorOptions& options, Names names, Routine start,
            Routine step)
      : options_(options),
        names_(std::move(names)),
        start_(std::move(start)),
        step_(std::move(step)) {}

  GeneratorOptions options_;
  Names names_;
  Routine start_, step_;  // for each sequence, and for each place
  int64_t draws_ = 0;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DECODE_GENERATOR_H_
