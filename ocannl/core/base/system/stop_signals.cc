// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/stop_signals.h"

#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

volatile std::sig_atomic_t last_signal = 0;

void Remember(int number) { last_signal = number; }

void Catch(int number, const struct sigaction& action,
           struct sigaction& before) {
  CHECK_EQ(sigaction(number, nullptr, &before), 0);
  // As shells want it for what runs in the background.
  if (before.sa_handler == SIG_IGN) return;
  CHECK_EQ(sigaction(number, &action, nullptr), 0);
}

}  // namespace

StopSignals::StopSignals() {
  last_signal = 0;  // while nothing is caught that would set it
  struct sigaction action = {};
  action.sa_handler = &Remember;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  Catch(SIGINT, action, interrupt_before_);
  Catch(SIGTERM, action, terminate_before_);
}

StopSignals::~StopSignals() {
  CHECK_EQ(sigaction(SIGINT, &interrupt_before_, nullptr), 0);
  CHECK_EQ(sigaction(SIGTERM, &terminate_before_, nullptr), 0);
}

int StopSignals::received() { return last_signal; }

}  // namespace ocannl
