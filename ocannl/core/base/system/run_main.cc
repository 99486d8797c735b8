// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/run_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <stdexcept>

namespace ocannl {
namespace {

// The next file that is opened would get the number of a stream that is closed,
// and what is printed would go there. What may only be read refuses that.
void OpenClosedStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest number that is free is this one.
    (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// A write beyond `ulimit -f` is an error that names the file, not the end.
void FailTheWrite(int number, siginfo_t* info, void*) {
  if (info->si_pid == getpid()) return;  // the system sends it as this process
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void CatchWritesBeyondTheLimit() {
  struct sigaction action = {};
  sigaction(SIGXFSZ, nullptr, &action);
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) {
    return;
  }
  action.sa_sigaction = &FailTheWrite;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGXFSZ, &action, nullptr);
}

constexpr char kNoMemory[] =
    "error: there is not enough memory; use smaller inputs\n";

// Abseil's containers do not survive an exception out of an allocation, so the
// process ends where it is, whichever thread it is.
[[noreturn]] void EndWithoutMemory() {
  (void)!write(STDERR_FILENO, kNoMemory, sizeof(kNoMemory) - 1);
  _exit(1);
}

int OutOfMemory() {
  std::fputs(kNoMemory, stderr);
  return 1;
}

int Run(absl::FunctionRef<int()> run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::length_error&) {  // more than the address space holds
    return OutOfMemory();
  }
}

}  // namespace

int RunMain(absl::FunctionRef<int()> run) {
  OpenClosedStreams();
  CatchWritesBeyondTheLimit();
  std::set_new_handler(&EndWithoutMemory);
  const int code = Run(run);
  errno = 0;
  std::cout.flush();
  std::fflush(stdout);
  if (!std::cout.fail() && std::ferror(stdout) == 0) return code;
  // The reason is known only if the end is what could not be written.
  std::fprintf(stderr, "error: cannot write to standard output%s%s\n",
               errno == 0 ? "" : ": ", errno == 0 ? "" : std::strerror(errno));
  return code == 0 ? 1 : code;
}

int RunMain(absl::string_view name, absl::FunctionRef<absl::Status()> run) {
  return RunMain([&] {
    const absl::Status status = run();
    if (status.ok()) return 0;
    std::cerr << name << ": " << status.message() << "\n";
    return 1;
  });
}

}  // namespace ocannl
