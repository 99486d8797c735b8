// SPDX-License-Identifier: Apache-2.0
//
// Programs picked by hand, programs/*.ll, on every tier.
#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/verify.h"
#include "tests/agree/all_tiers.h"

namespace ocannl::fuzz {
namespace {

class ProgramTest : public testing::Test {
 public:
  explicit ProgramTest(std::string path) : path_(std::move(path)) {}

  void TestBody() override {
    absl::StatusOr<std::string> text = ReadFile(path_);
    ASSERT_TRUE(text.ok()) << text.status();
    absl::StatusOr<LoopProgram> program = Parse(*text);
    ASSERT_TRUE(program.ok()) << program.status();
    ASSERT_TRUE(Verify(*program).ok()) << Verify(*program);
    EXPECT_TRUE(TiersAgree(*program));
  }

 private:
  std::string path_;
};

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/agree/programs")) {
    std::string path = entry.path().string();
    testing::RegisterTest(
        "Programs", entry.path().stem().c_str(), nullptr, nullptr, __FILE__,
        __LINE__, [path]() -> testing::Test* { return new ProgramTest(path); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace ocannl::fuzz

int main(int argc, char** argv) { return ocannl::fuzz::Main(argc, argv); }
