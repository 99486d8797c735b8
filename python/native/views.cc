// SPDX-License-Identifier: Apache-2.0
//
// Cells of Python objects.
#include <dlpack/dlpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "python/native/arrays.h"
#include "python/native/element_types.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

// What the buffer protocol gives, until it is released.
struct HeldBuffer {
  Py_buffer buffer = {};
  ~HeldBuffer() { PyBuffer_Release(&buffer); }
};

// Null: the object does not have the protocol.
std::shared_ptr<HeldBuffer> BufferOf(const py::handle& object) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return nullptr;
  auto held = std::make_shared<HeldBuffer>();
  if (PyObject_GetBuffer(object.ptr(), &held->buffer, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  return held;
}

[[noreturn]] void RaiseWrongType(const py::handle& object,
                                 absl::string_view found, DType wanted,
                                 const std::string& what) {
  const std::string name = NumpyName(wanted);
  const std::string fix =
      py::hasattr(object, "astype") ? absl::StrCat(".astype(\"", name, "\")")
      : py::hasattr(object, "to")
          ? absl::StrCat(".to(torch.", name, ")")
          : absl::StrCat("numpy.asarray(values, \"", name, "\")");
  Raise(absl::StrCat(what, " is an array of ", found, ", but ", Name(wanted),
                     " is needed; convert it, as by ", fix));
}

// How the object itself, or else the buffer protocol, calls its elements.
std::string ElementsOf(const py::handle& object, absl::string_view format) {
  if (py::hasattr(object, "dtype")) return py::str(object.attr("dtype"));
  return absl::StrCat("the format \"", format, "\"");
}

ArrayView ViewOfBuffer(const py::handle& object,
                       std::shared_ptr<HeldBuffer> held, DType wanted,
                       const std::string& what) {
  const Py_buffer& buffer = held->buffer;
  const absl::string_view format =
      buffer.format == nullptr ? "B" : buffer.format;
  const ElementType* type = FindFormat(format, buffer.itemsize);
  if (type == nullptr) {
    RaiseWrongType(object, ElementsOf(object, format), wanted, what);
  }
  // Of ctypes, strides are null; of an exporter without axes, shapes too.
  ArrayView view = {.data = static_cast<const std::byte*>(buffer.buf),
                    .dtype = type->dtype,
                    .dims = {},
                    .strides = {},
                    .owner = nullptr};
  if (buffer.shape != nullptr) {
    view.dims.assign(buffer.shape, buffer.shape + buffer.ndim);
  } else if (buffer.ndim > 0) {
    view.dims = {buffer.len / buffer.itemsize};
  }
  if (buffer.strides != nullptr) {
    view.strides.assign(buffer.strides, buffer.strides + buffer.ndim);
  } else {
    view.strides = RowMajorStrides(view.dims, buffer.itemsize);
  }
  view.owner = std::move(held);
  return view;
}

// Of NumPy with the dtypes of ml_dtypes, for which the buffer protocol has no
// formats. nullopt: the object is not such an array.
std::optional<ArrayView> ViewOfNarrowFloats(const py::handle& object,
                                            const std::string& what) {
  if (!py::hasattr(object, "__array_interface__")) return std::nullopt;
  const std::string found = py::str(object.attr("dtype"));
  for (DType dtype : {DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    if (found != NumpyName(dtype)) continue;
    const DType bits = SizeOf(dtype) == 2 ? DType::kU16 : DType::kU8;
    const py::object same = object.attr("view")(NumpyName(bits));
    ArrayView view = ViewOfBuffer(same, BufferOf(same), bits, what);
    view.dtype = dtype;
    return view;
  }
  return std::nullopt;
}

// The tensor of a capsule of DLPack, and what keeps it alive.
std::shared_ptr<DLManagedTensor> TakeDlpack(const py::handle& object,
                                            DType wanted,
                                            const std::string& what) {
  const auto device =
      py::cast<std::pair<int, int>>(object.attr("__dlpack_device__")());
  if (device.first != kDLCPU && device.first != kDLCUDAHost) {
    Raise(absl::StrCat(what, " is not in the memory of the host; copy it, as ",
                       "by .cpu()"));
  }
  py::capsule capsule;
  try {
    capsule = object.attr("__dlpack__")();
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_BufferError)) throw;
    // NumPy's message does not name the dtype; PyTorch's has the fix.
    if (py::hasattr(object, "__array_interface__")) {
      RaiseWrongType(object, ElementsOf(object, ""), wanted, what);
    }
    Raise(absl::StrCat(
        what, " cannot be read: ", std::string(py::str(error.value()))));
  }
  auto* managed = static_cast<DLManagedTensor*>(
      PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return {managed, [](DLManagedTensor* held) {
            if (held->deleter != nullptr) held->deleter(held);
          }};
}

ArrayView ViewOfDlpack(const py::handle& object, DType wanted,
                       const std::string& what) {
  ArrayView view;
  const auto managed = TakeDlpack(object, wanted, what);
  view.owner = managed;
  const DLTensor& tensor = managed->dl_tensor;
  const ElementType* type = FindCode(tensor.dtype);
  if (type == nullptr) {
    RaiseWrongType(object, ElementsOf(object, "DLPack"), wanted, what);
  }
  view.data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  view.dtype = type->dtype;
  view.dims.assign(tensor.shape, tensor.shape + tensor.ndim);
  const auto size = static_cast<int64_t>(SizeOf(type->dtype));
  if (tensor.strides == nullptr) {
    view.strides = RowMajorStrides(view.dims, size);
  } else {
    for (int k = 0; k < tensor.ndim; ++k) {
      view.strides.push_back(tensor.strides[k] * size);
    }
  }
  return view;
}

// Whether the T nearest to `number` is the number, or T a float.
template <class T>
bool Holds(double number) {
  if constexpr (std::is_same_v<T, bool>) {
    return number == 0 || number == 1;
  } else if constexpr (std::is_integral_v<T>) {
    return std::trunc(number) == number &&
           number >= static_cast<double>(std::numeric_limits<T>::min()) &&
           number < std::ldexp(1.0, std::numeric_limits<T>::digits);
  } else {
    return true;
  }
}

// Lists in lists: as many as NumPy has axes.
constexpr size_t kMaxDepth = 64;

// Numbers, and lists and tuples of them, of equal lengths.
struct Numbers {
  std::vector<double> values;
  Dims dims;

  void Add(const py::handle& object, size_t depth, const std::string& what) {
    const bool is_list =
        py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object);
    if (!is_list) {
      const double value = NumberOf(object, depth, what);
      if (PyLong_Check(object.ptr()) && std::abs(value) >= 0x1p53 &&
          !py::float_(value).equal(object)) {
        Raise(absl::StrCat(what, " has an integer above 2^53, which lists do ",
                           "not keep exactly; give an array"));
      }
      if (depth != dims.size()) Uneven(what);
      values.push_back(value);
      return;
    }
    if (depth == kMaxDepth) {
      Raise(absl::StrCat(what, " has lists in lists deeper than ", kMaxDepth));
    }
    const auto list = py::reinterpret_borrow<py::sequence>(object);
    const auto length = static_cast<int64_t>(list.size());
    if (depth == dims.size() && values.empty()) dims.push_back(length);
    if (depth >= dims.size() || dims[depth] != length) Uneven(what);
    for (const py::handle part : list) Add(part, depth + 1, what);
  }

  static double NumberOf(const py::handle& object, size_t depth,
                         const std::string& what) {
    const double value = PyFloat_AsDouble(object.ptr());
    if (value != -1 || PyErr_Occurred() == nullptr) return value;
    const bool is_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
    PyErr_Clear();
    const char* const type = Py_TYPE(object.ptr())->tp_name;
    if (is_large) {
      Raise(absl::StrCat(what, " has an integer that no dtype holds"));
    }
    if (depth > 0 && py::hasattr(object, "shape")) {
      Raise(absl::StrCat(what, " is a list of ", type,
                         "; give one array, as by numpy.stack(list)"));
    }
    Raise(absl::StrCat(
        what, depth > 0 ? " has an element that is a " : " is a ", type,
        "; give an array with the buffer protocol or DLPack, such as ",
        "NumPy's and PyTorch's, or numbers"));
  }

  [[noreturn]] static void Uneven(const std::string& what) {
    Raise(absl::StrCat(what, " has lists of different lengths or depths; ",
                       "give lists that form a block"));
  }
};

