// SPDX-License-Identifier: Apache-2.0
//
// WordPiece, the tokenizer of BERT, and SentenceEncoder.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "python/native/arrays.h"
#include "python/native/interruptible.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using train::WordPiece;

std::pair<py::object, py::object> Encode(const WordPiece& pieces,
                                         const std::vector<std::string>& texts,
                                         int64_t most, int64_t multiple) {
  if (texts.empty()) Raise("there is no text; give one or more");
  constexpr int64_t kMost = 1 << 24;  // tokens of a text
  if (most < 2 || multiple < 1 || most > kMost || multiple > kMost) {
    Raise(absl::StrCat("most=", most, " and multiple=", multiple,
                       "; give 2 and 1 or more, up to ", kMost));
  }
  const train::TokenBatch batch =
      pieces.EncodeBatch(texts, {.most = most, .multiple = multiple});
  return {ToPython(batch.ids), ToPython(batch.mask)};
}

class SentenceEncoder {
 public:
  SentenceEncoder(const std::string& folder, const std::string& tier,
                  int threads)
      : loaded_(std::make_shared<Loaded>(
            Check(FindTier(tier, {.threads = threads})))) {
    Check(Interruptible(loaded_, [folder, loaded = loaded_]() -> absl::Status {
      OCANNL_ASSIGN_OR_RETURN(
          train::SentenceEncoder made,
          train::SentenceEncoder::Load(folder, Context(&loaded->stream)));
      loaded->encoder.emplace(std::move(made));
      return absl::OkStatus();
    }));
  }

  py::object Embed(const std::vector<std::string>& texts, int64_t batch) {
    return Do([=](train::SentenceEncoder& encoder) {
      return encoder.Embed(texts, batch);
    });
  }

  py::object EmbedTokens(const py::object& ids, const py::object& mask) {
    const train::TokenBatch tokens = {
        .ids = ArrayOf(ViewOf(ids, DType::kI32, "`ids`")),
        .mask = ArrayOf(ViewOf(mask, DType::kF32, "`mask`"))};
    return Do([tokens](train::SentenceEncoder& encoder) {
      return encoder.EmbedTokens(tokens);
    });
  }

  const train::SentenceEncoder& encoder() const { return *loaded_->encoder; }

 private:
  struct Loaded : Workplace {
    explicit Loaded(const Backend* tier) : device("host", tier) {}

    Device device;
    Stream stream{&device};
    std::optional<train::SentenceEncoder> encoder;
  };

  // What `embed` makes of the encoder.
  template <class EmbedWith>
  py::object Do(EmbedWith embed) {
    loaded_->CheckProcess();
    const auto rows = std::make_shared<std::optional<NdArray>>();
    Check(Interruptible(loaded_, [=, loaded = loaded_]() -> absl::Status {
      OCANNL_ASSIGN_OR_RETURN(*rows, embed(*loaded->encoder));
      return absl::OkStatus();
    }));
    return ToPython(**rows);
  }

  std::shared_ptr<Loaded> loaded_;
};

}  // namespace

void BindText(py::module_& module) {
  py::class_<WordPiece>(module, "WordPiece")
      .def(py::init([](const std::string& path, bool lower_case) {
        return Check(WordPiece::Load(path, {.lower_case = lower_case}));
      }))
      .def("size", &WordPiece::size)
      .def("piece", &WordPiece::piece)
      .def("ids", [](const WordPiece& pieces,
                     const std::string& text) { return pieces.Encode(text); })
      .def("batch", &Encode);
  py::class_<SentenceEncoder>(module, "SentenceEncoder")
      .def(py::init<const std::string&, const std::string&, int>())
      .def("embed", &SentenceEncoder::Embed)
      .def("embed_tokens", &SentenceEncoder::EmbedTokens)
      .def("size",
           [](const SentenceEncoder& it) { return it.encoder().size(); })
      .def("max_length",
           [](const SentenceEncoder& it) { return it.encoder().max_length(); });
}

}  // namespace ocannl::python
