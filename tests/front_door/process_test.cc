// SPDX-License-Identifier: Apache-2.0
//
// The tool and the experiments as processes: files that are none, output and
// memory that end, and signals. None aborts, hangs or loses what was trained.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

constexpr char kTool[] = "ocannl/ocannl ";
constexpr char kProgram[] =
    "p (): in x : f32[4]; out y : f32[4]; for i0 = 0 to 3 { y[i0] := x[i0]; }";

struct Ended {
  int code;  // 124: it did not end
  std::string text;
};

// A command of the shell, with what it writes to stdout and stderr.
Ended Shell(const std::string& command) {
  std::FILE* pipe =
      popen(absl::StrCat("exec 2>&1; timeout 60 ", command).c_str(), "r");
  CHECK(pipe != nullptr);
  Ended ended = {};
  std::array<char, 4096> block;
  while (const size_t size = std::fread(block.data(), 1, block.size(), pipe)) {
    ended.text.append(block.data(), size);
  }
  ended.code = WEXITSTATUS(pclose(pipe));
  return ended;
}

void ExpectError(const std::string& command, const std::string& part) {
  const Ended ended = Shell(command);
  EXPECT_EQ(ended.code, 1) << command << "\n" << ended.text;
  EXPECT_THAT(ended.text, HasSubstr(part)) << command;
}

std::string TempPath(const std::string& name) {
  const std::string path = testing::TempDir() + name;
  std::filesystem::remove_all(path);
  return path;
}

TEST(ProcessTest, WhatIsNoFileIsAnError) {
  const std::string program = TempPath("p.ll");
  ASSERT_TRUE(WriteFile(program, kProgram).ok());
  const std::string pipe = TempPath("pipe.npy");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string run = absl::StrCat(kTool, "run ", program, " --in=x=range");
  EXPECT_EQ(Shell(run).code, 0);
  ExpectError(absl::StrCat(kTool, "run /dev/zero"), "it is a device");
  ExpectError(absl::StrCat(kTool, "run ", pipe), "it is a pipe");
  ExpectError(absl::StrCat(run, " --rewrite=", pipe), "it is a pipe");
  ExpectError(absl::StrCat(kTool, "run ", program, " --in=x=", pipe),
              "not an ordinary file");
  ExpectError(absl::StrCat("experiments/moons --data=", pipe),
              "not an ordinary file");
  ExpectError(absl::StrCat("experiments/moons --data=/dev/zero"),
              "it is a device");
  const Ended piped = Shell(absl::StrCat("cat ", program, " | ", kTool,
                                         "run /dev/stdin --in=x=range"));
  EXPECT_EQ(piped.code, 0) << piped.text;
  EXPECT_THAT(piped.text, HasSubstr("0 1 2 3"));
}

TEST(ProcessTest, OutputThatIsLostIsAnError) {
  for (const std::string to : {"/dev/full", "&-"}) {
    for (const std::string command :
         {"eval '1 + 2'", "explain '1 + 2'", "--help"}) {
      ExpectError(absl::StrCat(kTool, command, " >", to),
                  "error: cannot write to standard output");
    }
    ExpectError(absl::StrCat("experiments/moons --epochs=1 >", to),
                "error: cannot write to standard output");
    ExpectError(absl::StrCat("experiments/lenet --help >", to),
                "error: cannot write to standard output");
  }
}

TEST(ProcessTest, MemoryThatEndsIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space";
#endif
  std::string text = "p (): in x : f32[4]; out y : f32[4]; zero_out y;\n";
  for (int k = 0; k < 30000; ++k) {
    absl::StrAppend(&text, "y[", k % 4, "] := x[0] * ", k, " + y[1];\n");
  }
  const std::string program = TempPath("long.ll");
  ASSERT_TRUE(WriteFile(program, text).ok());
  int errors = 0;
  for (int mebibytes = 30; mebibytes < 400; mebibytes += mebibytes / 2) {
    const Ended ended =
        Shell(absl::StrCat("sh -c 'ulimit -v ", mebibytes << 10, "; ", kTool,
                           "run ", program, " --in=x=range --tier=interp'"));
    // 127: not even the libraries could be loaded.
    EXPECT_TRUE(ended.code == 0 || ended.code == 1 || ended.code == 127)
        << mebibytes << " MiB: " << ended.code << ", " << ended.text;
    errors += ended.code == 1;
  }
  EXPECT_GT(errors, 0);
}

