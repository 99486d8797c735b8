// SPDX-License-Identifier: Apache-2.0
//
// Files of data as somebody hostile would write them: small ones that
// decompress to much, and changed ones. Each is refused or used, in a child
// with a limit of time and memory. About 8 s.
#include <sys/resource.h>
#include <sys/time.h>
#include <zip.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "experiments/nets/image_files.h"
#include "experiments/nets/letters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/runtime/npy.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/data/files.h"
#include "tests/support/mutated.h"
#include "zlib.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kMostMemory = 700 * kMiB;
constexpr int kSecondsOfOne = 10;  // of the processor

std::string PathOf(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

// What `run` returns in a child that may not take too long or too much.
std::string InChild(const std::function<std::string()>& run,
                    int64_t most_memory = kMostMemory) {
  const fuzz::ChildResult child = fuzz::RunInChild(60, [&]() -> std::string {
    itimerval time = {};
    time.it_value.tv_sec = kSecondsOfOne;
    CHECK_EQ(setitimer(ITIMER_PROF, &time, nullptr), 0);
    std::string text = run();
    rusage usage = {};
    CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(int64_t{usage.ru_maxrss} << 10 <= most_memory)
        << usage.ru_maxrss << " KiB";
#endif
    return text;
  });
  EXPECT_FALSE(child.died) << child.text;
  return child.text;
}

// The message of the error of `use`, or nothing.
std::string ErrorOf(const std::function<absl::Status()>& use) {
  return InChild([&] { return std::string(use().message()); });
}

// A gzip file of `front` and then `part` again and again, `mib` in all.
std::string GzipBomb(const std::string& name, const std::string& front,
                     const std::string& part, int64_t mib) {
  const std::string path = PathOf(name);
  std::string block;
  while (mib > 0 && static_cast<int64_t>(block.size()) < kMiB) block += part;
  gzFile file = gzopen(path.c_str(), "wb1");
  CHECK_EQ(gzwrite(file, front.data(), front.size()), front.size());
  for (int64_t k = 0; k < mib; ++k) {
    CHECK_EQ(gzwrite(file, block.data(), block.size()), block.size());
  }
  CHECK_EQ(gzclose(file), Z_OK);
  return path;
}

// An .npz file of zeros, compressed as numpy.savez_compressed does.
std::string ZipBomb(const std::string& name, int64_t images, int64_t cells) {
  const std::string path = PathOf(name);
  const std::string x = *FormatNpy(NdArray(DType::kU8, {images, cells}));
  const std::string y = *FormatNpy(NdArray(DType::kU8, {images}));
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  CHECK(archive != nullptr) << code;
  for (const auto& [member, bytes] :
       {std::pair("x.npy", &x), std::pair("y.npy", &y)}) {
    const zip_int64_t index = zip_file_add(
        archive, member,
        zip_source_buffer(archive, bytes->data(), bytes->size(), 0), 0);
    CHECK_GE(index, 0);
    CHECK_EQ(zip_set_file_compression(archive, index, ZIP_CM_DEFLATE, 1), 0);
  }
  CHECK_EQ(zip_close(archive), 0);
  return path;
}

TEST(HostileDataTest, BombsAreRefused) {
  const std::string idx_front("\0\0\x08\x02\0\0\x01\0\0\x10\0\0", 12);
  const std::string npy = FormatNpy(NdArray(DType::kU8, {1}))->substr(0, 128);
  const std::string csv = GzipBomb("b.csv.gz", "", "0,0,0,0,0,0,0,0\n", 80);
  const std::string zip = ZipBomb("b.npz", 80, kMiB);
  for (const std::string& path :
       {csv, GzipBomb("b.tsv.gz", "", "0\t0\n", 80),
        GzipBomb("line.csv.gz", "", "0,", 80),
        GzipBomb("b-images-ubyte.gz", idx_front, std::string(64, '\0'), 80),
        GzipBomb("b.npy.gz", npy, std::string(64, '\0'), 80), zip}) {
    EXPECT_LT(train::FileBytes(path), 2 * kMiB) << path;
    const std::string error =
        ErrorOf([&] { return LoadImages(path, 1).status(); });
    EXPECT_THAT(
        error,
        HasSubstr(absl::StrCat(
            path, ": its ", train::FileBytes(path),
            " bytes decompress to more than 64 MiB, the limit; if you trust "
            "the file, decompress it, or raise the limit by "
            "--data_limit=MIB")));
  }
  const std::string names = GzipBomb("names.gz", "", "Anna\n", 80);
  EXPECT_THAT(ErrorOf([&] { return LoadNames(names).status(); }),
              HasSubstr("more than 64 MiB"));
  EXPECT_EQ(ErrorOf([&] { return train::ReadData(csv, {.mib = 96}).status(); }),
            "");
  EXPECT_EQ(ErrorOf([&] {
              return train::LoadArrays(zip, {"x"}, {.mib = 96}).status();
            }),
            "");
}

// What is just within the limit is used.
TEST(HostileDataTest, MemoryOfWhatIsWithinTheLimit) {
  const std::string csv = GzipBomb("m.csv.gz", "", "0,1,0,1,0,1,0,1\n", 16);
  EXPECT_EQ(ErrorOf([&] { return train::LoadArray(csv).status(); }), "");
}

TEST(HostileDataTest, TwoMillionNames) {
  std::string names;
  std::mt19937_64 random(49);
  for (int k = 0; k < 2'000'000; ++k) {
    names += static_cast<char>('A' + random() % 26);
    for (int i = 0; i < 6; ++i) {
      names += static_cast<char>('a' + random() % 26);
    }
    names += '\n';
  }
  const std::string path = PathOf("names");
  CHECK_OK(WriteFile(path, names));
  const std::string seconds = InChild(
      [&]() -> std::string {
        auto words = LoadNames(path);
        CHECK_OK(words);
        const Alphabet alphabet(absl::StrCat(names, "."));
        const Lessons lessons = NameLessons(*words, alphabet, 8, 1);
        CHECK_EQ(lessons.train.classes.size() + lessons.test.classes.size(),
                 2'000'000 * 8);
        rusage usage = {};
        CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
        return absl::StrCat(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
      },
      2000 * kMiB);
  int64_t whole = 0;
  EXPECT_TRUE(absl::SimpleAtoi(seconds, &whole)) << seconds;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(whole, 4);
#endif
}

TEST(HostileDataTest, ManyFilesOfOneFolder) {
  const std::string folder = PathOf("texts");
  std::filesystem::create_directory(folder);
  for (int k = 0; k < 3; ++k) {
    GzipBomb(absl::StrCat("texts/", k, ".gz"), "", "a text ", 30);
  }
  EXPECT_THAT(ErrorOf([&] { return LoadTexts(folder).status(); }),
              HasSubstr("bytes decompress to more than 64 MiB"));
  EXPECT_EQ(ErrorOf([&] { return LoadTexts(folder, {.mib = 91}).status(); }),
            "");
}

// Cells that are no finite floats, in every format.
TEST(HostileDataTest, ImagesAreFinite) {
  for (const char* cell : {"nan", "inf", "-inf", "1e39"}) {
    const std::string path = PathOf("c.csv");
    const std::string four = "0,1,1,0,1\n0,1,1,0,0\n0,1,1,0,1\n0,1,1,0,0\n";
    const std::string rows = absl::StrCat(four, "1,1,", cell, ",0,1\n", four);
    CHECK_OK(WriteFile(path, rows));
    EXPECT_THAT(ErrorOf([&] { return LoadImages(path, 1).status(); }),
                HasSubstr("c.csv: image 4 has a cell of "))
        << cell;
  }
  const std::string path = PathOf("f64.npy");
  NdArray rows(DType::kF64, {8, 5});
  rows.values<double>()[7] = 1e39;
  CHECK_OK(WriteNpy(path, rows));
  EXPECT_THAT(ErrorOf([&] { return LoadImages(path, 1).status(); }),
              testing::Not(""));
}

TEST(HostileDataTest, ChangedFiles) {
  std::string csv;
  for (int k = 0; k < 12; ++k) absl::StrAppend(&csv, "0,1,2,3,", k % 2, "\n");
  const std::string idx = absl::StrCat(
      std::string("\0\0\x08\x03\0\0\0\x0c\0\0\0\x02\0\0\0\x02", 16),
      std::string(48, '\1'));
  const std::string zip = ZipBomb("seed.npz", 12, 4);
  std::vector<std::pair<std::string, std::string>> seeds = {
      {"s.csv", csv},
      {"s-images-ubyte", idx},
      {"s.npy", *FormatNpy(NdArray(DType::kF32, {12, 5}))},
      {"s.npz", *ReadFile(zip)},
      {"s.csv.gz", *ReadFile(GzipBomb("seed.csv.gz", csv, "", 0))}};
  std::mt19937_64 random(49);
  for (const auto& [name, bytes] : seeds) {
    const std::string path = PathOf(name);
    std::vector<std::string> changed;
    for (int k = 0; k < 60; ++k) changed.push_back(Mutated(bytes, csv, random));
    ErrorOf([&] {
      for (const std::string& each : changed) {
        CHECK_OK(WriteFile(path, each));
        (void)LoadImages(path, 1);
        (void)LoadNames(path);
      }
      return absl::OkStatus();
    });
  }
}

}  // namespace
}  // namespace ocannl
