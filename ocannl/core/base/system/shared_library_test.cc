// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/shared_library.h"

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(SharedLibraryTest, FindsWhatIsThere) {
  auto library = SharedLibrary::Open("libm.so.6");
  ASSERT_TRUE(library.ok());
  EXPECT_EQ((*library)->Find<double(double)>("sqrt")(16), 4);
  EXPECT_EQ((*library)->Find<void()>("no_such_function"), nullptr);
  EXPECT_FALSE(SharedLibrary::Open("libno_such_library.so").ok());
}

}  // namespace
}  // namespace ocannl
