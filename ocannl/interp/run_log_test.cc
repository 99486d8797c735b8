// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/run_log.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/interp/tree_backend.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::interp {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

std::vector<std::unique_ptr<RunObserver>> Logs(const std::string& path) {
  absl::StatusOr<std::unique_ptr<RunLog>> log = RunLog::Open(path, 1000);
  CHECK_OK(log);
  std::vector<std::unique_ptr<RunObserver>> observers;
  observers.push_back(*std::move(log));
  return observers;
}

std::string TestPath(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/", name, ".log");
}

std::string MustRead(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path);
  CHECK_OK(text);
  return *std::move(text);
}

TEST(RunLogTest, DoesNotDependOnWhatWasInMemory) {
  const LoopProgram program = MustParse(R"(
      p ():
        inout s : f32[]; temp t : f32[2]; out y : f32[2];
        for i0 = 0 to 1 { t[i0] := 2; }
        for i1 = 0 to 1 { y[i1] := (t[i1] + s[]); }
        s[] := y[1];)");
  std::vector<std::string> logs;
  for (const std::byte rubbish : {std::byte{1}, std::byte{2}}) {
    const std::string path = TestPath(absl::StrCat("rubbish_", logs.size()));
    const TreeBackend backend(Logs(path));
    absl::StatusOr<std::unique_ptr<Executable>> executable =
        backend.Compile(program);
    ASSERT_THAT(executable, IsOk());
    NdArray s = NdArray::Of<float>({}, {3});
    NdArray t(DType::kF32, {2});
    NdArray y(DType::kF32, {2});
    std::memset(t.data(), static_cast<int>(rubbish), t.bytes());
    std::memset(y.data(), static_cast<int>(rubbish), y.bytes());
    (*executable)->Run({s.data(), t.data(), y.data()}, {});
    (*executable)->Run({s.data(), t.data(), y.data()}, {});
    logs.push_back(MustRead(path));
  }
  EXPECT_EQ(logs[0], logs[1]);
  EXPECT_THAT(logs[0], HasSubstr("\nt[0]{=unset} = 2 = 2\n"));
  EXPECT_THAT(logs[0], HasSubstr("\ns[]{=3} = 5 = y[1]{=5}\n"));
  EXPECT_THAT(logs[0], HasSubstr("\ns[]{=5} = 7 = y[1]{=7}\n"));
}

TEST(RunLogTest, TellsRoutinesApartHoweverOftenTheyRun) {
  const std::string path = TestPath("apart");
  const TreeBackend backend(Logs(path));
  TestDevice host(&backend);
  ASSERT_THAT(host.context.Write("n", NdArray::Of<int32_t>({}, {0})), IsOk());
  absl::StatusOr<Routine> up = host.context.CompileAndLink(
      MustParse("up (): inout n : i32[]; n[] := (n[] + 3:i32);"));
  absl::StatusOr<Routine> down = host.context.CompileAndLink(
      MustParse("down (): inout n : i32[]; n[] := (n[] - 1:i32);"));
  ASSERT_THAT(up, IsOk());
  ASSERT_THAT(down, IsOk());
  std::string expected;
  for (int run = 0; run < 300; ++run) {
    ASSERT_THAT(up->Run(), IsOk());
    ASSERT_THAT(down->Run(), IsOk());
    absl::StrAppend(&expected, "up ():\n  inout n : i32[];\n",
                    "# n[] := n[] + 3:i32;\n", "n[]{=", 2 * run,
                    ":i32} = ", 2 * run + 3, ":i32 = n[]{=", 2 * run,
                    ":i32} + 3:i32\n\n", "down ():\n  inout n : i32[];\n",
                    "# n[] := n[] - 1:i32;\n", "n[]{=", 2 * run + 3,
                    ":i32} = ", 2 * run + 2, ":i32 = n[]{=", 2 * run + 3,
                    ":i32} - 1:i32\n\n");
  }
  host.stream.Sync();
  EXPECT_EQ(MustRead(path), expected);
}

TEST(RunLogTest, SaysWhyItCannotWrite) {
  EXPECT_THAT(
      RunLog::Open(TestPath("no_directory/run"), 1),
      StatusIs(StatusCode::kNotFound, HasSubstr("no_directory/run.log")));

  const TreeBackend backend(Logs("/dev/full"));
  absl::StatusOr<std::unique_ptr<Executable>> executable =
      backend.Compile(MustParse("p (): out y : f32[]; y[] := 1;"));
  ASSERT_THAT(executable, IsOk());
  EXPECT_THAT(backend.RunStatus(), IsOk());
  NdArray y(DType::kF32, {});
  (*executable)->Run({y.data()}, {});
  EXPECT_THAT(backend.RunStatus(),
              StatusIs(StatusCode::kResourceExhausted,
                       HasSubstr("cannot write /dev/full")));
}

}  // namespace
}  // namespace ocannl::interp
