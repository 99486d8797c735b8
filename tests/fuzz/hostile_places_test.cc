// SPDX-License-Identifier: Apache-2.0
//
// Directories as somebody hostile would pack them into an archive: settings
// that load code, and links and pipes where files are read or written. What is
// outside stays as it was, and no code of theirs runs. A second.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/cli/tool.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/file.h"
#include "ocannl/flags/flags.h"
#include "ocannl/fuzz/child.h"

namespace ocannl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A directory with the user's one in it, and files of the user beside it.
class HostilePlacesTest : public testing::Test {
 protected:
  HostilePlacesTest() {
    fs::remove_all(top_);
    fs::create_directories(inner_);
    CHECK_OK(WriteFile(victim_, "precious"));
  }

  // What the tool prints when it is run in `inner_`; the process ends there.
  std::string Tool(const std::vector<std::string>& args,
                   const std::string& variable = "") {
    const fuzz::ChildResult child = fuzz::RunInChild(20, [&] {
      setenv("BUILD_WORKING_DIRECTORY", inner_.c_str(), /*overwrite=*/1);
      setenv("HOME", (top_ + "/me").c_str(), /*overwrite=*/1);
      unsetenv("XDG_CONFIG_HOME");
      if (!variable.empty()) putenv(const_cast<char*>(variable.c_str()));
      std::ostringstream out;
      const int code = RunTool(args, out, out);
      return absl::StrCat(code == 0 ? "ok: " : "", out.str());
    });
    EXPECT_FALSE(child.died) << child.text;
    return child.text;
  }

  const std::string top_ = testing::TempDir() + "hostile_places";
  const std::string outer_ = top_ + "/archive";
  const std::string inner_ = outer_ + "/data/deep";
  const std::string victim_ = top_ + "/victim";
};

// Puts what is no file at the path.
struct Plant {
  std::string name;
  void (*make)(const std::string& path, const std::string& victim);
};

const Plant kPlants[] = {
    {"link",
     [](const std::string& path, const std::string& victim) {
       fs::create_symlink(victim, path);
     }},
    {"link to nothing",
     [](const std::string& path, const std::string& victim) {
       fs::create_symlink(victim + "_made", path);
     }},
    {"link to itself",
     [](const std::string& path, const std::string&) {
       fs::create_symlink(fs::path(path).filename(), path);
     }},
    {"pipe",
     [](const std::string& path, const std::string&) {
       CHECK_EQ(mkfifo(path.c_str(), 0600), 0);
     }},
    {"socket",
     [](const std::string& path, const std::string&) {
       // Its address has room for 100 bytes.
       const fs::path here = fs::current_path();
       fs::current_path(fs::path(path).parent_path());
       sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
       const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
       CHECK_EQ(
           bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
       close(fd);
       fs::rename("socket", path);
       fs::current_path(here);
     }},
    {"directory", [](const std::string& path, const std::string&) {
       fs::create_directories(path);
     }}};

TEST_F(HostilePlacesTest, NamesThatNobodyHasGivenLeadNowhere) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> writers =
      {{"/results/result.npy",
        {"eval", "x + 1", "--in=x=range:3", "--out=results"}},
       {"/stages/result_fwd.ll",
        {"eval", "x + 1", "--in=x=range:3", "--explain=stages"}},
       {"/stages/result_fwd.cd", {"explain", "1 + 2", "--explain=stages"}},
       {"/build_files/" + std::string(program_invocation_short_name) +
            "/log.html",
        {"eval", "1 + 2", "--debug=log"}},
       {"/build_files/" + std::string(program_invocation_short_name) +
            "/runs.log",
        {"eval", "1 + 2", "--debug=runs"}},
       {"/build_files/" + std::string(program_invocation_short_name) +
            "/result_fwd.ll",
        {"eval", "1 + 2", "--debug=stages"}}};
  for (const auto& [name, args] : writers) {
    const std::string path = inner_ + name;
    fs::remove_all(fs::path(path).parent_path());
    EXPECT_TRUE(absl::StartsWith(Tool(args), "ok: ")) << name;
    EXPECT_TRUE(fs::is_regular_file(path)) << path;
    for (const Plant& plant : kPlants) {
      fs::remove_all(path);
      plant.make(path, victim_);
      const std::string said = Tool(args);
      EXPECT_THAT(said, HasSubstr("error: cannot write " + path))
          << plant.name << " at " << name;
      EXPECT_THAT(said, HasSubstr(absl::StrContains(plant.name, "link")
                                      ? "it is a symbolic link"
                                      : "must be an ordinary file"));
      EXPECT_EQ(*ReadFile(victim_), "precious");
      EXPECT_FALSE(fs::exists(victim_ + "_made"));
    }
  }
}

TEST_F(HostilePlacesTest, DirectoriesToDebugAreNoLinks) {
  const std::string own =
      inner_ + "/build_files/" + program_invocation_short_name;
  const std::string elsewhere = top_ + "/elsewhere";
  fs::create_directories(elsewhere);
  for (const std::string& link : {inner_ + "/build_files", own}) {
    fs::remove_all(inner_ + "/build_files");
    fs::create_directories(fs::path(link).parent_path());
    fs::create_directory_symlink(elsewhere, link);
    EXPECT_THAT(Tool({"eval", "1 + 2", "--debug=all"}),
                HasSubstr("cannot write " + link + ": it is a symbolic link"));
    EXPECT_TRUE(fs::is_empty(elsewhere));
  }
}

