// SPDX-License-Identifier: Apache-2.0
#include "tests/checkpoint/samples.h"

#include <bit>
#include <filesystem>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl {

std::vector<train::NamedArray> SampleArrays(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<train::NamedArray> arrays;
  auto add = [&](DType dtype) {
    NdArray array(dtype, {2, 3});
    for (size_t k = 0; k < array.bytes(); ++k) {
      array.data()[k] = std::byte(random());
      if (dtype == DType::kBool) array.data()[k] &= std::byte{1};
    }
    arrays.emplace_back(Name(dtype), array);
  };
  for (DType dtype : kDTypes) add(dtype);
  arrays.emplace_back("a scalar", NdArray::Of<double>({}, {-0.0}));
  arrays.emplace_back("w1.empty", NdArray(DType::kF64, {0, 3}));
  arrays.emplace_back(
      "nans", NdArray::Of<float>({3}, {std::bit_cast<float>(0x7fc12345u),
                                       std::bit_cast<float>(0xff800001u),
                                       std::bit_cast<float>(0xffffffffu)}));
  return arrays;
}

std::vector<Array> ArraysOf(absl::Span<const train::NamedArray> values) {
  std::vector<Array> arrays;
  for (const auto& [name, value] : values) {
    arrays.push_back(
        {.name = name, .dtype = value.dtype(), .dims = value.dims()});
  }
  return arrays;
}

Place::Place(absl::Span<const train::NamedArray> values) {
  CHECK_OK(context.WriteAll(values));
}

std::string Contents(const Context& context) {
  std::string contents;
  for (const std::string& name : context.ArrayNames()) {
    absl::StatusOr<NdArray> value = context.Read(name);
    absl::StrAppend(&contents, name, " ");
    if (!value.ok()) continue;  // never written
    absl::StrAppend(&contents, DescribeArray(value->dtype(), value->dims()),
                    value->AsString());
  }
  return contents;
}

std::string NewFolder(const std::string& name) {
  std::string folder = absl::StrCat(testing::TempDir(), "/", name);
  std::filesystem::remove_all(folder);
  CHECK_OK(MakeDirectory(folder));
  return folder;
}

}  // namespace ocannl
