// SPDX-License-Identifier: Apache-2.0
//
// EmulatedDriver: a driver whose GPUs are emulated on the processor: machine
// code is a text of kernels, which gcc compiles (emulated_device.h).
//
// It is as unkind as a real one may be: nothing is done before somebody waits
// for it, and then streams take turns at random, calls of a graph come in any
// order that their dependences allow, a kernel runs its threads in another
// order each time, new memory holds anything and ends where pages begin that
// nobody may touch, and the host cannot follow its addresses.
#ifndef OCANNL_EMULATION_EMULATED_DRIVER_H_
#define OCANNL_EMULATION_EMULATED_DRIVER_H_

#include <functional>

#include "absl/functional/function_ref.h"
#include "ocannl/cuda/driver.h"

namespace ocannl::emulation {

// Of two GPUs "emulated" of compute capability 9.0, or of up to four, if
// DeviceGetCount is another function.
cuda::DriverFunctions EmulatedDriver();

// Does `run` in its turn, once `is_ready` (null: it is), which is asked while
// no other thread calls the driver. For the thread's context.
void GiveStream(cuda::StreamHandle stream, std::function<void()> run,
                std::function<bool()> is_ready = nullptr);

// Makes a `change` after which more may be ready, likewise.
void ChangeWhatIsReady(absl::FunctionRef<void()> change);

// Makes the n-th call of the driver from now on fail, the next one if n is 1;
// 0: none does. How many calls there were since the last of this.
int FailCall(int n);

// Contexts, streams, events, modules, graphs and pieces of memory there are.
int NumDriverObjects();

}  // namespace ocannl::emulation

#endif  // OCANNL_EMULATION_EMULATED_DRIVER_H_
