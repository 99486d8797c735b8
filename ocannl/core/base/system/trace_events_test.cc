// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/trace_events.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <regex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::string PathOf(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

Json Parse(const std::string& path) {
  auto text = ReadFile(path);
  CHECK_OK(text);
  return Json::parse(*text);
}

// What a child process does that has the trace of its own; its exit status.
template <class Work>
int InChild(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    exit(0);  // as at the end of main
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(TraceEventsTest, SpansOfThreads) {
  const std::string path = PathOf("threads.json");
  const int status = InChild([&] {
    { const TraceSpan before("none", "before"); }
    CHECK_OK(TraceEvents::Start(path));
    CHECK_OK(TraceEvents::Start(path));  // the same
    {
      const TraceSpan outer("run", "a \"step\"\n", "repetitions", 80);
      const TraceSpan inner("copy", "x\xff");
    }
    std::thread([] {
      NameThread("stream worker");
      const TraceSpan span("run", "of a worker");
    }).join();
  });
  EXPECT_EQ(status, 0);
  std::map<std::string, Json> events;
  std::map<int, std::string> tracks;
  for (const Json& event : Parse(path)) {
    if (event["ph"] == "X") events[event["name"]] = event;
    if (event["name"] == "thread_name") {
      tracks[event["tid"]] = event["args"]["name"];
    }
  }
  ASSERT_EQ(events.size(), 3u);
  const Json &outer = events["a \"step\"\n"], &inner = events["x\ufffd"],
             &worker = events["of a worker"];
  EXPECT_EQ(outer["cat"], "run");
  EXPECT_EQ(outer["args"]["repetitions"], 80);
  EXPECT_GE(outer["ts"], 0.);
  EXPECT_GE(inner["ts"], outer["ts"]);
  EXPECT_LE(inner["ts"].get<double>() + inner["dur"].get<double>(),
            outer["ts"].get<double>() + outer["dur"].get<double>());
  EXPECT_EQ(tracks[outer["tid"]], "main");
  EXPECT_EQ(tracks[worker["tid"]], "stream worker");
}

// With T for times, which no two runs have alike.
std::string WithoutTimes(const std::string& text) {
  static const auto* time = new std::regex(" *[0-9]+\\.[0-9]{3} ms");
  return std::regex_replace(text, *time, "T");
}

TEST(TraceEventsTest, ATree) {
  for (const char* name : {"tree.txt", "tree.html"}) {
    const int status = InChild([&] {
      CHECK_OK(TraceEvents::Start(PathOf(name)));
      {
        const TraceSpan outer("lower", "a < b");
        for (int k = 0; k < 3; ++k) {
          const TraceSpan inner("copy", "x", "bytes", 8);
        }
        const TraceSpan other("pass", "share");
      }
      std::thread([] {
        NameThread("stream worker");
        const TraceSpan span("run", "step");
      }).join();
    });
    EXPECT_EQ(status, 0);
  }
  const auto text = ReadFile(PathOf("tree.txt"));
  CHECK_OK(text);
  EXPECT_EQ(WithoutTimes(*text),
            "T  lower  a < b\n"
            "T    copy  x, bytes 8, 3 times\n"
            "T    pass  share\n"
            "T  run  step, on stream worker\n");
  const auto html = ReadFile(PathOf("tree.html"));
  CHECK_OK(html);
  EXPECT_THAT(
      WithoutTimes(*html),
      testing::AllOf(
          testing::StartsWith("<!DOCTYPE html>"),
          HasSubstr("<details><summary><i>T</i> lower <b>a &lt; b</b>"
                    "</summary>\n<div><i>T</i> copy <b>x</b>, bytes 8, 3 "
                    "times</div>\n"),
          testing::EndsWith("</div>\n</body></html>\n")));
}

TEST(TraceEventsTest, KilledItIsWhole) {
  const std::string path = PathOf("killed.json");
  const int status = InChild([&] {
    CHECK_OK(TraceEvents::Start(path));
    for (int k = 0; k < 2000; ++k) {  // more than one write
      const TraceSpan span("run", absl::StrCat("step ", k));
    }
    raise(SIGINT);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_GT(Parse(path).size(), 500u);
}

// Linux cuts a write of several pages, of whichever thread.
TEST(TraceEventsTest, KilledInAWriteItIsWhole) {
  const std::string path = PathOf("killed_in_a_write.json");
  constexpr size_t kLong = size_t{1} << 24;
  const pid_t child = fork();
  if (child == 0) {
    CHECK_OK(TraceEvents::Start(path));
    std::thread([] {
      const TraceSpan span("run", std::string(kLong, 'x'));
    }).join();
    while (true) pause();
  }
  struct stat found = {};
  while (stat(path.c_str(), &found) != 0 || found.st_size < (1 << 20)) {
    usleep(100);
  }
  CHECK_EQ(kill(child, SIGINT), 0);
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_EQ(Parse(path).back()["name"].get<std::string>().size(), kLong);
}

TEST(TraceEventsTest, Levels) {
  for (int level : {0, 1, 2, 3}) {
    const std::string path = PathOf(absl::StrCat("level_", level, ".json"));
    const int status = InChild([&] {
      CHECK_OK(TraceEvents::Start(path, {.level = level}));
      const TraceSpan run("run", "step");
      const TraceSpan wait("wait", "for the stream");
      const TraceSpan nest("nest", "step:nest-0");
    });
    EXPECT_EQ(status, 0);
    int spans = 0;
    for (const Json& event : Parse(path)) spans += event["ph"] == "X" ? 1 : 0;
    EXPECT_EQ(spans, level);
  }
}

TEST(TraceEventsTest, EndsWithTheLastThatItHolds) {
  const std::string path = PathOf("most.json");
  const int status = InChild([&] {
    CHECK_OK(TraceEvents::Start(path, {.most_spans = 10}));
    for (int k = 0; k < 12; ++k) {
      CHECK_EQ(TraceEvents::IsOn(), k < 10);
      const TraceSpan span("run", "step");
    }
  });
  EXPECT_EQ(status, 0);
  const Json events = Parse(path);
  EXPECT_EQ(events.size(), 2 + 10u);
  EXPECT_EQ(events.back()["args"]["last"], 10);
}

TEST(TraceEventsTest, Errors) {
  const int status = InChild([] {
    EXPECT_THAT(std::string(TraceEvents::Start("/none/trace").message()),
                HasSubstr("/none/trace"));
    EXPECT_THAT(std::string(TraceEvents::Start("/dev/full").message()),
                HasSubstr("/dev/full: it is a device"));
    EXPECT_FALSE(TraceEvents::IsOn());
    CHECK_OK(TraceEvents::Start(PathOf("one.json")));
    EXPECT_THAT(std::string(TraceEvents::Start("other.json").message()),
                HasSubstr("cannot trace to other.json: this process does to"));
    CHECK(!testing::Test::HasFailure());
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace ocannl
