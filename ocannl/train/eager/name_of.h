// SPDX-License-Identifier: Apache-2.0
//
// The names of functions and types, but for templates: NameOf<&ocannl::Relu>()
// is "Relu".
#ifndef OCANNL_TRAIN_EAGER_NAME_OF_H_
#define OCANNL_TRAIN_EAGER_NAME_OF_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace ocannl::train {

// "Relu" of "[with auto F = ocannl::Relu]".
constexpr absl::string_view LastName(const char* pretty) {
  std::string_view text = pretty;
  text = text.substr(text.find("= ") + 2);
  text = text.substr(0, text.find_first_of(";]"));
  text = text.substr(0, text.find_last_not_of(">) ") + 1);
  text = text.substr(text.find_last_of(":<&( ") + 1);
  return {text.data(), text.size()};
}
template <auto F>
constexpr auto NameOf() {
  return LastName(__PRETTY_FUNCTION__);
}
template <class T>
constexpr auto NameOfType() {
  return LastName(__PRETTY_FUNCTION__);
}

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_NAME_OF_H_
