// SPDX-License-Identifier: Apache-2.0
//
// Sketches of contractions: scripts with free sizes and choices, without the
// planner (Zheng et al., Ansor, OSDI 2020). A sketch tiles two output loops
// for registers, unrolls the innermost reduced loop, packs operands and fuses
// the maps that follow the sum.
//
//   std::optional<Contracted> form = FindContraction(program);
//   WriteSketch(*form, {.lanes = 32, .rows = 8}, script);
#ifndef OCANNL_TUNE_SKETCH_H_
#define OCANNL_TUNE_SKETCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/tune/script_lines.h"

namespace ocannl::tune {

// A sum over perfectly nested loops, in canonical form.
struct Contracted {
  std::vector<std::string> outputs, reduced;  // loops, outer first
  std::vector<int64_t> output_extents;
  std::string result;      // the buffer
  bool is_zeroed = false;  // a zero_out comes before it
  std::vector<std::vector<std::string>> maps = {};  // loops of each, after it
  std::vector<std::string> operands = {};           // buffers
  size_t lane = 0;                                  // the output of unit stride
  int64_t vector = 1;                               // cells in a register
};

// The contraction that `program` is. nullopt: it is something else.
std::optional<Contracted> FindContraction(const LoopProgram& program,
                                          const Target& target);

// The choices of a sketch.
struct Sketch {
  int64_t lanes = 16;    // iterations of the output of unit stride in a tile
  int64_t rows = 4;      // of the output loop `row` in a tile
  size_t row = 0;        // an index of `outputs`
  int64_t unrolled = 4;  // of the innermost reduced loop
  bool lanes_outside = true;  // the loop over tiles of lanes is the outer one
  std::vector<bool> packed = {};  // for each operand, whether it is packed
};

// A random sketch, and `sketch` with one choice changed.
Sketch RandomSketch(const Contracted& form, fuzz::Random& random);
Sketch Changed(const Contracted& form, Sketch sketch, fuzz::Random& random);

// Applies the lines of the sketch to `script`. Lines that are refused are left
// out.
void WriteSketch(const Contracted& form, const Sketch& sketch,
                 LegalScript& script);

}  // namespace ocannl::tune

#endif  // OCANNL_TUNE_SKETCH_H_
