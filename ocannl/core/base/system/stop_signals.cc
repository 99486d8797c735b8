// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/stop_signals.h"

#include <cstddef>
#include <iterator>
#include <tuple>

#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

struct StopSignal {
  int number;
  bool second_ends;
};
constexpr StopSignal kStopSignals[] = {{SIGINT, true},
                                       {SIGTERM, true},
                                       {SIGHUP, false},
                                       {SIGXCPU, false},
                                       {SIGXFSZ, false}};

volatile std::sig_atomic_t last_signal = 0;

void Remember(int number) { last_signal = number; }

void Catch(const StopSignal& signal, struct sigaction& before) {
  CHECK_EQ(sigaction(signal.number, nullptr, &before), 0);
  // As shells want it for what runs in the background, and nohup for SIGHUP.
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = &Remember;
  action.sa_flags = SA_RESTART | (signal.second_ends ? SA_RESETHAND : 0);
  CHECK_EQ(sigaction(signal.number, &action, nullptr), 0);
}

}  // namespace

StopSignals::StopSignals() {
  last_signal = 0;  // while nothing is caught that would set it
  static_assert(std::size(kStopSignals) ==
                std::tuple_size_v<decltype(before_)>);
  for (size_t k = 0; k < before_.size(); ++k) {
    Catch(kStopSignals[k], before_[k]);
  }
}

StopSignals::~StopSignals() {
  for (size_t k = 0; k < before_.size(); ++k) {
    CHECK_EQ(sigaction(kStopSignals[k].number, &before_[k], nullptr), 0);
  }
}

int StopSignals::received() { return last_signal; }

}  // namespace ocannl
