// SPDX-License-Identifier: Apache-2.0
//
// The file of events is an array, an event a line. Each write begins where its
// last bracket, or the end of a page, stands and ends with a new one.
#include "ocannl/core/base/system/trace_events.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/open_file.h"
#include "ocannl/core/base/system/span_tree.h"

namespace ocannl {
namespace {

using Json = nlohmann::ordered_json;

// What a file is of, by its path.
enum class Format : uint8_t { kEvents, kText, kHtml };

Format FormatOf(absl::string_view path) {
  return absl::EndsWith(path, ".html")  ? Format::kHtml
         : absl::EndsWith(path, ".txt") ? Format::kText
                                        : Format::kEvents;
}

absl::string_view HeadOf(Format format) {
  return format == Format::kHtml     ? kSpanPageHead
         : format == Format::kEvents ? "[\n"
                                     : "";
}

absl::string_view EndOf(Format format) {
  return format == Format::kHtml     ? kSpanPageEnd
         : format == Format::kEvents ? "\n]\n"
                                     : "";
}

// What waits for a write: at most so many bytes, for so long.
constexpr size_t kMostBytes = size_t{1} << 16;
constexpr int64_t kMostNanoseconds = 100'000'000;

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Json Metadata(const char* what, absl::string_view name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", getpid()},
          {"tid", gettid()},
          {"args", {{"name", std::string(name)}}}};
}

std::string ThreadName() {
  if (gettid() == getpid()) return "main";
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

// Text of any bytes as JSON.
std::string ToText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A signal that ends the process cuts the write of any thread where a page
// ends. So it waits for one under way, and none begins after it.
std::atomic<bool> is_writing = false;
std::atomic<int> held_signal = 0;

void EndBetweenWrites(int number) {
  held_signal = number;
  if (is_writing.exchange(true)) return;  // who writes ends it
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void CatchSignals() {
  for (int number : {SIGHUP, SIGINT, SIGTERM, SIGXCPU}) {
    struct sigaction found = {};
    sigaction(number, nullptr, &found);
    // What the program does with it, or ignores, stays.
    if (found.sa_handler == SIG_DFL) std::signal(number, &EndBetweenWrites);
  }
}

class Writer {
 public:
  absl::Status Open(const std::string& path, int64_t most) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (file_) {
      if (file_->path() == path) return absl::OkStatus();
      return absl::FailedPreconditionError(absl::StrCat(
          "cannot trace to ", path, ": this process does to ", file_->path()));
    }
    OCANNL_ASSIGN_OR_RETURN(OpenFile file, OpenFile::OpenOutput(path, O_TRUNC));
    if (!S_ISREG(file.stat().st_mode)) {  // what is written goes back
      return NoOutputError(path, file.stat());
    }
    file_ = std::move(file);
    start_ = Now();
    most_ = most;
    format_ = FormatOf(path);
    waiting_ = std::string(HeadOf(format_));
    if (format_ == Format::kEvents)
      waiting_ += ToText(Metadata("process_name", "ocannl"));
    return FlushLocked();
  }

  // Of a span on this thread that ends now. False: there is no more room.
  bool Add(Json event, int64_t begin) {
    thread_local bool is_known = false;
    const int64_t now = Now();
    std::lock_guard<std::mutex> lock(mutex_);
    if (!status_.ok() || spans_ >= most_) return false;
    if (!std::exchange(is_known, true)) {
      absl::StrAppend(&waiting_, ",\n",
                      ToText(Metadata("thread_name", ThreadName())));
    }
    event["ts"] = 1e-3 * static_cast<double>(begin - start_);
    event["dur"] = 1e-3 * static_cast<double>(now - begin);
    if (++spans_ == most_) event["args"]["last"] = most_;
    absl::StrAppend(&waiting_, ",\n", ToText(event));
    return FlushIfLate(now);
  }

  // Likewise, of one that is inside of no other.
  bool AddTree(SpanTree tree) {
    if (gettid() != getpid()) tree.thread = ThreadName();
    const int64_t now = Now();
    std::lock_guard<std::mutex> lock(mutex_);
    if (!status_.ok() || spans_ >= most_) return false;
    ++spans_;
    AddSpan(std::move(tree), trees_);
    return FlushIfLate(now);
  }

  absl::Status Flush() {
    std::lock_guard<std::mutex> lock(mutex_);
    return FlushLocked();
  }

 private:
  bool FlushIfLate(int64_t now) {
    if (waiting_.size() >= kMostBytes || now - flushed_ >= kMostNanoseconds) {
      flushed_ = now;
      FlushLocked().IgnoreError();  // Flush tells it
    }
    return status_.ok() && spans_ < most_;
  }

  absl::Status FlushLocked() {
    if (!trees_.empty()) {
      waiting_ +=
          format_ == Format::kHtml ? SpanHtml(trees_) : SpanText(trees_);
      trees_.clear();
    }
    if (!status_.ok() || !file_ || waiting_.empty()) return status_;
    if (is_writing.exchange(true)) return status_;  // the process ends
    const std::string bytes = absl::StrCat(waiting_, EndOf(format_));
    errno = ENOSPC;  // what a short write means
    const ssize_t size = pwrite(file_->fd(), bytes.data(), bytes.size(), end_);
    is_writing = false;
    if (held_signal != 0) EndBetweenWrites(held_signal);
    if (size != static_cast<ssize_t>(bytes.size())) {
      return status_ = SystemError("write", file_->path());
    }
    end_ += static_cast<int64_t>(waiting_.size());
    waiting_.clear();
    return status_;
  }

  std::mutex mutex_;  // guards the rest
  std::optional<OpenFile> file_;
  Format format_ = Format::kEvents;
  int64_t end_ = 0;              // where its last bracket's line ends
  std::string waiting_;          // to be written there
  std::vector<SpanTree> trees_;  // likewise
  int64_t start_ = 0, flushed_ = 0;
  int64_t spans_ = 0, most_ = 0;
  absl::Status status_;
};

// Threads may outlive main.
Writer& TheWriter() {
  static auto* writer = new Writer();
  return *writer;
}

// The spans of a tree that this thread is in, from the outermost.
std::vector<SpanTree>& OpenSpans() {
  thread_local std::vector<SpanTree> spans;
  return spans;
}

std::atomic<int> wanted_level = TraceLimits().level;

int LevelOf(absl::string_view category) {
  if (category == "nest") return 3;
  for (absl::string_view part :
       {"lower", "pass", "schedule", "assemble", "stages", "copy", "wait"}) {
    if (category == part) return 2;
  }
  return 1;
}

void FlushAtExit() {
  const absl::Status status = TraceEvents::Flush();
  if (!status.ok()) {
    absl::FPrintF(stderr, "error: the trace ends early: %s\n",
                  status.message());
  }
}

}  // namespace

std::atomic<bool> TraceEvents::on = false;
std::atomic<bool> TraceEvents::is_tree = false;

absl::Status TraceEvents::Start(const std::string& path,
                                const TraceLimits& limits) {
  OCANNL_RETURN_IF_ERROR(TheWriter().Open(path, limits.most_spans));
  wanted_level = limits.level;
  static const int registered = (CatchSignals(), std::atexit(FlushAtExit));
  (void)registered;
  is_tree = FormatOf(path) != Format::kEvents;
  on = true;
  return absl::OkStatus();
}

absl::Status TraceEvents::Flush() { return TheWriter().Flush(); }

void TraceSpan::Begin(const char* category, absl::string_view name,
                      const char* key, int64_t value) {
  if (LevelOf(category) > wanted_level) return;
  category_ = category;
  name_ = std::string(name);
  key_ = key;
  value_ = value;
  if (TraceEvents::is_tree) OpenSpans().emplace_back();
  begin_ = Now();
}

void TraceSpan::End() {
  if (TraceEvents::is_tree) return EndOfTree();
  Json event = {{"ph", "X"},
                {"cat", category_},
                {"name", name_},
                {"pid", getpid()},
                {"tid", gettid()}};
  if (key_ != nullptr) event["args"] = {{key_, value_}};
  if (!TheWriter().Add(std::move(event), begin_)) TraceEvents::on = false;
}

void TraceSpan::EndOfTree() {
  std::vector<SpanTree>& open = OpenSpans();
  SpanTree span = std::move(open.back());
  open.pop_back();
  span.category = category_;
  span.name = std::move(name_);
  if (key_ != nullptr) span.detail = absl::StrCat(key_, " ", value_);
  span.milliseconds = 1e-6 * static_cast<double>(Now() - begin_);
  if (!open.empty()) {
    AddSpan(std::move(span), open.back().inner);
  } else if (!TheWriter().AddTree(std::move(span))) {
    TraceEvents::on = false;
  }
}

void NameThread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace ocannl
