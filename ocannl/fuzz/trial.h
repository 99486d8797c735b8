// SPDX-License-Identifier: Apache-2.0
//
// One program on one input, on the interpreter and on another backend.
//
//   Trial trial(program, /*seed=*/7);
//   std::string difference = trial.Try(x86);   // empty: the same bits
#ifndef OCANNL_FUZZ_TRIAL_H_
#define OCANNL_FUZZ_TRIAL_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/guarded_buffer.h"

namespace ocannl::fuzz {

// Not thread-safe.
class Trial {
 public:
  using Arrays = IdVector<BufferId, NdArray>;

  // Fills the buffers and runs the interpreter. VerifyPromises accepts
  // `program`, which must outlive this.
  Trial(const LoopProgram& program, FillKind kind, uint64_t seed);
  // The same with these arrays in the buffers, and values of static indices.
  Trial(const LoopProgram& program, Arrays before,
        std::vector<int64_t> statics);

  // Runs the backend twice with buffers between guard pages, or thrice where
  // they are not in memory of the host, and compares what each run leaves in
  // the `in`, `out` and `inout` buffers; the others start as different garbage
  // in each run and end as anything. Tells of the first difference, of a broken
  // canary, of memory that is writable and executable, and of programs that the
  // backend refuses. A signal ends the process.
  std::string Try(const Backend& backend) const;

  // What the interpreter leaves in each buffer.
  const Arrays& expected() const { return expected_; }

  // Whether over nine in ten cells of what is written are finite.
  bool MostlyFinite() const;

 private:
  std::string TryOnce(const Executable& executable, const MemorySpace& space,
                      bool at_start) const;

  const LoopProgram& program_;
  Arrays before_;
  Arrays expected_;
  std::vector<int64_t> statics_;
  // What is only read, at the guarded ends: all runs find the same.
  mutable std::map<std::pair<BufferId, bool>, GuardedBuffer> read_only_;
};

// The first line of /proc/self/maps that is writable and executable; empty
// where there is none.
std::string WritableExecutableMapping();

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_TRIAL_H_
