// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/settings.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

const std::vector<SettingKey> kKeys = {{"tier"},
                                       {"tier_report"},
                                       {"threads"},
                                       {"log", SettingKind::kOutputPath},
                                       {"debug", SettingKind::kOutput},
                                       {"home", SettingKind::kCodePath}};

// A directory with a file of settings in it, and one inside it without.
class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(outer_);
    ASSERT_TRUE(MakeDirectory(inner_).ok());
  }

  void Write(absl::string_view text) {
    ASSERT_TRUE(WriteFile(outer_ + "/ocannl_config", text).ok());
  }

  absl::StatusOr<Settings> Find(
      const std::vector<std::string>& environment = {}) const {
    return FindSettings(kKeys, environment, inner_ + "/../b/.");
  }

  std::string Error(const std::vector<std::string>& environment = {}) const {
    return std::string(Find(environment).status().message());
  }

  std::string outer_ = testing::TempDir() + "settings_test";
  std::string inner_ = outer_ + "/a/b";
};

TEST_F(SettingsTest, TheEnvironmentGoesBeforeTheNearestFile) {
  EXPECT_TRUE(Find()->empty());
  Write("# a comment\n\n  tier = x86 avx2 \nthreads=3\n");
  absl::StatusOr<Settings> settings =
      Find({"PATH=/bin", "OCANNL_THREADS=8=9", "XOCANNL_TIER=no"});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->at("tier").value, "x86 avx2");
  EXPECT_EQ(settings->at("tier").origin,
            absl::StrCat(outer_, "/ocannl_config:3: tier"));
  EXPECT_EQ(settings->at("threads").value, "8=9");
  EXPECT_EQ(settings->at("threads").origin, "OCANNL_THREADS");
  EXPECT_EQ(settings->size(), 2u);
  ASSERT_TRUE(WriteFile(inner_ + "/ocannl_config", "tier=interp").ok());
  EXPECT_EQ(Find()->at("tier").value, "interp");
  EXPECT_EQ(Find()->size(), 1u);
}

TEST_F(SettingsTest, ErrorsNameThePlaceAndTheMend) {
  EXPECT_EQ(Error({"OCANNL_TEIR=x86"}),
            "in the environment, `OCANNL_TEIR` is no setting; near names: "
            "OCANNL_TIER");
  const std::string file = outer_ + "/ocannl_config";
  Write("tier=x86\nthread=1");
  EXPECT_EQ(Error(), file + ":2: `thread` is no setting; near names: threads");
  Write("tier x86");
  EXPECT_EQ(Error(), file + ":1: `tier x86` is no setting; write tier = x86");
  Write("tier=x86\ntier=interp");
  EXPECT_EQ(Error(),
            absl::StrCat(file, ":2: `tier` is set twice; the first is ", file,
                         ":1: tier"));
}

// Whoever made the archive that was unpacked here has written it.
TEST_F(SettingsTest, AProjectNamesNeitherOutputsNorCode) {
  const std::string above = outer_ + "/ocannl_config";
  Write("threads = 1\nlog = /x");
  EXPECT_EQ(Error(),
            above +
                ":2: `log` says what to write, which the file of a project "
                "may not; move the line to ~/.config/ocannl/ocannl_config, "
                "or set OCANNL_LOG");
  Write("threads = 1\n\nhome = /x");
  EXPECT_EQ(Error({"HOME=/home/me"}),
            above +
                ":3: `home` says what code to load, which the file of a "
                "project may not; move the line to "
                "/home/me/.config/ocannl/ocannl_config, or set "
                "OCANNL_HOME");
  Write("");
  for (const std::string line :
       {"log = /x", "log =", "debug = all", "home = /x", "home = x", "home="}) {
    ASSERT_TRUE(WriteFile(inner_ + "/ocannl_config", line).ok());
    EXPECT_THAT(Error({"OCANNL_LOG=/y", "OCANNL_HOME=/y"}),
                testing::HasSubstr("which the file of a project may not"))
        << line;
  }
}

