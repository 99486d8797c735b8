// SPDX-License-Identifier: Apache-2.0

// The main function of a group of tests (cc_test_group of tools/cc.bzl). It
// runs the tests of the source whose name the program was called by.

#include <cstdio>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

std::string NameOf(const char* path) {
  return std::filesystem::path(path).filename().string();
}

// Patterns for the tests of all other sources, with a colon between them. The
// number of tests of `source` is added to `count`.
std::string OthersThan(const std::string& source, int& count) {
  std::string patterns;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    const std::string prefix = std::string(suite.name()) + ".";
    std::string others;
    bool has_own = false;
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (NameOf(test.file()) == source) {
        has_own = true;
        ++count;
      } else {
        others += ":" + prefix + test.name();
      }
    }
    patterns += has_own ? others : ":" + prefix + "*";
  }
  return patterns.empty() ? patterns : patterns.substr(1);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  const std::string source = NameOf(argv[0]) + ".cc";
  int count = 0;
  const std::string others = OthersThan(source, count);
  if (count == 0) {
    std::fprintf(stderr,
                 "%s: no test of %s is linked. Call the program of a group of "
                 "tests by the name of a source of it.\n",
                 argv[0], source.c_str());
    return 1;
  }
  if (!others.empty()) {
    // What follows the first `-` of a filter is left out.
    std::string& filter = testing::GTEST_FLAG(filter);
    filter += (filter.find('-') == filter.npos ? "-" : ":") + others;
  }
  return RUN_ALL_TESTS();
}
