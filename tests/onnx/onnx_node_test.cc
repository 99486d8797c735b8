// SPDX-License-Identifier: Apache-2.0
//
// The node tests of ONNX: for each operator, models of mostly one node with
// their inputs and expected outputs. They are in Debian's package
// libonnx-testdata; without it this test is skipped. Every case must pass or be
// unsupported by the import.
//
//   bazel run //tests/onnx:onnx_node_test -- test_conv [FOLDER]
//
// tells why cases of these names do not pass. Newer cases than Debian's can be
// in FOLDER.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "ocannl/onnx/rules/operators.h"
#include "tests/onnx/run_case.h"

namespace ocannl::onnx {
namespace {

std::string cases = "/usr/share/libonnx-testdata/data/node";
// Of the 932 of version 1.12.
constexpr int kPassing = 831;

struct Counts {
  int passed = 0, failed = 0, unsupported = 0;

  Counts& operator+=(const Counts& other) {
    passed += other.passed;
    failed += other.failed;
    unsupported += other.unsupported;
    return *this;
  }
};

std::string wanted;

std::vector<std::string> Folders() {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    const std::string name = entry.path().filename();
    if (absl::StartsWith(name, wanted)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

void Print(const std::string& name, const Counts& counts) {
  std::cout << absl::StreamFormat(
      "%-28s %4d passed %4d failed %4d unsupported\n", name, counts.passed,
      counts.failed, counts.unsupported);
}

// By operation, then by theme, then all.
Counts PrintTable(const std::map<std::string, Counts>& by_op) {
  std::map<std::string, Counts> by_theme;
  Counts all;
  for (const auto& [op, counts] : by_op) {
    Print(op, counts);
    const Operator* known = FindOperator(op);
    by_theme[known == nullptr ? "without a rule" : std::string(known->theme)] +=
        counts;
    all += counts;
  }
  std::cout << "\n";
  for (const auto& [theme, counts] : by_theme) Print(theme, counts);
  Print("all", all);
  return all;
}

TEST(OnnxNodeTest, Cases) {
  if (!std::filesystem::exists(cases)) {
    GTEST_SKIP() << "no " << cases << "; install libonnx-testdata";
  }
  std::map<std::string, Counts> by_op;
  for (const std::string& folder : Folders()) {
    const std::string op = OpOfCase(folder);
    Counts& counts = by_op[op];
    const absl::Status status = RunCase(folder, op);
    if (status.ok()) {
      ++counts.passed;
    } else if (absl::IsUnimplemented(status)) {
      ++counts.unsupported;
      if (!wanted.empty()) std::cout << folder << ": " << status << "\n";
    } else {
      ++counts.failed;
      ADD_FAILURE() << folder << ": " << status;
    }
  }
  const Counts all = PrintTable(by_op);
  EXPECT_GE(all.passed, wanted.empty() ? kPassing : 0);
}

}  // namespace
}  // namespace ocannl::onnx

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) ocannl::onnx::wanted = argv[1];
  if (argc > 2) ocannl::onnx::cases = argv[2];
  return RUN_ALL_TESTS();
}
