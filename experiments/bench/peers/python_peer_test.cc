// SPDX-License-Identifier: Apache-2.0
//
// Without PyTorch and JAX: with other programs in Python's place.
#include "experiments/bench/peers/python_peer.h"

#include <sys/stat.h>

#include <string>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

PythonTask Task() {
  return {.arrays = {{"w1", NdArray::Of<float>({2}, {3, 4})}}};
}

// A program that answers with the lines of a shell script.
std::string Program(absl::string_view script) {
  std::string path = testing::TempDir() + "/python";
  CHECK_OK(WriteFile(path, script));
  CHECK_EQ(chmod(path.c_str(), 0700), 0);
  return path;
}

TEST(PythonPeerTest, AsksAndReadsAnswers) {
  auto peer = PythonPeer::Start(Program("#!/bin/sh\n"
                                        "read task\n"
                                        "echo ok torch 9\n"
                                        "read a; echo ${a#time }.5\n"
                                        "read a; echo ${a#loss }.25\n"),
                                "torch", Task());
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ((*peer)->name(), "torch 9");
  EXPECT_EQ((*peer)->Time(7), 7.5);
  EXPECT_EQ((*peer)->Loss(3), 3.25);
}

TEST(PythonPeerTest, SaysWhyThereIsNone) {
  auto missing = PythonPeer::Start("/no/such/python", "torch", Task());
  EXPECT_EQ(missing.status().message(), "cannot start /no/such/python");
  auto failing = PythonPeer::Start(
      Program("#!/bin/sh\nread task; echo error no torch here\n"), "torch",
      Task());
  EXPECT_EQ(failing.status().message(), "no torch here");
  auto silent = PythonPeer::Start(Program("#!/bin/sh\n"), "torch", Task());
  EXPECT_EQ(silent.status().message(), "the script ended without an answer");
}

// Or the one that ends first waits for the other: its input stays open.
TEST(PythonPeerTest, HasNoPipeOfAnother) {
  const std::string program = Program(
      "#!/bin/sh\n"
      "read task; set -- /proc/$$/fd/*; echo ok with $# files; read end\n");
  auto first = PythonPeer::Start(program, "torch", Task());
  ASSERT_TRUE(first.ok()) << first.status();
  auto second = PythonPeer::Start(program, "jax", Task());
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_EQ((*second)->name(), (*first)->name());
  first->reset();
}

// Whatever this machine's Python has, the script runs.
TEST(PythonPeerTest, TheScriptAnswers) {
  auto peer = PythonPeer::Start("python3", "no_framework", Task());
  EXPECT_EQ(peer.status().message(), "'no_framework'");
}

}  // namespace
}  // namespace ocannl
