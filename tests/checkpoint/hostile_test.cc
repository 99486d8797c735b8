// SPDX-License-Identifier: Apache-2.0
//
// Damaged and hostile files: every truncation and bit flip of valid ones, and
// random changes. None crashes the reader, none restores a part of a model.
//
//   CHECKPOINT_RUNS=1000000 CHECKPOINT_SEED=7 bazel-bin/.../hostile_test
#include <malloc.h>
#include <zip.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "tests/checkpoint/samples.h"

// The bytes of C++ objects that were there at once.
static size_t live_bytes = 0;
static size_t most_bytes = 0;

void* operator new(size_t size, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(std::max<size_t>(size, 1));
  live_bytes += malloc_usable_size(memory);
  most_bytes = std::max(most_bytes, live_bytes);
  return memory;
}
void* operator new(size_t size) {
  void* memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace ocannl {
namespace {

using testing::HasSubstr;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  int64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number
                                                            : otherwise;
}

// As numpy.savez_compressed: what WriteNpz wrote, deflated.
void Deflate(const std::string& from, const std::string& to) {
  zip_t* source = zip_open(from.c_str(), ZIP_RDONLY, nullptr);
  zip_t* target = zip_open(to.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  CHECK(source != nullptr && target != nullptr);
  for (int64_t k = 0; k < zip_get_num_entries(source, 0); ++k) {
    zip_source_t* data = zip_source_zip(target, source, k, 0, 0, -1);
    CHECK_EQ(zip_file_add(target, zip_get_name(source, k, 0), data, 0), k);
    CHECK_EQ(zip_set_file_compression(target, k, ZIP_CM_DEFLATE, 9), 0);
  }
  CHECK_EQ(zip_close(target), 0);
  zip_discard(source);
}

// Restores files with arrays like those of `Samples()` into one place.
class Restorer {
 public:
  static std::vector<train::NamedArray> Samples() {
    std::vector<train::NamedArray> values = SampleArrays(1);
    values.erase(values.begin() + 2, values.begin() + 9);
    return values;
  }

  Restorer() : values_(Samples()), wrong_(values_) {
    for (auto& [name, value] : wrong_) {
      std::fill_n(value.data(), value.bytes(), std::byte{1});
    }
    right_bits_ = Contents(Place(values_).context);
    CHECK_OK(place_.context.WriteAll(wrong_));
    wrong_bits_ = Contents(place_.context);
  }

  // Whether the file is restored. If not, no value may have changed; if so,
  // and `exact`, all must be the right ones.
  bool Restores(const std::string& path, bool exact) {
    const size_t before = live_bytes;
    most_bytes = live_bytes;
    const absl::Status status =
        train::RestoreParams(path, ArraysOf(values_), place_.context);
    const size_t file_bytes = ReadFile(path)->size();
    EXPECT_LT(most_bytes - before, file_bytes + (16 << 20)) << status;
    const std::string bits = Contents(place_.context);
    if (!status.ok()) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(path));
      EXPECT_TRUE(bits == wrong_bits_) << status;
      return false;
    }
    EXPECT_TRUE(!exact || bits == right_bits_);
    CHECK_OK(place_.context.WriteAll(wrong_));
    return true;
  }

 private:
  std::vector<train::NamedArray> values_;
  std::vector<train::NamedArray> wrong_;
  std::string right_bits_;
  std::string wrong_bits_;
  Place place_;
};

class HostileTest : public testing::TestWithParam<std::string> {
 protected:
  HostileTest() {
    const std::vector<train::NamedArray> values = Restorer::Samples();
    const std::string name = GetParam();
    path_ = absl::StrCat(folder_, "/", name);
    const std::string saved =
        name == "deflated.npz" ? folder_ + "/saved.npz" : path_;
    CHECK_OK(train::SaveParams(saved, ArraysOf(values), Place(values).context));
    if (saved != path_) Deflate(saved, path_);
    valid_ = *ReadFile(path_);
  }

  bool Restores(const std::string& bytes, bool exact = true) {
    // File systems sync what is written over another file.
    std::filesystem::remove(path_);
    CHECK_OK(WriteFile(path_, bytes));
    return restorer_.Restores(path_, exact);
  }

  std::string folder_ = NewFolder("hostile");
  std::string path_;
  std::string valid_;
  Restorer restorer_;
};

INSTANTIATE_TEST_SUITE_P(All, HostileTest,
                         testing::Values("stored.npz", "deflated.npz",
                                         "arrays.safetensors"),
                         [](const auto& test) {
                           return test.param.substr(0, test.param.find('.'));
                         });

TEST_P(HostileTest, NoTruncationIsRestored) {
  EXPECT_TRUE(Restores(valid_));
  for (size_t size = 0; size < valid_.size(); ++size) {
    EXPECT_FALSE(Restores(valid_.substr(0, size))) << size;
  }
  EXPECT_FALSE(Restores(valid_ + "x"));
}

TEST_P(HostileTest, NoFlipOfABitChangesAValue) {
  int restored = 0;
  for (size_t bit = 0; bit < 8 * valid_.size(); ++bit) {
    std::string bytes = valid_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    restored += Restores(bytes);
  }
  std::printf("%zu flips, %d of them restored\n", 8 * valid_.size(), restored);
  EXPECT_LT(restored, static_cast<int>(valid_.size()) * 4);
}

// Some bytes become others, go, or come from elsewhere in the file.
std::string Mutated(std::string bytes, std::mt19937_64& random) {
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const char edges[] = {'\0', '\xff', '\x7f', '\x80', '"', '[', '{', '0'};
  for (size_t left = 1 + below(4); left > 0 && !bytes.empty(); --left) {
    const size_t at = below(bytes.size());
    const size_t size = 1 + below(std::min<size_t>(16, bytes.size() - at));
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        std::fill_n(bytes.begin() + at, size, edges[below(sizeof(edges))]);
        break;
      case 2:
        bytes.erase(at, size);
        break;
      case 3:
        bytes.insert(below(bytes.size()), bytes.substr(at, size));
        break;
      case 4:
        bytes.replace(below(bytes.size()), size, bytes.substr(at, size));
        break;
    }
  }
  return bytes;
}

