// SPDX-License-Identifier: Apache-2.0
//
// The body of a loop over tensors is written once for each kind of tensor; for
// the others of the kind its code is copied with their names:
//
//   sgd_delta_w1 =: w1.grad;   w1 =- rate * sgd_delta_w1;
//   sgd_delta_w2 =: w2.grad;   w2 =- rate * sgd_delta_w2;   a copy
#ifndef OCANNL_TRAIN_GRAPH_CODE_REPEAT_H_
#define OCANNL_TRAIN_GRAPH_CODE_REPEAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/code_scope.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// What is written of the code of a text.
struct WrittenCode {
  UpdateCode code;
  absl::flat_hash_map<std::string, CodeState> states;  // by their arrays
  std::vector<std::string> declared;                   // arrays
  int parts = 0;            // arrays of parts of values: "y.1", "y.2"
  int loops = 0;            // that are being written
  bool is_regular = false;  // whether the body of the loop may be copied
};

// Of one loop.
class BodyRepeater {
 public:
  BodyRepeater(Model& model, CodeScope& scope, WrittenCode& written)
      : model_(model), scope_(scope), written_(written) {
    ++written_.loops;
  }
  ~BodyRepeater() {
    --written_.loops;
    written_.is_regular = false;  // of a loop around it
  }

  // Calls `write`, which writes the body for `of`, or copies what it wrote.
  absl::Status Write(Tensor of, absl::FunctionRef<absl::Status()> write);

 private:
  // What there is before or after a body.
  struct Mark {
    std::array<size_t, 2> arrays, list;  // of the update and of the init
    size_t declared, computed;
    int parts;
    uint32_t randoms;
  };
  struct Body {
    Tensor of;
    Mark begin, end;
  };
  Mark CurrentMark() const;
  std::optional<Array> ArrayFor(const Array& array, const Body& body,
                                Tensor to) const;
  bool Copy(const Body& body, Tensor to);

  Model& model_;
  CodeScope& scope_;
  WrittenCode& written_;
  absl::flat_hash_map<std::string, Body> bodies_;  // by the kind of tensor
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_GRAPH_CODE_REPEAT_H_
