// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/peers/python_peer.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

// Beside this program, in what Bazel lays out for it.
std::string ScriptPath() {
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  CHECK_GT(size, 0);
  return absl::StrCat(absl::string_view(path, size),
                      ".runfiles/ocannl/experiments/bench/peers/"
                      "python_peer.py");
}

// Writes the arrays to files in `directory` and gives the task as a line.
absl::StatusOr<std::string> WriteTask(const std::string& framework,
                                      const PythonTask& task,
                                      const std::string& directory) {
  nlohmann::json arrays;
  for (const auto& [name, values] : task.arrays) {
    std::string path = absl::StrCat(directory, "/", name);
    absl::string_view bytes(reinterpret_cast<const char*>(values.data()),
                            values.bytes());
    OCANNL_RETURN_IF_ERROR(WriteFile(path, bytes));
    arrays[name] = {{"file", path}, {"dims", values.dims()}};
  }
  nlohmann::json json = {{"framework", framework},
                         {"arrays", std::move(arrays)},
                         {"net", task.net},
                         {"trains", task.trains},
                         {"loss", task.loss},
                         {"rate", task.rate},
                         {"momentum", task.momentum},
                         {"steps", task.steps},
                         {"weight_decay", task.weight_decay},
                         {"threads", task.threads}};
  return json.dump();
}

// Begins `python script` with its standard input and output connected to
// to[1] and from[0]. It inherits none of our other pipes: an end of another
// peer's in its hands would keep that one waiting for more input for ever.
absl::StatusOr<int> Spawn(const std::string& python, const int (&to)[2],
                          const int (&from)[2]) {
  std::string script = ScriptPath();
  char* arguments[] = {const_cast<char*>(python.c_str()),
                       const_cast<char*>(script.c_str()), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from[1], 1);
  pid_t child;
  int error = posix_spawnp(&child, python.c_str(), &actions, nullptr, arguments,
                           environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  return absl::NotFoundError(absl::StrCat("cannot start ", python));
}

void RemoveFiles(const PythonTask& task, const std::string& directory) {
  for (const auto& [name, values] : task.arrays) {
    unlink(absl::StrCat(directory, "/", name).c_str());
  }
  rmdir(directory.c_str());
}

}  // namespace

absl::StatusOr<std::unique_ptr<PythonPeer>> PythonPeer::Start(
    const std::string& python, const std::string& framework,
    const PythonTask& task) {
  // A process that ends early must not end this one.
  signal(SIGPIPE, SIG_IGN);
  int to[2], from[2];
  CHECK_EQ(pipe2(to, O_CLOEXEC), 0);
  CHECK_EQ(pipe2(from, O_CLOEXEC), 0);
  absl::StatusOr<int> child = Spawn(python, to, from);
  close(to[0]);
  close(from[1]);
  std::unique_ptr<PythonPeer> peer(new PythonPeer());
  peer->to_ = fdopen(to[1], "w");
  peer->from_ = fdopen(from[0], "r");
  OCANNL_ASSIGN_OR_RETURN(peer->child_, std::move(child));
  std::string directory = "/tmp/bench_XXXXXX";
  CHECK(mkdtemp(directory.data()) != nullptr);
  OCANNL_ASSIGN_OR_RETURN(std::string line,
                          WriteTask(framework, task, directory));
  absl::StatusOr<std::string> answer = peer->Ask(line);
  RemoveFiles(task, directory);
  OCANNL_RETURN_IF_ERROR(answer.status());
  absl::string_view text = *answer;
  if (!absl::ConsumePrefix(&text, "ok ")) {
    absl::ConsumePrefix(&text, "error ");
    return absl::UnavailableError(text);
  }
  peer->name_ = std::string(text);
  return peer;
}

PythonPeer::~PythonPeer() {
  std::fclose(to_);  // the script ends with its input
  std::fclose(from_);
  if (child_ >= 0) waitpid(child_, nullptr, 0);
}

absl::StatusOr<std::string> PythonPeer::Ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  char answer[512];
  if (std::fgets(answer, sizeof(answer), from_) == nullptr) {
    return absl::UnavailableError("the script ended without an answer");
  }
  return std::string(absl::StripSuffix(answer, "\n"));
}

double PythonPeer::Time(int64_t runs) {
  absl::StatusOr<std::string> answer = Ask(absl::StrCat("time ", runs));
  double seconds;
  CHECK_OK(answer);
  CHECK(absl::SimpleAtod(*answer, &seconds)) << *answer;
  return seconds;
}

double PythonPeer::Loss(int64_t steps) {
  absl::StatusOr<std::string> answer = Ask(absl::StrCat("loss ", steps));
  double loss;
  CHECK_OK(answer);
  CHECK(absl::SimpleAtod(*answer, &loss)) << *answer;
  return loss;
}

}  // namespace ocannl