TEST_F(SettingsTest, TheUsersFileMay) {
  const std::string home = outer_ + "/me";
  const std::string own = home + "/.config/ocannl";
  ASSERT_TRUE(MakeDirectory(own).ok());
  ASSERT_TRUE(WriteFile(own + "/ocannl_config",
                        "log = /x\nhome = /y\ndebug = all\ntier = interp\n"
                        "threads = 2\n")
                  .ok());
  EXPECT_TRUE(Find({"HOME=me", "XDG_CONFIG_HOME=me/.config"})->empty());
  Write("threads = 3");
  for (const std::string& variable :
       {"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/.config"}) {
    absl::StatusOr<Settings> settings =
        Find({"OCANNL_HOME=/z", variable, "OCANNL_DEBUG=log"});
    ASSERT_TRUE(settings.ok()) << settings.status();
    EXPECT_EQ(settings->at("log").value, "/x");
    EXPECT_EQ(settings->at("log").origin, own + "/ocannl_config:1: log");
    EXPECT_EQ(settings->at("home").value, "/z");
    EXPECT_EQ(settings->at("debug").value, "log");
    EXPECT_EQ(settings->at("tier").value, "interp");
    EXPECT_EQ(settings->at("threads").value, "3");
  }
  // It stays the user's where it is the nearest one.
  absl::StatusOr<Settings> within =
      FindSettings(kKeys, {"HOME=" + home}, own + "/.");
  ASSERT_TRUE(within.ok()) << within.status();
  EXPECT_EQ(within->at("log").value, "/x");
  ASSERT_EQ(chmod((own + "/ocannl_config").c_str(), 0666), 0);
  EXPECT_THAT(Error({"HOME=" + home}),
              testing::HasSubstr("can be changed by others"));
}

TEST_F(SettingsTest, RelativePathsAreRefused) {
  EXPECT_EQ(Error({"OCANNL_HOME=../toolkit"}),
            "OCANNL_HOME says what code to load, and `../toolkit` is a "
            "relative path, which is another one in each directory; write one "
            "that begins with /");
  EXPECT_THAT(Error({"OCANNL_LOG=~/log"}),
              testing::HasSubstr("`~/log` is a relative path"));
  EXPECT_TRUE(Find({"OCANNL_LOG=", "OCANNL_HOME=", "OCANNL_DEBUG=x"}).ok());
  const std::string own = outer_ + "/.config/ocannl";
  ASSERT_TRUE(MakeDirectory(own).ok());
  ASSERT_TRUE(WriteFile(own + "/ocannl_config", "\nlog = log").ok());
  EXPECT_THAT(Error({"HOME=" + outer_}),
              testing::HasSubstr(own + "/ocannl_config:2: log says what to"));
  EXPECT_TRUE(CheckCodePath("--home", "/x").ok());
  EXPECT_FALSE(CheckCodePath("--home", "x").ok());
}

TEST_F(SettingsTest, WhatOthersMayWriteIsRefused) {
  const std::string file = outer_ + "/ocannl_config";
  Write("tier=x86");
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  EXPECT_EQ(
      Error(),
      absl::StrCat(file, " can be changed by others; run chmod go-w ", file));
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  ASSERT_EQ(chmod(outer_.c_str(), 0775), 0);
  EXPECT_EQ(
      Error(),
      absl::StrCat(file, " can be changed by others; run chmod go-w ", outer_));
  ASSERT_EQ(chmod(outer_.c_str(), 01777), 0);  // as /tmp
  EXPECT_EQ(Error(), absl::StrCat(file,
                                  " can be changed by others; move it to a "
                                  "directory of your own"));
  ASSERT_EQ(chmod(outer_.c_str(), 0755), 0);
  EXPECT_EQ(Find()->at("tier").value, "x86");
}

// Only root can give files away.
TEST_F(SettingsTest, FilesOfOthersAreNone) {
  constexpr uid_t kNobody = 65534;
  if (chown(inner_.c_str(), kNobody, kNobody) != 0) {
    GTEST_SKIP() << "needs root, outside of a sandbox";
  }
  ASSERT_EQ(chown(inner_.c_str(), geteuid(), getegid()), 0);
  Write("tier=x86");
  ASSERT_TRUE(WriteFile(inner_ + "/ocannl_config", "tier=interp").ok());
  ASSERT_EQ(chown((inner_ + "/ocannl_config").c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(Find()->at("tier").value, "x86");
  ASSERT_EQ(chown(outer_.c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(Error(), testing::HasSubstr("its directory belongs to another"));
  std::filesystem::remove(outer_ + "/ocannl_config");
  std::filesystem::create_symlink(inner_ + "/ocannl_config",
                                  inner_ + "/../ocannl_config");
  EXPECT_THAT(Error(), testing::HasSubstr("belongs to another user"));
}

TEST_F(SettingsTest, WhatIsNoFileIsSaid) {
  const std::string file = outer_ + "/ocannl_config";
  std::filesystem::create_directory(file);
  EXPECT_EQ(Error(),
            file + " is a directory, not a file of settings; remove it");
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(Error(), file + " is a pipe, not a file of settings; remove it");
  std::filesystem::remove(file);
  std::filesystem::create_symlink("nothing", file);
  EXPECT_EQ(Error(), file + " is a link to nothing; remove it");
}

}  // namespace
}  // namespace ocannl