TEST(ProcessTest, APlaceToSaveIsTriedBeforeTheTraining) {
  for (const std::string experiment : {"moons", "lenet"}) {
    const std::string run =
        absl::StrCat("experiments/", experiment, " --epochs=1000000 --save=");
    ExpectError(run + "/nowhere/m.npz", "there is no folder /nowhere");
    ExpectError(run + "/proc/self/m.npz", "cannot write /proc/self/m.npz: ");
    ExpectError(run + "/tmp/m.txt", "must end in .npz or .safetensors");
  }
}

// Sends the signal when the experiment has printed the line of an epoch.
void ExpectSaved(const std::string& experiment, int signal,
                 const std::string& signal_name, const std::string& flag) {
  const std::string saved = TempPath(experiment + "_m.npz");
  const std::string printed = TempPath(experiment + ".txt");
  const std::string save = absl::StrCat("--save=", saved);
  const std::string path = absl::StrCat("experiments/", experiment);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int file = open(printed.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file < 0 || dup2(file, STDOUT_FILENO) < 0 ||
        dup2(file, STDERR_FILENO) < 0) {
      _exit(99);
    }
    execl(path.c_str(), path.c_str(), "--epochs=1000000", "--verbose",
          flag.c_str(), save.c_str(), nullptr);
    _exit(98);
  }
  auto text = [&] { return ReadFile(printed).value_or(""); };
  for (int k = 0; k < 300 && !absl::StrContains(text(), "Epoch="); ++k) {
    usleep(100'000);
  }
  ASSERT_EQ(kill(child, signal), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + signal) << text();
  EXPECT_THAT(text(), HasSubstr(absl::StrCat(experiment, ": stopped by ",
                                             signal_name, " after ")));
  EXPECT_THAT(text(), HasSubstr(absl::StrCat(saved, " has what was trained")));
  const Ended again =
      Shell(absl::StrCat(path, " --epochs=1000000 --epochs_now=1 ", flag,
                         " --load=", saved, " ", save));
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_TRUE(std::filesystem::exists(testing::TempDir() + experiment +
                                      "_m.previous.npz"));
}

TEST(ProcessTest, SignalsSave) {
  ExpectSaved("moons", SIGINT, "Interrupt", "--seed=1");
  ExpectSaved("lenet", SIGTERM, "Terminated", "--examples=100");
  ExpectSaved("moons", SIGHUP, "Hangup", "--seed=1");
  ExpectSaved("moons", SIGXCPU, "CPU time limit exceeded", "--seed=1");
  ExpectSaved("moons", SIGXFSZ, "File size limit exceeded", "--seed=1");
}

int64_t FilesIn(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return std::distance(begin(files), end(files));
}

// `ulimit -f` counts in 512 bytes, -t in seconds.
TEST(ProcessTest, LimitsOfTheShellSave) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need processor time and files of their own";
#endif
  const std::string folder = TempPath("limits");
  ASSERT_TRUE(MakeDirectory(folder).ok());
  const auto moons = [&](const std::string& limit, const std::string& flags) {
    return Shell(absl::StrCat("sh -c 'ulimit -", limit,
                              "; experiments/moons --epochs=1000000 ", flags,
                              "'"));
  };
  const std::string saved = folder + "/m.npz";
  // The log becomes too long, and what is saved is short.
  Ended ended = moons(
      "f 100", absl::StrCat("--save=", saved, " --log=", folder, "/log.jsonl"));
  EXPECT_EQ(ended.code, 128 + SIGXFSZ) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("m.npz has what was trained"));
  EXPECT_TRUE(std::filesystem::exists(saved));
  EXPECT_EQ(FilesIn(folder), 2);
  std::filesystem::remove(saved);
  ended = moons("S -t 1", "--save=" + saved);
  EXPECT_EQ(ended.code, 128 + SIGXCPU) << ended.text;
  EXPECT_TRUE(std::filesystem::exists(saved));
  // What is saved is too long.
  for (const std::string flag : {"--checkpoints=", "--save="}) {
    std::filesystem::remove_all(folder);
    ASSERT_TRUE(MakeDirectory(folder).ok());
    const bool is_file = flag == "--save=";
    ended = moons("f 1", absl::StrCat(flag, folder, is_file ? "/m.npz" : "",
                                      " --epochs_now=3"));
    EXPECT_EQ(ended.code, 1) << ended.text;
    EXPECT_THAT(ended.text, HasSubstr("File too large"));
    EXPECT_EQ(FilesIn(folder), 0);
  }
}