TEST_P(HostileTest, RandomChanges) {
  const int64_t runs = FromEnvironment("CHECKPOINT_RUNS", 3000);
  const int64_t seed = FromEnvironment("CHECKPOINT_SEED", 1);
  std::printf("seed %" PRId64 ", %" PRId64 " runs\n", seed, runs);
  // Whoever damages the hash of an array too may change its values.
  const bool exact = GetParam() != "arrays.safetensors";
  int64_t restored = 0;
  for (int64_t run = 0; run < runs && !HasFailure(); ++run) {
    std::mt19937_64 random(seed + run);
    restored += Restores(Mutated(valid_, random), exact);
    if (HasFailure()) std::printf("seed %" PRId64 " failed\n", seed + run);
  }
  std::printf("%" PRId64 " of them restored\n", restored);
}

class HostileSafetensorsTest : public testing::Test {
 protected:
  // What is said of a file with such a header; "" if it has a valid array w.
  std::string ErrorOf(const std::string& header, uint64_t length,
                      const std::string& numbers = "12345678") {
    std::string bytes(sizeof(length), '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    absl::StrAppend(&bytes, header, numbers);
    CHECK_OK(WriteFile(path_, bytes));
    const Place place;
    const size_t before = live_bytes;
    most_bytes = live_bytes;
    const absl::Status status = train::RestoreParams(path_, w_, place.context);
    EXPECT_LT(most_bytes - before, bytes.size() + (16 << 20)) << status;
    EXPECT_EQ(Contents(place.context).empty(), !status.ok());
    return std::string(status.message());
  }
  std::string ErrorOf(const std::string& header) {
    return ErrorOf(header, header.size());
  }

  // That of an array w with such places of its numbers.
  std::string Header(const std::string& offsets,
                     const std::string& metadata = "") {
    return absl::StrCat("{", metadata, R"("w":{"dtype":"F32","shape":[2],)",
                        R"("data_offsets":)", offsets, "}}");
  }

  std::string path_ = NewFolder("safetensors") + "/m.safetensors";
  std::vector<Array> w_ = {{.name = "w", .dtype = DType::kF32, .dims = {2}}};
};

TEST_F(HostileSafetensorsTest, WithoutAHeader) {
  const std::string none = "no whole header of at most 524288 bytes";
  CHECK_OK(WriteFile(path_, "1234"));
  EXPECT_THAT(
      std::string(train::RestoreParams(path_, w_, Place().context).message()),
      HasSubstr(none));
  for (uint64_t length : {uint64_t{9}, uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_THAT(ErrorOf("12345678", length, ""), HasSubstr(none));
  }
  EXPECT_THAT(ErrorOf(std::string(2 << 20, ' ')), HasSubstr(none));
  for (const std::string& header :
       {std::string(1 << 19, '['), std::string("[]"), std::string("{"),
        Header("[[[0]],8]"), std::string(), Header("[0,8]") + "x"}) {
    EXPECT_THAT(ErrorOf(header),
                HasSubstr("is not that of a .safetensors file"));
  }
}

// JSON that takes much more memory than text.
TEST_F(HostileSafetensorsTest, MemoryIsBounded) {
  for (const std::string part : {"\"w\":0,", "\"\":{},", "\"w\":[0],"}) {
    std::string header = "{";
    while (header.size() < (1 << 19) - 100) header += part;
    EXPECT_THAT(ErrorOf(header + "\"w\":0}"), HasSubstr("two arrays `"));
  }
  std::string ones = "{\"w\":{\"shape\":[1";
  while (ones.size() < (1 << 19) - 100) ones += ",1";
  EXPECT_THAT(ErrorOf(ones + "]}}"), HasSubstr("not just dtype, shape"));
  std::string names = "{\"0\":0";
  for (int k = 1; names.size() < (1 << 19) - 100; ++k) {
    absl::StrAppend(&names, ",\"", absl::Hex(k), "\":0");
  }
  EXPECT_THAT(ErrorOf(names + "}"), HasSubstr("it has no `w`"));
}

TEST_F(HostileSafetensorsTest, TimeGrowsWithTheHeader) {
  auto seconds = [&](size_t size) {
    std::string header = "{\"0\":{}";
    for (int k = 1; header.size() < size; ++k) {
      absl::StrAppend(&header, ",\"", absl::Hex(k), "\":{}");
    }
    const std::clock_t start = std::clock();
    EXPECT_THAT(ErrorOf(header + "}"), HasSubstr("it has no `w`"));
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const size_t most = (1 << 19) - 100;
  EXPECT_LT(seconds(most), 40 * seconds(most / 8) + 0.5);
}

TEST_F(HostileSafetensorsTest, ErrorsNameTheFault) {
  EXPECT_EQ(ErrorOf(Header("[0,8]")), "");
  EXPECT_THAT(ErrorOf(Header("[0,8]", R"("w":0,)")),
              HasSubstr("two arrays `w`"));
  EXPECT_THAT(ErrorOf(Header("[0,8]", R"("v\u0000":0,)")),
              HasSubstr("has `v\\x00`, which"));
  EXPECT_THAT(ErrorOf("{\"w\":0}"), HasSubstr("`w` has not just dtype, shape"));
  EXPECT_THAT(ErrorOf(R"({"w":{"dtype":0,"shape":[],"x":0}})"),
              HasSubstr("`w` has not just dtype, shape"));
  for (const std::string dtype : {"\"I8\"", "\"F_32\"", "0", "{}"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("{\"w\":{\"dtype\":", dtype,
                                     ",\"shape\":[],\"data_offsets\":[0,0]}}")),
                HasSubstr("`w` has a dtype other than bool, u8"));
  }
  for (const std::string offsets : {"[0]", "0", "[0,-8]", "[0,8.0]", "[\"\",8]",
                                    "[0,9223372036854775808]", "[0,1e400]"}) {
    EXPECT_NE(ErrorOf(Header(offsets)), "");
  }
  EXPECT_THAT(ErrorOf(Header("[0,8.0]")),
              HasSubstr("`w` has no valid shape or data_offsets"));
  for (const std::string offsets : {"[8,0]", "[0,0]", "[0,16]"}) {
    EXPECT_THAT(ErrorOf(Header(offsets)),
                HasSubstr("`w` has another number of bytes than its shape"));
  }
  EXPECT_THAT(ErrorOf(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],)"
                      R"("data_offsets":[0,0]}})"),
              HasSubstr("not f32[2]: the shape differs"));
  for (const std::string offsets : {"[1,9]", "[8,16]"}) {
    EXPECT_THAT(ErrorOf(Header(offsets)), HasSubstr("end elsewhere"));
  }
  const std::string header = Header("[0,8]");
  EXPECT_THAT(ErrorOf(header, header.size(), "123456789"),
              HasSubstr("end elsewhere"));
}

