// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <vector>

#include "ocannl/cli/tool.h"
#include "ocannl/core/base/system/run_main.h"

int main(int argc, char** argv) {
  return ocannl::RunMain([&] {
    return ocannl::RunTool(std::vector<std::string>(argv + 1, argv + argc),
                           std::cout, std::cerr);
  });
}
