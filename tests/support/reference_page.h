// SPDX-License-Identifier: Apache-2.0
//
// Pages that are generated from tables: a test that the page in the repository
// is what the tables say is also what writes it.
#ifndef TESTS_SUPPORT_REFERENCE_PAGE_H_
#define TESTS_SUPPORT_REFERENCE_PAGE_H_

#include <string>

namespace ocannl {

// The main function of such a test: compares the file with `text`, or with
// --update writes it. `path` is that in the repository, `target` the test's
// name. Returns the exit code.
int ReferencePageMain(int argc, char** argv, const std::string& path,
                      const std::string& target, const std::string& text);

}  // namespace ocannl

#endif  // TESTS_SUPPORT_REFERENCE_PAGE_H_
