// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/child.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"

namespace ocannl::fuzz {
namespace {

// Of what a child says before it dies.
constexpr size_t kMaxErrors = 2000;

[[noreturn]] void Child(int pipe, int errors, int seconds,
                        absl::FunctionRef<std::string()> run) {
  CHECK(dup2(errors, STDERR_FILENO) >= 0);
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

// What `status` of waitpid says, and what the child said last.
std::string Describe(int status, int seconds, absl::string_view errors) {
  std::string cause = absl::StrCat("exited with ", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) {
    int number = WTERMSIG(status);
    cause =
        number == SIGALRM
            ? absl::StrCat("ran for more than ", seconds, " s")
            : absl::StrCat("died of signal ", number, ", ", strsignal(number));
  }
  errors = absl::StripAsciiWhitespace(errors.substr(0, kMaxErrors));
  return errors.empty() ? cause : absl::StrCat(cause, ": ", errors);
}

}  // namespace

ChildResult RunInChild(int seconds, absl::FunctionRef<std::string()> run) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  std::FILE* errors = std::tmpfile();
  CHECK(errors != nullptr);
  std::fflush(nullptr);  // The child must not print it once more.
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    Child(ends[1], fileno(errors), seconds, run);
  }
  close(ends[1]);
  std::string text = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) CHECK_EQ(errno, EINTR);
  std::rewind(errors);
  const std::string said = ReadAll(fileno(errors));
  std::fclose(errors);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {false, text};
  const bool timed_out = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  return {true, Describe(status, seconds, said), timed_out};
}

}  // namespace ocannl::fuzz
