// SPDX-License-Identifier: Apache-2.0
//
// The version of the engine. CHANGELOG.md says what each one changed; a test
// holds its newest entry to this.
#ifndef OCANNL_CORE_VERSION_H_
#define OCANNL_CORE_VERSION_H_

namespace ocannl {

inline constexpr char kVersion[] = "0.9.5";

}  // namespace ocannl

#endif  // OCANNL_CORE_VERSION_H_
