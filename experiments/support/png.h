// SPDX-License-Identifier: Apache-2.0
//
// SVG pictures as PNG, by librsvg and cairo, which need not be there when this
// is built.
#ifndef EXPERIMENTS_SUPPORT_PNG_H_
#define EXPERIMENTS_SUPPORT_PNG_H_

#include <string>

#include "absl/status/statusor.h"

namespace ocannl {

// The bytes of a PNG file of `width` x `height` pixels into which `svg` is
// fitted. Errors: Unavailable, with the package, where the libraries are not
// there; `svg` is none.
absl::StatusOr<std::string> PngOf(const std::string& svg, int width,
                                  int height);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_PNG_H_
