// SPDX-License-Identifier: Apache-2.0
//
// StopSignals: while one lives, SIGINT and SIGTERM are wishes; the second one
// of a kind ends the process, as it does without it. What is ignored stays so.
//
//   StopSignals signals;
//   while (StopSignals::received() == 0) Step();
//   Save();
//   return 128 + StopSignals::received();    // as shells name it
#ifndef OCANNL_CORE_BASE_SYSTEM_STOP_SIGNALS_H_
#define OCANNL_CORE_BASE_SYSTEM_STOP_SIGNALS_H_

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
  struct sigaction interrupt_before_;
  struct sigaction terminate_before_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_STOP_SIGNALS_H_
