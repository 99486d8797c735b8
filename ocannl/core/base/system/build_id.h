// SPDX-License-Identifier: Apache-2.0
//
// BuildId: what tells this build of the engine from all others.
#ifndef OCANNL_CORE_BASE_SYSTEM_BUILD_ID_H_
#define OCANNL_CORE_BASE_SYSTEM_BUILD_ID_H_

#include <string>

namespace ocannl {

// The id that the linker gave the executable or library that holds this
// function, as hexadecimal digits; "" where it gave none (--build-id).
std::string BuildId();

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_BUILD_ID_H_