TEST_F(HostileSafetensorsTest, MetadataOfOthersAreIgnored) {
  for (const std::string metadata :
       {"0", "[]", "{}", R"({"a":{"b":0}})", R"({"xxh3_64 v":"0"})"}) {
    EXPECT_EQ(ErrorOf(Header("[0,8]",
                             absl::StrCat("\"__metadata__\":", metadata, ","))),
              "");
  }
  EXPECT_THAT(ErrorOf(Header("[0,8]", R"("__metadata__":{"xxh3_64 w":"0"},)")),
              HasSubstr("`w` is damaged"));
}

// Asking for an f32 array w takes little memory.
void ExpectError(const std::string& path, const Dims& dims,
                 const std::string& part) {
  const Place place;
  const size_t before = live_bytes;
  most_bytes = live_bytes;
  const absl::Status status = train::RestoreParams(
      path, {{.name = "w", .dtype = DType::kF32, .dims = dims}}, place.context);
  EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  EXPECT_LT(most_bytes - before, 1u << 20);
}

// 64 MiB of zeros that the file has in 64 KiB.
TEST(HostileNpzTest, WhatIsInflatedIsBounded) {
  const std::string folder = NewFolder("npz");
  const std::vector<train::NamedArray> large = {
      {"w", NdArray(DType::kF32, {1 << 24})}};
  const std::string saved = folder + "/saved.npz";
  CHECK_OK(train::SaveParams(saved, ArraysOf(large), Place(large).context));
  const std::string bomb = folder + "/bomb.npz";
  Deflate(saved, bomb);
  EXPECT_LT(ReadFile(bomb)->size(), 1u << 17);
  ExpectError(bomb, {2}, "`w` is f32[16777216], not f32[2]: the shape differs");
}

