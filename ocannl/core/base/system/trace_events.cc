// SPDX-License-Identifier: Apache-2.0
//
// The file is an array, an event a line. Each write begins where its last
// bracket stands and ends with a new one.
#include "ocannl/core/base/system/trace_events.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/open_file.h"

namespace ocannl {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kEnd = "\n]\n";

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

class Writer {
 public:
  absl::Status Open(const std::string& path, int64_t most) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (file_) {
      if (file_->path() == path) return absl::OkStatus();
      return absl::FailedPreconditionError(absl::StrCat(
          "cannot trace to ", path, ": this process does to ", file_->path()));
    }
    OCANNL_ASSIGN_OR_RETURN(OpenFile file,
                            OpenFile::Open(path, O_WRONLY | O_CREAT | O_TRUNC));
    if (!S_ISREG(file.stat().st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot trace to ", path, ": it is ",
                       KindOf(file.stat()), ", and must be an ordinary file"));
    }
    file_ = std::move(file);
    start_ = Now();
    most_ = most;
    waiting_ = "[\n" + ToText(Metadata("process_name", "ocannl"));
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
    if (waiting_.size() >= kMostBytes || now - flushed_ >= kMostNanoseconds) {
      flushed_ = now;
      FlushLocked().IgnoreError();  // Flush tells it
    }
    return status_.ok() && spans_ < most_;
  }

  absl::Status Flush() {
    std::lock_guard<std::mutex> lock(mutex_);
    return FlushLocked();
  }

 private:
  absl::Status FlushLocked() {
    if (!status_.ok() || !file_ || waiting_.empty()) return status_;
    const std::string bytes = absl::StrCat(waiting_, kEnd);
    // At once, so that a signal finds the old end or the new one.
    errno = ENOSPC;  // what a short write means
    const ssize_t size = pwrite(file_->fd(), bytes.data(), bytes.size(), end_);
    if (size != static_cast<ssize_t>(bytes.size())) {
      return status_ = SystemError("write", file_->path());
    }
    end_ += static_cast<int64_t>(waiting_.size());
    waiting_.clear();
    return status_;
  }

  std::mutex mutex_;  // guards the rest
  std::optional<OpenFile> file_;
  int64_t end_ = 0;      // where its last bracket's line ends
  std::string waiting_;  // to be written there
  int64_t start_ = 0, flushed_ = 0;
  int64_t spans_ = 0, most_ = 0;
  absl::Status status_;
};

// Threads may outlive main.
Writer& TheWriter() {
  static auto* writer = new Writer();
  return *writer;
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

absl::Status TraceEvents::Start(const std::string& path, int64_t most) {
  OCANNL_RETURN_IF_ERROR(TheWriter().Open(path, most));
  static const int registered = std::atexit(FlushAtExit);
  (void)registered;
  on = true;
  return absl::OkStatus();
}

absl::Status TraceEvents::Flush() { return TheWriter().Flush(); }

void TraceSpan::Begin(const char* category, absl::string_view name,
                      const char* key, int64_t value) {
  category_ = category;
  name_ = std::string(name);
  key_ = key;
  value_ = value;
  begin_ = Now();
}

void TraceSpan::End() {
  Json event = {{"ph", "X"},
                {"cat", category_},
                {"name", name_},
                {"pid", getpid()},
                {"tid", gettid()}};
  if (key_ != nullptr) event["args"] = {{key_, value_}};
  if (!TheWriter().Add(std::move(event), begin_)) TraceEvents::on = false;
}

void NameThread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace ocannl