ArrayView ViewOfNumbers(const py::handle& object, DType wanted,
                        const std::string& what) {
  Numbers numbers;
  numbers.Add(object, 0, what);
  auto array = std::make_shared<NdArray>(wanted, numbers.dims);
  VisitDType(wanted, [&](auto zero) {
    using T = decltype(zero);
    for (size_t k = 0; k < numbers.values.size(); ++k) {
      if (!Holds<T>(numbers.values[k])) {
        Raise(absl::StrCat(what, " has the number ", numbers.values[k],
                           ", which ", Name(wanted), " does not hold"));
      }
      if constexpr (kIsNarrow<T>) {
        array->values<T>()[k] = T::Round(numbers.values[k]);
      } else {
        array->values<T>()[k] = static_cast<T>(numbers.values[k]);
      }
    }
  });
  return {.data = array->data(),
          .dtype = wanted,
          .dims = {numbers.dims.begin(), numbers.dims.end()},
          .strides = RowMajorStrides(numbers.dims,
                                     static_cast<int64_t>(SizeOf(wanted))),
          .owner = array};
}

void CopyAxis(const ArrayView& view, size_t axis, const std::byte* from,
              std::byte*& to) {
  if (axis == view.dims.size()) {
    const size_t size = SizeOf(view.dtype);
    std::memcpy(to, from, size);
    to += size;
    return;
  }
  for (int64_t i = 0; i < view.dims[axis]; ++i) {
    CopyAxis(view, axis + 1, from + i * view.strides[axis], to);
  }
}

