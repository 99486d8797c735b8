// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/run_main.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

using testing::ExitedWithCode;

// Ends the process as a main function would.
[[noreturn]] void Exit(absl::FunctionRef<int()> run) {
  std::exit(RunMain(run));
}

int Print() {
  std::cout << "text\n";
  return 0;
}

void PrintTo(const char* path) {
  const int file = open(path, O_WRONLY);
  CHECK(file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
}

TEST(RunMainTest, ReturnsTheCode) {
  EXPECT_EQ(RunMain([] { return 0; }), 0);
  EXPECT_EQ(RunMain([] { return 7; }), 7);
  EXPECT_EQ(RunMain("sum", [] { return absl::OkStatus(); }), 0);
  EXPECT_EQ(RunMain("sum", [] { return absl::UnknownError("no"); }), 1);
}

TEST(RunMainTest, TellsThatOutputIsLost) {
  const std::string message = "error: cannot write to standard output";
  EXPECT_EXIT(PrintTo("/dev/full");
              Exit(Print), ExitedWithCode(1), message + ": No space left");
  // More than fits a buffer fails before the end.
  EXPECT_EXIT(PrintTo("/dev/full"); Exit([] {
                                      std::cout << std::string(1 << 20, 'x');
                                      return 0;
                                    }),
                                    ExitedWithCode(1), message);
  EXPECT_EXIT(PrintTo("/dev/full"); Exit([] {
                                      std::printf("text");
                                      return 3;
                                    }),
                                    ExitedWithCode(3), message);
  EXPECT_EXIT(PrintTo("/dev/full");
              Exit([] { return 0; }), ExitedWithCode(0), "");
}

TEST(RunMainTest, AWriteBeyondTheLimitFails) {
  const std::string path = testing::TempDir() + "run_main_limit";
  const auto write = [&] {
    const rlimit limit = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const std::string text(100, 'x');
    CHECK_EQ(::write(file, text.data(), text.size()), 10);
    return ::write(file, text.data(), text.size()) < 0 && errno == EFBIG ? 7
                                                                         : 0;
  };
  EXPECT_EXIT(Exit(write), ExitedWithCode(7), "");
  // That of another process still ends this one.
  const auto kill_parent = [] {
    const pid_t parent = getpid();
    if (fork() == 0) _exit(kill(parent, SIGXFSZ));
    return pause();
  };
  EXPECT_EXIT(Exit(kill_parent), testing::KilledBySignal(SIGXFSZ), "");
}

TEST(RunMainTest, AFileDoesNotBecomeAClosedStream) {
  EXPECT_EXIT(close(STDOUT_FILENO);
              Exit([] {
                const int file = open("/dev/zero", O_WRONLY);
                return file > STDERR_FILENO ? Print() : 2;
              }),
              ExitedWithCode(1), "cannot write to standard output: Bad file");
}

TEST(RunMainTest, MemoryThatEndsIsAnError) {
  const std::string message = "error: there is not enough memory";
  EXPECT_EXIT(Exit([]() -> int { throw std::bad_alloc(); }), ExitedWithCode(1),
              message);
  EXPECT_EXIT(Exit([] {
                std::vector<char>().reserve(~size_t{0});
                return 0;
              }),
              ExitedWithCode(1), message);
}

TEST(RunMainTest, AllocationsThatFailEndTheProcess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends it itself";
#endif
  EXPECT_EXIT(Exit([] {
                std::thread([] {
                  ::operator delete(::operator new (size_t{1} << 60));
                }).join();
                return 0;
              }),
              ExitedWithCode(1), "error: there is not enough memory");
}

}  // namespace
}  // namespace ocannl
