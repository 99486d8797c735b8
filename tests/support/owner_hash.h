// SPDX-License-Identifier: Apache-2.0
//
// The hash of what a training on shards has made of its parameters.
#ifndef TESTS_SUPPORT_OWNER_HASH_H_
#define TESTS_SUPPORT_OWNER_HASH_H_

#include <string>

#include "ocannl/core/base/check.h"
#include "ocannl/train/graph/params_hash.h"
#include "ocannl/train/parallel/data_parallel.h"

namespace ocannl {

inline std::string OwnerHash(const train::DataParallel& training) {
  auto hash =
      train::ParamsHash(training.OwnerContext(), training.OwnerParams());
  CHECK_OK(hash);
  return *hash;
}

}  // namespace ocannl

#endif  // TESTS_SUPPORT_OWNER_HASH_H_
