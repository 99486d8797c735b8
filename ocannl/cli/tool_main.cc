// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "ocannl/cli/tool.h"
#include "ocannl/core/base/system/run_main.h"

int main(int argc, char** argv) {
  return ocannl::RunMain([&] {
    return ocannl::RunTool(
        std::vector<std::string>(argv + std::min(1, argc), argv + argc),
        std::cout, std::cerr, ocannl::ProgramAsTyped(argc > 0 ? argv[0] : ""));
  });
}
