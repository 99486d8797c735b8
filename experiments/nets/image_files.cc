// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/image_files.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/data/batch_order.h"
#include "ocannl/train/data/data_loader.h"
#include "ocannl/train/data/files.h"

namespace ocannl {
namespace {

constexpr int64_t kTestShare = 4;  // one of so many

// The first columns of the rows, and the last one.
Examples SplitRows(const NdArray& rows) {
  const int64_t count = rows.dims()[0], cells = rows.dims()[1] - 1;
  Examples split = {.inputs = NdArray(DType::kF32, {count, cells}),
                    .classes = NdArray(DType::kF32, {count})};
  const auto inputs = split.inputs.values<float>();
  const auto classes = split.classes.values<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i * (cells + 1);
    for (int64_t k = 0; k < cells; ++k) {
      inputs[i * cells + k] = static_cast<float>(rows.AsDouble(row + k));
    }
    classes[i] = static_cast<float>(rows.AsDouble(row + cells));
  }
  return split;
}

absl::StatusOr<Examples> Load(const std::string& path,
                              const train::DataLimit& limit) {
  if (absl::EndsWith(path, ".npz")) {
    OCANNL_ASSIGN_OR_RETURN(std::vector<NdArray> arrays,
                            train::LoadArrays(path, {"x", "y"}, limit));
    return Examples{.inputs = std::move(arrays[0]),
                    .classes = std::move(arrays[1])};
  }
  absl::StatusOr<NdArray> array = train::LoadArray(path, limit);
  if (absl::IsUnimplemented(array.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": its name must end in ", ImageEnds()));
  }
  OCANNL_RETURN_IF_ERROR(array.status());
  if (!absl::StrContains(path, "-ubyte")) {
    if (array->dims().size() == 2 && array->dims()[1] > 1) {
      return SplitRows(*array);
    }
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": rows must be cells and a class"));
  }
  OCANNL_ASSIGN_OR_RETURN(
      NdArray classes,
      train::LoadArray(
          absl::StrReplaceAll(path, {{"images", "labels"}, {"idx3", "idx1"}}),
          limit));
  return Examples{.inputs = *std::move(array), .classes = std::move(classes)};
}

// As f32 {count, side, side, 1}, of which the greatest is 1.
absl::StatusOr<NdArray> Images(const NdArray& array, const std::string& path) {
  const int64_t count = array.dims().empty() ? 0 : array.dims()[0];
  const int64_t cells = count == 0 ? 0 : array.size() / count;
  const auto side = static_cast<int64_t>(std::sqrt(cells));
  if (cells == 0 || side * side != cells) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": images of ", cells, " cells; they must be square"));
  }
  NdArray images(DType::kF32, {count, side, side, 1});
  double most = 0;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double cell = array.AsDouble(i);
    if (!(std::abs(cell) <= std::numeric_limits<float>::max())) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": image ", i / cells, " has a cell of ",
                       NumberText(cell), "; cells are finite floats"));
    }
    most = std::max(most, std::abs(cell));
  }
  const auto values = images.values<float>();
  for (int64_t i = 0; i < array.size(); ++i) {
    values[i] = static_cast<float>(array.AsDouble(i) / (most > 0 ? most : 1));
  }
  return images;
}

absl::StatusOr<NdArray> Classes(const NdArray& array, int64_t count,
                                const std::string& path) {
  if (array.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", array.size(), " classes for ", count, " images"));
  }
  NdArray classes(DType::kI32, {count});
  for (int64_t i = 0; i < count; ++i) {
    const double id = array.AsDouble(i);
    if (!(id >= 0 && id < 1000) || id != std::floor(id)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": image ", i, " has the class ", id,
                       "; classes are 0, 1, ... and below 1000"));
    }
    classes.values<int32_t>()[i] = static_cast<int32_t>(id);
  }
  return classes;
}

}  // namespace

std::string ImageEnds() { return absl::StrCat(".npz, ", train::kArrayEnds); }

absl::StatusOr<Lessons> LoadImages(const std::string& path, uint32_t seed,
                                   const train::DataLimit& limit) {
  absl::StatusOr<Examples> loaded = Load(path, limit);
  if (absl::IsNotFound(loaded.status()) && path == kSklearnDigits) {
    return absl::NotFoundError(absl::StrCat(
        loaded.status().message(),
        "; `apt-get install python3-sklearn` brings it, or give --data"));
  }
  OCANNL_RETURN_IF_ERROR(loaded.status());
  OCANNL_ASSIGN_OR_RETURN(const NdArray images, Images(loaded->inputs, path));
  const int64_t count = images.dims()[0];
  OCANNL_ASSIGN_OR_RETURN(const NdArray classes,
                          Classes(loaded->classes, count, path));
  const auto ids = classes.values<int32_t>();
  const int64_t most = *std::max_element(ids.begin(), ids.end()) + 1;
  if (most < 2 || count < kTestShare) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", count, " images of ", most, " classes are too few"));
  }
  const std::vector<int32_t> all = train::ShuffledOrder(count, seed);
  const auto tests = static_cast<size_t>(count / kTestShare);
  const auto rows = absl::MakeSpan(all);
  auto take = [&](absl::Span<const int32_t> of) {
    return Examples{.inputs = train::TakeRows(images, of),
                    .classes = train::TakeRows(classes, of)};
  };
  return Lessons{.train = take(rows.subspan(tests)),
                 .test = take(rows.subspan(0, tests)),
                 .classes = most};
}

}  // namespace ocannl
