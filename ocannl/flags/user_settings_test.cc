// SPDX-License-Identifier: Apache-2.0
#include "ocannl/flags/user_settings.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class UserSettingsTest : public testing::Test {
 protected:
  ~UserSettingsTest() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }

  void Set(const std::string& name, const std::string& value) {
    names_.push_back(name);
    setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
  }

  std::string Error() {
    return std::string(FindUserSettings().status().message());
  }

 private:
  std::vector<std::string> names_;
};

TEST_F(UserSettingsTest, OfTheEnvironment) {
  Set("OCANNL_TIER", "interp");
  Set("OCANNL_SKIP", "simplify");
  Set("OCANNL_TIER_REPORT", "true");
  absl::StatusOr<UserSettings> settings = FindUserSettings();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->backend->name(), "interp");
  EXPECT_THAT(settings->passes.skip, ElementsAre("simplify"));
  EXPECT_TRUE(settings->tier_report);
}

TEST_F(UserSettingsTest, OfAFileWhereTheUserIs) {
  const std::string directory = testing::TempDir() + "/user_settings_test";
  CHECK_OK(MakeDirectory(directory));
  CHECK_OK(WriteFile(directory + "/ocannl_config", "tier = interp\n"));
  Set("BUILD_WORKING_DIRECTORY", directory);
  absl::StatusOr<UserSettings> settings = FindUserSettings();
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->backend->name(), "interp");
  EXPECT_FALSE(settings->tier_report);
}

TEST_F(UserSettingsTest, ErrorsNameTheVariable) {
  Set("OCANNL_TIER", "bogus");
  EXPECT_THAT(Error(), AllOf(HasSubstr("no tier bogus"),
                             HasSubstr("OCANNL_TIER=bogus")));
  Set("OCANNL_TEIR", "interp");
  EXPECT_THAT(Error(), HasSubstr("near names: OCANNL_TIER"));
}

}  // namespace
}  // namespace ocannl