void CheckType(const ArrayView& view, const py::handle& object, DType wanted,
               const std::string& what) {
  if (view.dtype != wanted) {
    RaiseWrongType(object, Name(view.dtype), wanted, what);
  }
}

// Of objects that do not have the buffer protocol.
ArrayView ViewOfOthers(const py::handle& object, DType wanted,
                       const std::string& what) {
  std::optional<ArrayView> view = ViewOfNarrowFloats(object, what);
  if (!view && py::hasattr(object, "__dlpack__")) {
    view = ViewOfDlpack(object, wanted, what);
  } else if (!view && py::hasattr(object, "__array__")) {  // as of pandas
    const py::object array = object.attr("__array__")();
    std::shared_ptr<HeldBuffer> cells = BufferOf(array);
    if (cells == nullptr) {
      RaiseWrongType(object, ElementsOf(array, ""), wanted, what);
    }
    view = ViewOfBuffer(array, std::move(cells), wanted, what);
  } else if (!view) {
    return ViewOfNumbers(object, wanted, what);
  }
  CheckType(*view, object, wanted, what);
  return *std::move(view);
}

}  // namespace

ArrayView::Sizes RowMajorStrides(absl::Span<const int64_t> dims, int64_t size) {
  ArrayView::Sizes strides(dims.size());
  for (size_t k = dims.size(); k-- > 0; size *= dims[k]) strides[k] = size;
  return strides;
}

bool ArrayView::is_contiguous() const {
  return strides == RowMajorStrides(dims, static_cast<int64_t>(SizeOf(dtype)));
}

void ArrayView::CopyTo(std::byte* to) const {
  const size_t bytes = NumElements(dims) * SizeOf(dtype);
  std::byte* const begin = to;
  if (bytes == 0) return;
  if (is_contiguous()) {
    std::memcpy(to, data, bytes);
  } else {
    CopyAxis(*this, 0, data, to);
  }
  if (dtype != DType::kBool) return;
  for (size_t k = 0; k < bytes; ++k) {
    begin[k] = std::byte{begin[k] != std::byte{0}};
  }
}

ArrayView ViewOf(const py::handle& object, DType wanted,
                 const std::string& what) {
  std::shared_ptr<HeldBuffer> buffer = BufferOf(object);
  if (buffer == nullptr) return ViewOfOthers(object, wanted, what);
  // NumPy's own class is static; those that Python defines are not.
  if (PyType_HasFeature(Py_TYPE(object.ptr()), Py_TPFLAGS_HEAPTYPE) != 0 &&
      py::hasattr(object, "mask")) {
    Raise(absl::StrCat(what, " is a masked array; fill it, as by .filled(0)"));
  }
  ArrayView view = ViewOfBuffer(object, std::move(buffer), wanted, what);
  CheckType(view, object, wanted, what);
  return view;
}

}  // namespace ocannl::python
