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
#ifndef OCANNL_FUZZ_EMULATED_DRIVER_H_
#define OCANNL_FUZZ_EMULATED_DRIVER_H_

#include "ocannl/cuda/driver.h"

namespace ocannl::fuzz {

// Of two GPUs "emulated" of compute capability 9.0.
cuda::DriverFunctions EmulatedDriver();

// Makes the n-th call of the driver from now on fail, the next one if n is 1;
// 0: none does. How many calls there were since the last of this.
int FailCall(int n);

// Contexts, streams, events, modules, graphs and pieces of memory there are.
int NumDriverObjects();

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_EMULATED_DRIVER_H_