TEST(ProcessTest, SignalsLeaveWholeCheckpoints) {
  const std::string folder = TempPath("checkpoints");
  for (const std::string signal : {"HUP", "INT", "XCPU"}) {
    const Ended ended = Shell(absl::StrCat(
        "timeout --foreground --preserve-status -s ", signal,
        " 1 experiments/moons --epochs=1000000 --checkpoint_every=1 ",
        "--checkpoints=", folder));
    EXPECT_GT(ended.code, 128) << ended.text;
    EXPECT_THAT(ended.text, HasSubstr(folder + " has what was trained"));
    EXPECT_EQ(FilesIn(folder), 3);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      EXPECT_THAT(entry.path().filename().string(),
                  testing::MatchesRegex("step_[0-9]+.npz"));
    }
  }
}

TEST(ProcessTest, OutputsThatAreNoFilesAreErrors) {
  const std::string pipe = TempPath("output");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string flag : {"--log=", "--trace=", "--log_runs="}) {
    ExpectError(absl::StrCat("experiments/moons --epochs=1 ", flag, pipe),
                absl::StrCat("cannot write ", pipe,
                             ": it is a pipe, and must be an ordinary file"));
    ExpectError(absl::StrCat("experiments/moons --epochs=1 ", flag, "/dev"),
                "cannot write /dev: it is a directory, and must be");
  }
  ExpectError(
      absl::StrCat("experiments/moons_parallel --epochs=1 --log=", pipe),
      "it is a pipe, and must be an ordinary file");
  ASSERT_EQ(rename(pipe.c_str(), (pipe + ".npz").c_str()), 0);
  ExpectError(absl::StrCat("experiments/moons --save=", pipe, ".npz"),
              "it is a pipe; give another path");
}

TEST(ProcessTest, PlotsDoNotFollowLinks) {
  const std::string folder = TempPath("plots");
  const std::string victim = TempPath("victim");
  ASSERT_TRUE(MakeDirectory(folder).ok());
  ASSERT_TRUE(WriteFile(victim, "precious").ok());
  const std::string run =
      absl::StrCat("experiments/moons --epochs=1 --plot_dir=", folder);
  ASSERT_EQ(Shell(run).code, 0);
  std::filesystem::remove(folder + "/loss.svg");
  std::filesystem::create_symlink(victim, folder + "/loss.svg");
  ExpectError(run, "cannot write " + folder + "/loss.svg: it is a symbolic");
  EXPECT_EQ(*ReadFile(victim), "precious");
}

TEST(ProcessTest, DirectoriesOfTextsMayHoldAnything) {
  const std::string folder = TempPath("texts");
  ASSERT_TRUE(MakeDirectory(folder + "/inner").ok());
  std::filesystem::create_symlink("loop", folder + "/loop");
  std::filesystem::create_symlink("nothing", folder + "/dangling");
  std::filesystem::create_symlink("/", folder + "/root");
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  const std::string run = "experiments/text --epochs=1 --examples=200 --data=";
  ExpectError(run + folder, "there are no texts; give a folder of some");
  ExpectError(run + folder + "/nowhere", "No such file or directory");
  ExpectError(run + folder + "/loop", "Too many levels of symbolic links");
  std::string text;
  for (int k = 0; k < 2000; ++k) absl::StrAppend(&text, "line ", k, "\n");
  ASSERT_TRUE(WriteFile(folder + "/text.txt", text).ok());
  const Ended ended = Shell(run + folder);
  EXPECT_EQ(ended.code, 0) << ended.text;
}

}  // namespace
}  // namespace ocannl
