// SPDX-License-Identifier: Apache-2.0
//
// The tiles in which blocks of a GPU compute a product.
#ifndef OCANNL_CORE_SCHEDULE_GPU_PRODUCT_TILES_H_
#define OCANNL_CORE_SCHEDULE_GPU_PRODUCT_TILES_H_

#include <cstdint>
#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/core/schedule/nests/product.h"

namespace ocannl::gpu {

// A part of an output loop that a block computes.
struct TilePart {
  NestLoop loop;
  int64_t size;       // of a block
  int64_t registers;  // of those a thread has so many
  int64_t threads() const { return size / registers; }
};

// What a block computes: rows are results along which only the first operand
// moves, columns those of the second one.
struct ProductTile {
  std::vector<TilePart> rows;
  std::vector<TilePart> columns;
  int64_t steps;  // of the reduction that are staged at once

  int64_t threads() const {
    int64_t all = 1;
    for (const auto* parts : {&rows, &columns}) {
      for (const TilePart& part : *parts) all *= part.threads();
    }
    return all;
  }
  int64_t results() const {
    int64_t all = threads();
    for (const auto* parts : {&rows, &columns}) {
      for (const TilePart& part : *parts) all *= part.registers;
    }
    return all;
  }
};

// The best first. If it `cuts` not, all of them are full.
std::vector<ProductTile> TilesOf(const Product& product,
                                 const GpuTarget& target, bool cuts);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_PRODUCT_TILES_H_