TEST(HostileNpzTest, PromisesAreChecked) {
  const std::string path = NewFolder("npz") + "/small.npz";
  const std::vector<train::NamedArray> small = {
      {"w", NdArray(DType::kF32, {2})}};
  CHECK_OK(train::SaveParams(path, ArraysOf(small), Place(small).context));
  std::string bytes = *ReadFile(path);
  // The size of a member stands twice in the two headers that it has.
  for (size_t at : {bytes.find("PK\3\4") + 22, bytes.find("PK\1\2") + 24}) {
    ASSERT_EQ(bytes[at], static_cast<char>(128 + 8));
    bytes[at + 3] = 1 << 6;
  }
  CHECK_OK(WriteFile(path, bytes));
  ExpectError(path, {1 << 28}, "small.npz`: ");
}

// A dtype that may differ is not the fault.
TEST(HostileSafetensors, TruncatedFilesAreConverted) {
  const std::string path = NewFolder("wide") + "/wide.safetensors";
  const std::vector<train::NamedArray> wide = {{"w", {DType::kF64, {2}}}};
  CHECK_OK(train::SaveParams(path, ArraysOf(wide), Place(wide).context));
  CHECK_OK(WriteFile(path, ReadFile(path)->substr(0, 60)));
  const train::RestoreOptions options = {.convert = true};
  const Array w = {.name = "w", .dtype = DType::kF32, .dims = {2}};
  const auto damage = train::RestoreParams(path, {w}, Place().context, options);
  EXPECT_THAT(std::string(damage.message()), Not(HasSubstr("precision")));
}

}  // namespace
}  // namespace ocannl
