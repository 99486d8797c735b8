// SPDX-License-Identifier: Apache-2.0
//
// TraceEvents: what each thread did and when, in Chrome's trace event format
// (Duca and Sinclair, "Trace Event Format", 2016), which Perfetto and
// chrome://tracing open, or as a tree (span_tree.h).
//
//   OCANNL_RETURN_IF_ERROR(TraceEvents::Start("trace.json"));
//   {
//     const TraceSpan span("compile", program.name);
//     ...
//   }
#ifndef OCANNL_CORE_BASE_SYSTEM_TRACE_EVENTS_H_
#define OCANNL_CORE_BASE_SYSTEM_TRACE_EVENTS_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ocannl {

struct TraceLimits {
  // 1: compilations and runs; 2: also what they are made of, copies and waits;
  // 3: also every nest of machine code. 0: none.
  int level = 3;
  // About 100 MB, which viewers still open.
  int64_t most_spans = 1'000'000;
};

// Of the process.
class TraceEvents {
 public:
  // From now on writes spans to the file `path`, which is replaced, until the
  // process ends or `most_spans` is reached. A file that ends in .html or .txt
  // gets a tree, others get events. The file is whole JSON or HTML at any time.
  // SIGHUP, SIGINT and SIGTERM get a handler that waits for a write, unless
  // they have a handler; SIGKILL can cut a write. If a signal ends the process,
  // spans may be missing that ended within a tenth of a second of the last
  // write; in a tree, spans inside of others too. Does nothing if it was
  // started with the same path. Errors: it was started with another path; the
  // path is not an ordinary file; the system's.
  static absl::Status Start(const std::string& path,
                            const TraceLimits& limits = {});

  static bool IsOn() { return on.load(std::memory_order_relaxed); }

  // Writes what is not in the file yet. Error: the system's, also of before.
  static absl::Status Flush();

 private:
  friend class TraceSpan;
  static std::atomic<bool> on;
  static std::atomic<bool> is_tree;
};

// Something that lasts as long as this, on the thread that makes it; a load
// and a branch if there is no trace. Thread-safe.
class TraceSpan {
 public:
  // `category` and `key` are literals. `key`, if it is not null, names `value`.
  TraceSpan(const char* category, absl::string_view name,
            const char* key = nullptr, int64_t value = 0) {
    if (TraceEvents::IsOn()) Begin(category, name, key, value);
  }
  ~TraceSpan() {
    if (category_ != nullptr) End();
  }
  TraceSpan(const TraceSpan&) = delete;

 private:
  void Begin(const char* category, absl::string_view name, const char* key,
             int64_t value);
  void End();
  void EndOfTree();

  const char* category_ = nullptr;  // null: there is no trace
  const char* key_ = nullptr;
  int64_t value_ = 0;
  int64_t begin_ = 0;  // in nanoseconds
  std::string name_;
};

// Names the calling thread, for its track and for debuggers: up to 15 bytes.
void NameThread(const char* name);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_TRACE_EVENTS_H_
