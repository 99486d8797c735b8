// SPDX-License-Identifier: Apache-2.0
//
// NumberText: a number in the shortest form that reads back.
//
//   NumberText(0.1f), NumberText(1e300), NumberText(-3)   ->   0.1 1e+300 -3
#ifndef OCANNL_CORE_BASE_NUMBER_TEXT_H_
#define OCANNL_CORE_BASE_NUMBER_TEXT_H_

#include <charconv>
#include <iterator>
#include <string>

namespace ocannl {

template <class T>
std::string NumberText(T number) {
  char text[32];
  return std::string(text, std::to_chars(text, std::end(text), number).ptr);
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_NUMBER_TEXT_H_
