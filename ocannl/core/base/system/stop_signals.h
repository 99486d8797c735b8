// SPDX-License-Identifier: Apache-2.0
//
// StopSignals: while an object lives, signals that ask a process to end set a
// flag, which the process reads between steps. They are SIGINT, SIGTERM, SIGHUP
// (the terminal is gone), SIGXCPU and SIGXFSZ (more than `ulimit -t` or -f). A
// second SIGINT or SIGTERM ends the process, as without StopSignals. The system
// repeats the others: it sends SIGXCPU in each further second, and SIGXFSZ for
// each further write, which fails with EFBIG. Ignored signals stay ignored.
//
//   StopSignals signals;
//   while (StopSignals::received() == 0) Step();
//   Save();
//   return 128 + StopSignals::received();    // as shells name it
#ifndef OCANNL_CORE_BASE_SYSTEM_STOP_SIGNALS_H_
#define OCANNL_CORE_BASE_SYSTEM_STOP_SIGNALS_H_

#include <array>
#include <csignal>

namespace ocannl {

// One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;

  // The last one that came to the latest StopSignals, even if they are no more;
  // 0: none.
  static int received();

 private:
  std::array<struct sigaction, 5> before_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_STOP_SIGNALS_H_
