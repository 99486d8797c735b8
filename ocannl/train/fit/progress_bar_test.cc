// SPDX-License-Identifier: Apache-2.0
//
// Bars against their text; terminals against a pseudo-terminal.

#include "ocannl/train/fit/progress_bar.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace ocannl::train {
namespace {

TEST(ProgressBarTest, FillsInEighths) {
  EXPECT_EQ(ProgressBar("epoch", 0, 80, 4), "epoch  0/80 ▕    ▏   0%");
  EXPECT_EQ(ProgressBar("epoch", 1, 80, 4), "epoch  1/80 ▕    ▏   1%");
  EXPECT_EQ(ProgressBar("epoch", 3, 80, 4), "epoch  3/80 ▕▏   ▏   3%");
  EXPECT_EQ(ProgressBar("epoch", 20, 80, 4), "epoch 20/80 ▕█   ▏  25%");
  EXPECT_EQ(ProgressBar("epoch", 46, 80, 4), "epoch 46/80 ▕██▎ ▏  57%");
  EXPECT_EQ(ProgressBar("epoch", 79, 80, 4), "epoch 79/80 ▕███▉▏  98%");
  EXPECT_EQ(ProgressBar("epoch", 80, 80, 4), "epoch 80/80 ▕████▏ 100%");
}

TEST(TimeLeftTest, GoesOnAtTheRateSoFar) {
  EXPECT_EQ(TimeLeft(0, 80, 0.5), "");
  EXPECT_EQ(TimeLeft(1, 80, 0), "");
  EXPECT_EQ(TimeLeft(10, 20, 5), "2.00/s, 0:05 left");
  EXPECT_EQ(TimeLeft(1, 66, 1), "1.00/s, 1:05 left");
  EXPECT_EQ(TimeLeft(10, 3610, 20), "0.50/s, 2:00:00 left");
  EXPECT_EQ(TimeLeft(20, 20, 3), "6.67/s, 0:00 left");
  EXPECT_EQ(TimeLeft(2500, 5000, 1), "2500/s, 0:01 left");
}

TEST(ProgressBarDeathTest, RefusesWhatIsNoFraction) {
  EXPECT_DEATH(ProgressBar("", 2, 1, 4), "2 of 1");
  EXPECT_DEATH(ProgressBar("", 0, 0, 4), "0 of 0");
}

// What ShowProgress writes when stderr is `descriptor`; takes it over.
void ShowOn(int descriptor) {
  const int saved = dup(STDERR_FILENO);
  dup2(descriptor, STDERR_FILENO);
  close(descriptor);
  ShowProgress("half");
  dup2(saved, STDERR_FILENO);
  close(saved);
}

std::string ReadSome(int descriptor) {
  char buffer[100];
  const ssize_t size = read(descriptor, buffer, sizeof(buffer));
  close(descriptor);
  return std::string(buffer, size > 0 ? size : 0);
}

TEST(ShowProgressTest, WritesOverTheLineOfATerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    GTEST_SKIP() << "this system gives no pseudo-terminal";
  }
  ShowOn(open(ptsname(terminal), O_RDWR | O_NOCTTY));
  EXPECT_EQ(ReadSome(terminal), "\rhalf\x1b[K");
}

TEST(ShowProgressTest, IsSilentElsewhere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ShowOn(ends[1]);
  EXPECT_EQ(ReadSome(ends[0]), "");
}

}  // namespace
}  // namespace ocannl::train
