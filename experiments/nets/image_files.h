// SPDX-License-Identifier: Apache-2.0
//
// Images of files, as lessons.
#ifndef EXPERIMENTS_NETS_IMAGE_FILES_H_
#define EXPERIMENTS_NETS_IMAGE_FILES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "experiments/nets/supervised.h"
#include "ocannl/train/data/data_limit.h"

namespace ocannl {

// The digits of scikit-learn: where Debian's python3-sklearn has them.
inline constexpr char kSklearnDigits[] =
    "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz";

// The ends of the names of files that LoadImages reads, for messages.
std::string ImageEnds();

// The images and classes of a file, of which every fourth, in an order that
// depends on the seed, is for the tests:
//
//   .csv, .tsv, .npy   rows of the cells of a square image, then the class
//   .npz               arrays x, of images, and y, of classes
//   -ubyte             the images; the file of the classes is beside it, as
//                      those of MNIST: train-images-idx3-ubyte,
//                      train-labels-idx1-ubyte
//
// All but .npz also with .gz. Cells are divided by the greatest. Errors:
// those of the readers, and of images that are not square, or of less than two
// classes; where kSklearnDigits is missing, the package that has it.
absl::StatusOr<Lessons> LoadImages(const std::string& path, uint32_t seed,
                                   const train::DataLimit& limit = {});

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_IMAGE_FILES_H_
