// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/child.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"

namespace ocannl::fuzz {
namespace {

[[noreturn]] void Child(int pipe, int seconds,
                        absl::FunctionRef<std::string()> run) {
  // A sanitizer or a test may have handlers of its own: die at once.
  for (int number : {SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    std::signal(number, SIG_DFL);
  }
  alarm(seconds);
  std::string text = run();
  for (size_t at = 0; at < text.size();) {
    ssize_t count = write(pipe, text.data() + at, text.size() - at);
    if (count <= 0) _exit(1);
    at += count;
  }
  _exit(0);
}

std::string ReadAll(int pipe) {
  std::string text;
  char block[4096];
  while (true) {
    ssize_t count = read(pipe, block, sizeof(block));
    if (count > 0) text.append(block, count);
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
}

}  // namespace

ChildResult RunInChild(int seconds, absl::FunctionRef<std::string()> run) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  std::fflush(nullptr);  // The child must not print it once more.
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    Child(ends[1], seconds, run);
  }
  close(ends[1]);
  std::string text = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) CHECK_EQ(errno, EINTR);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {false, text};
  if (!WIFSIGNALED(status)) {
    return {true, absl::StrCat("exited with ", WEXITSTATUS(status))};
  }
  int number = WTERMSIG(status);
  if (number == SIGALRM) {
    return {true, absl::StrCat("ran for more than ", seconds, " s")};
  }
  return {true,
          absl::StrCat("died of signal ", number, ", ", strsignal(number))};
}

}  // namespace ocannl::fuzz
