// SPDX-License-Identifier: Apache-2.0
//
// The cold half of the assertions: what happens once one of them fails.

#include "ocannl/core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ocannl::check_internal {

FatalMessage::FatalMessage(const char* file, int line, const char* text) {
  stream_ << file << ":" << line << ": CHECK failed: " << text << " ";
}

FatalMessage::~FatalMessage() {
  std::fprintf(stderr, "%s\n", stream_.str().c_str());
  std::fflush(stderr);
  std::abort();
}

const std::string* DescribeFailure(const absl::Status& status) {
  return new std::string("(" + status.ToString() + ")");
}

}  // namespace ocannl::check_internal
