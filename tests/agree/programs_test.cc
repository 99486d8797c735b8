// SPDX-License-Identifier: Apache-2.0
//
// Programs picked by hand, programs/*.ll, on every tier.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/interp/run_log.h"
#include "ocannl/interp/tree_backend.h"
#include "tests/agree/all_tiers.h"

namespace ocannl::fuzz {
namespace {

// A run that is watched leaves the interpreter's bits too.
std::string DifferenceWhenLogged(const LoopProgram& program) {
  const std::string path = testing::TempDir() + "/" + program.name + ".log";
  auto log = interp::RunLog::Open(path, /*most_lines=*/1000);
  CHECK_OK(log);
  std::vector<std::unique_ptr<interp::RunObserver>> observers;
  observers.push_back(*std::move(log));
  const interp::TreeBackend watched(std::move(observers));
  return Trial(program, FillKind::kZoo, /*seed=*/1).Try(watched);
}

class ProgramTest : public testing::Test {
 public:
  explicit ProgramTest(std::string path) : path_(std::move(path)) {}

  void TestBody() override {
    absl::StatusOr<std::string> text = ReadFile(path_);
    ASSERT_TRUE(text.ok()) << text.status();
    absl::StatusOr<LoopProgram> program = Parse(*text);
    ASSERT_TRUE(program.ok()) << program.status();
    ASSERT_TRUE(VerifyPromises(*program).ok()) << VerifyPromises(*program);
    EXPECT_TRUE(TiersAgree(*program));
    EXPECT_EQ(DifferenceWhenLogged(*program), "");
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
