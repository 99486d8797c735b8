// SPDX-License-Identifier: Apache-2.0
//
// Nvrtc: NVIDIA's run-time compiler of CUDA C, from the toolkit of the machine;
// nothing of it is needed to build. See https://docs.nvidia.com/cuda/nvrtc.
//
//   OCANNL_ASSIGN_OR_RETURN(const Nvrtc nvrtc, Nvrtc::Open(cuda_home));
//   OCANNL_ASSIGN_OR_RETURN(auto code, nvrtc.Compile(text, "moons", "sm_90"));
#ifndef OCANNL_CUDA_NVRTC_H_
#define OCANNL_CUDA_NVRTC_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/system/shared_library.h"

namespace ocannl::cuda {

// Where a toolkit is looked for, in this order: `cuda_home` or, where that is
// empty, $CUDA_HOME, the directories of the loader, /usr/local/cuda. "" is
// that of the loader.
std::vector<std::string> LibraryDirectories(absl::string_view cuda_home);

class Nvrtc {
 public:
  // Of CUDA 12 or 13. Errors: there is none, and where it was looked for;
  // `cuda_home` or $CUDA_HOME is a relative path.
  static absl::StatusOr<Nvrtc> Open(absl::string_view cuda_home = "");

  std::pair<int, int> version() const { return version_; }  // {13, 0}

  struct Code {
    std::string ptx;    // text of the virtual instruction set
    std::string cubin;  // machine code; empty for a virtual architecture
    // The compiler's remarks: of each kernel its registers, bytes of shared
    // memory, and what it spills.
    std::string log;
  };

  // `text` includes nothing; `name` is in its errors. `architecture` is one of
  // a GPU, as "sm_90", or a virtual one, as "compute_90". Every operation
  // rounds as the text says: nothing is contracted, approximated or flushed to
  // zero. Error: what the compiler says. Thread-safe.
  absl::StatusOr<Code> Compile(const std::string& text, const std::string& name,
                               absl::string_view architecture) const;

 private:
  struct Functions;

  Nvrtc() = default;

  std::shared_ptr<const Functions> functions_;
  std::pair<int, int> version_;
};

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_NVRTC_H_