// A user may name a link, but for nothing else than a file.
TEST_F(HostilePlacesTest, OutputsThatAreNoFilesAreRefused) {
  for (const std::string flag : {"--log_runs", "--trace"}) {
    for (const Plant& plant : kPlants) {
      if (absl::StrContains(plant.name, "link")) continue;
      const std::string path = inner_ + "/output";
      fs::remove_all(path);
      plant.make(path, victim_);
      EXPECT_THAT(Tool({"eval", "1 + 2", absl::StrCat(flag, "=", path)}),
                  AllOf(HasSubstr(absl::StrCat("error: cannot write ", path)),
                        HasSubstr(", and must be an ordinary file")))
          << flag << ", " << plant.name;
    }
  }
}

// A library of CUDA that leaves a file when it is loaded.
TEST_F(HostilePlacesTest, CodeOfAProjectIsNotLoaded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the library is built without sanitizers";
#endif
  const std::string loaded = top_ + "/loaded";
  const std::string toolkit = outer_ + "/toolkit/lib64";
  fs::create_directories(toolkit);
  const std::string built = top_ + "/planted.c";
  CHECK_OK(WriteFile(
      built, absl::StrCat("#include <stdio.h>\n__attribute__((constructor)) "
                          "static void f(void) { fclose(fopen(\"",
                          loaded, "\", \"w\")); }\n")));
  const std::string library = toolkit + "/libnvrtc.so.12";
  ASSERT_EQ(
      std::system(
          absl::StrCat("gcc -shared -fPIC -o ", library, " ", built).c_str()),
      0);
  const std::vector<std::string> explain = {"explain", "x", "--in=x=1,2:2",
                                            "--stage=ptx", "--target=sm_80"};
  auto attack = [&](const std::string& home, const std::string& variable,
                    const std::string& flag) {
    std::vector<std::string> args = explain;
    if (!flag.empty()) args.push_back(flag);
    fs::remove(loaded);
    fs::remove(outer_ + "/ocannl_config");
    if (!home.empty()) {
      CHECK_OK(WriteFile(outer_ + "/ocannl_config", "cuda_home = " + home));
    }
    const std::string said = Tool(args, variable);
    return std::make_pair(fs::exists(loaded), said);
  };
  const std::string absolute = outer_ + "/toolkit";
  for (const std::string& home :
       {absolute, std::string("../toolkit"), std::string("../../toolkit")}) {
    const auto [runs, said] = attack(home, "", "");
    EXPECT_FALSE(runs) << home;
    EXPECT_THAT(said, HasSubstr(absl::StrCat(
                          outer_, "/ocannl_config:1: `cuda_home` says what ",
                          "code to load, which the file of a project may ",
                          "not; move the line to ", top_,
                          "/me/.config/ocannl/ocannl_config, or set ",
                          "OCANNL_CUDA_HOME")));
  }
  for (const std::string relative :
       {"OCANNL_CUDA_HOME=../../toolkit", "CUDA_HOME=../../toolkit"}) {
    const auto [runs, said] = attack("", relative, "");
    EXPECT_FALSE(runs) << relative;
    EXPECT_THAT(said, HasSubstr("`../../toolkit` is a relative path"));
  }
  EXPECT_FALSE(attack("", "", "--cuda_home=../../toolkit").first);
  // The user's own choice is theirs: that the library is one is shown, too.
  EXPECT_TRUE(attack("", "OCANNL_CUDA_HOME=" + absolute, "").first);
  EXPECT_TRUE(attack("", "CUDA_HOME=" + absolute, "").first);
  EXPECT_TRUE(attack("", "", "--cuda_home=" + absolute).first);
  CHECK_OK(MakeDirectory(top_ + "/me/.config/ocannl"));
  CHECK_OK(WriteFile(top_ + "/me/.config/ocannl/ocannl_config",
                     "cuda_home = " + absolute));
  EXPECT_TRUE(attack("", "", "").first);
}

// Every setting, whichever there will be.
TEST_F(HostilePlacesTest, AProjectsFileWritesNothing) {
  int refused = 0;
  for (const Flag& flag : FlagsOf(kSettingFlags)) {
    for (const std::string& value : {inner_ + "/new", std::string("all")}) {
      CHECK_OK(WriteFile(outer_ + "/ocannl_config",
                         absl::StrCat(flag.name, " = ", value)));
      const std::string said = Tool({"eval", "1 + 2"});
      refused += absl::StrContains(said, "the file of a project may not");
      EXPECT_TRUE(fs::is_empty(inner_)) << flag.name << " = " << value;
      EXPECT_EQ(flag.kind != SettingKind::kPlain,
                absl::StrContains(said, "the file of a project may not"))
          << flag.name << ": " << said;
    }
  }
  EXPECT_GE(refused, 12);
}

}  // namespace
}  // namespace ocannl
