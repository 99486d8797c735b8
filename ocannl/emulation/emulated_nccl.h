// SPDX-License-Identifier: Apache-2.0
//
// EmulatedNccl: messages between emulated GPUs (emulated_driver.h) of several
// threads. A stream that is to receive waits for the message, and the host does
// not, as with NCCL.
#ifndef OCANNL_EMULATION_EMULATED_NCCL_H_
#define OCANNL_EMULATION_EMULATED_NCCL_H_

#include "ocannl/cuda/nccl.h"

namespace ocannl::emulation {

cuda::NcclFunctions EmulatedNccl();

// How many messages were received so far.
int NumNcclMessages();

}  // namespace ocannl::emulation

#endif  // OCANNL_EMULATION_EMULATED_NCCL_H_
