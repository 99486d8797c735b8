// SPDX-License-Identifier: Apache-2.0
#include "python/native/arrays.h"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

// The element types of both protocols, a row for each dtype. `format` is of the
// buffer protocol, and null where it has no such type.
struct ElementType {
  DType dtype;
  const char* format;
  uint8_t code;  // of DLPack
};

constexpr ElementType kElementTypes[] = {
    {DType::kBool, "?", 6},        {DType::kU8, "B", kDLUInt},
    {DType::kU16, "H", kDLUInt},   {DType::kI32, "i", kDLInt},
    {DType::kU32, "I", kDLUInt},   {DType::kI64, "q", kDLInt},
    {DType::kU64, "Q", kDLUInt},   {DType::kF8E4M3, nullptr, 10},
    {DType::kF8E5M2, nullptr, 12}, {DType::kBF16, nullptr, kDLBfloat},
    {DType::kF16, "e", kDLFloat},  {DType::kF32, "f", kDLFloat},
    {DType::kF64, "d", kDLFloat},
};

const ElementType& TypeOf(DType dtype) {
  return *std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                       [&](const ElementType& t) { return t.dtype == dtype; });
}

const ElementType* FindFormat(absl::string_view format, size_t size) {
  if (!format.empty() &&
      (format[0] == '<' || format[0] == '=' || format[0] == '@')) {
    format.remove_prefix(1);
  }
  if (format == "l") format = size == 8 ? "q" : "i";
  if (format == "L") format = size == 8 ? "Q" : "I";
  for (const ElementType& type : kElementTypes) {
    if (type.format != nullptr && format == type.format) return &type;
  }
  return nullptr;
}

const ElementType* FindCode(const DLDataType& found) {
  if (found.lanes != 1) return nullptr;
  for (const ElementType& type : kElementTypes) {
    if (type.code == found.code && SizeOf(type.dtype) * 8 == found.bits) {
      return &type;
    }
  }
  return nullptr;
}

ArrayView::Sizes RowMajorStrides(absl::Span<const int64_t> dims, int64_t size) {
  ArrayView::Sizes strides(dims.size());
  for (size_t k = dims.size(); k-- > 0; size *= dims[k]) strides[k] = size;
  return strides;
}

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

ArrayView ViewOfBuffer(std::shared_ptr<HeldBuffer> held,
                       const std::string& what) {
  const Py_buffer& buffer = held->buffer;
  const absl::string_view format =
      buffer.format == nullptr ? "B" : buffer.format;
  const ElementType* type = FindFormat(format, buffer.itemsize);
  if (type == nullptr) {
    Raise(absl::StrCat(what, " has elements of the format \"", format,
                       "\"; convert it to one of ", DTypeNames()));
  }
  return {.data = static_cast<const std::byte*>(buffer.buf),
          .dtype = type->dtype,
          .dims = {buffer.shape, buffer.shape + buffer.ndim},
          .strides = {buffer.strides, buffer.strides + buffer.ndim},
          .owner = std::move(held)};
}

ArrayView ViewOfDlpack(const py::handle& object, const std::string& what) {
  const auto device =
      py::cast<std::pair<int, int>>(object.attr("__dlpack_device__")());
  if (device.first != kDLCPU && device.first != kDLCUDAHost) {
    Raise(absl::StrCat(what, " is not in the memory of the host; copy it, as ",
                       "by .cpu()"));
  }
  py::capsule capsule = object.attr("__dlpack__")();
  auto* managed = static_cast<DLManagedTensor*>(
      PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  ArrayView view;
  view.owner = {managed, [](DLManagedTensor* held) {
                  if (held->deleter != nullptr) held->deleter(held);
                }};
  const DLTensor& tensor = managed->dl_tensor;
  const ElementType* type = FindCode(tensor.dtype);
  if (type == nullptr) {
    Raise(absl::StrCat(what, " has elements that are none of ", DTypeNames(),
                       "; convert it"));
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
      const double value = PyFloat_AsDouble(object.ptr());
      if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        Raise(absl::StrCat(
            what, " is a ", Py_TYPE(object.ptr())->tp_name,
            "; give an array with the buffer protocol or DLPack, such as ",
            "NumPy's and PyTorch's, or numbers"));
      }
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

// NumPy's name of a dtype: "float32".
std::string NumpyName(DType dtype) {
  const std::string name(Name(dtype));
  if (dtype == DType::kBool || TypeOf(dtype).format == nullptr) return name;
  const absl::string_view kind = name[0] == 'f'   ? "float"
                                 : name[0] == 'u' ? "uint"
                                                  : "int";
  return absl::StrCat(kind, name.substr(1));
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

// What a capsule of DLPack keeps.
struct Exported {
  std::shared_ptr<NdArray> array;
  ArrayView::Sizes strides;
  DLManagedTensor tensor;
};

py::capsule ToDlpack(const std::shared_ptr<NdArray>& array) {
  auto* exported = new Exported();
  exported->array = array;
  const ElementType& type = TypeOf(array->dtype());
  exported->strides = RowMajorStrides(array->dims(), 1);
  exported->tensor = {
      .dl_tensor = {.data = array->data(),
                    .device = {.device_type = kDLCPU, .device_id = 0},
                    .ndim = static_cast<int32_t>(array->dims().size()),
                    .dtype = {.code = type.code,
                              .bits =
                                  static_cast<uint8_t>(8 * SizeOf(type.dtype)),
                              .lanes = 1},
                    .shape = const_cast<int64_t*>(array->dims().data()),
                    .strides = exported->strides.data(),
                    .byte_offset = 0},
      .manager_ctx = exported,
      .deleter = [](DLManagedTensor* self) {
        delete static_cast<Exported*>(self->manager_ctx);
      }};
  // A consumer renames the capsule, and calls the deleter itself then.
  return py::capsule(&exported->tensor, "dltensor", [](PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
    auto* held = static_cast<DLManagedTensor*>(
        PyCapsule_GetPointer(capsule, "dltensor"));
    held->deleter(held);
  });
}

// The buffer protocol. pybind11's own may not fail: it ends the process.
int GetBuffer(PyObject* self, Py_buffer* buffer, int flags) {
  const auto array = py::cast<std::shared_ptr<NdArray>>(py::handle(self));
  const ElementType& type = TypeOf(array->dtype());
  if (type.format == nullptr) {
    PyErr_Format(PyExc_BufferError,
                 "NumPy has no dtype for %s; take the array by DLPack, or "
                 "convert it to f32",
                 std::string(Name(array->dtype())).c_str());
    return -1;
  }
  const auto size = static_cast<int64_t>(SizeOf(type.dtype));
  auto* strides = new ArrayView::Sizes(RowMajorStrides(array->dims(), size));
  Py_INCREF(self);
  *buffer = {
      .buf = array->data(),
      .obj = self,
      .len = static_cast<Py_ssize_t>(array->bytes()),
      .itemsize = size,
      .readonly = 0,
      .ndim = static_cast<int>(array->dims().size()),
      .format = (flags & PyBUF_FORMAT) == 0 ? nullptr
                                            : const_cast<char*>(type.format),
      .shape = (flags & PyBUF_ND) == 0
                   ? nullptr
                   : const_cast<int64_t*>(array->dims().data()),
      .strides =
          (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? strides->data() : nullptr,
      .suboffsets = nullptr,
      .internal = strides};
  return 0;
}

void ReleaseBuffer(PyObject*, Py_buffer* buffer) {
  delete static_cast<ArrayView::Sizes*>(buffer->internal);
}

py::object ListOf(const NdArray& array, size_t axis, int64_t& next) {
  if (axis == array.dims().size()) {
    const double value = array.AsDouble(next);
    const int64_t cell = next++;
    if (array.dtype() == DType::kBool) return py::bool_(value != 0);
    if (array.dtype() == DType::kI64) {
      return py::int_(array.values<int64_t>()[cell]);
    }
    if (array.dtype() == DType::kU64) {
      return py::int_(array.values<uint64_t>()[cell]);
    }
    const bool is_integer = VisitDType(array.dtype(), [](auto zero) {
      return std::is_integral_v<decltype(zero)>;
    });
    if (is_integer) return py::int_(static_cast<int64_t>(value));
    return py::float_(value);
  }
  py::list list;
  for (int64_t i = 0; i < array.dims()[axis]; ++i) {
    list.append(ListOf(array, axis + 1, next));
  }
  return list;
}

py::tuple ShapeOf(const NdArray& array) {
  return py::tuple(py::cast(array.dims()));
}

double NumberOf(const NdArray& array) {
  if (array.size() != 1) {
    Raise(absl::StrCat("an array of ", array.size(), " cells is not a number; ",
                       "take one, as by .tolist()"));
  }
  return array.AsDouble(0);
}

}  // namespace

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
  ArrayView view;
  if (std::shared_ptr<HeldBuffer> buffer = BufferOf(object)) {
    view = ViewOfBuffer(std::move(buffer), what);
  } else if (py::hasattr(object, "__dlpack__")) {
    view = ViewOfDlpack(object, what);
  } else {
    return ViewOfNumbers(object, wanted, what);
  }
  if (view.dtype != wanted) {
    Raise(absl::StrCat(what, " is an array of ", Name(view.dtype), ", but ",
                       Name(wanted), " is needed; convert it, as by ",
                       ".astype(\"", NumpyName(wanted), "\")"));
  }
  return view;
}

NdArray ArrayOf(const ArrayView& view) {
  NdArray array(view.dtype, {view.dims.begin(), view.dims.end()});
  view.CopyTo(array.data());
  return array;
}

py::object ToPython(NdArray array) {
  return py::cast(std::make_shared<NdArray>(std::move(array)));
}

void BindArrays(py::module_& module) {
  module.def("shape_of", [](const py::object& object, const std::string& dtype,
                            const std::string& what) {
    const ArrayView view =
        ViewOf(object, FindDType(dtype).value_or(DType::kF32), what);
    return py::tuple(py::cast(Dims(view.dims.begin(), view.dims.end())));
  });
  py::class_<NdArray, std::shared_ptr<NdArray>>(
      module, "Array", py::custom_type_setup([](PyHeapTypeObject* type) {
        type->as_buffer = {.bf_getbuffer = &GetBuffer,
                           .bf_releasebuffer = &ReleaseBuffer};
        type->ht_type.tp_as_buffer = &type->as_buffer;
      }))
      .def(py::init([](const py::object& object, const std::string& dtype) {
             const std::optional<DType> wanted = FindDType(dtype);
             if (!wanted) {
               Raise(absl::StrCat("\"", dtype, "\" is not a dtype; give one ",
                                  "of ", DTypeNames()));
             }
             return std::make_shared<NdArray>(
                 ArrayOf(ViewOf(object, *wanted, "the argument")));
           }),
           py::arg("values"), py::arg("dtype") = "f32")
      .def_property_readonly("shape", &ShapeOf)
      .def_property_readonly(
          "dtype",
          [](const NdArray& array) { return std::string(Name(array.dtype())); })
      .def("tolist",
           [](const NdArray& array) {
             int64_t next = 0;
             return ListOf(array, 0, next);
           })
      .def("__float__", &NumberOf)
      .def("__len__",
           [](const NdArray& array) {
             if (array.dims().empty()) {
               throw py::type_error("a number has no len()");
             }
             return array.dims()[0];
           })
      .def("__repr__",
           [](const NdArray& array) {
             return absl::StrCat("ocannl.Array(", Name(array.dtype()), ", (",
                                 absl::StrJoin(array.dims(), ", "), ")):\n",
                                 PrintValues(array));
           })
      .def("__dlpack__", [](const std::shared_ptr<NdArray>& array,
                            const py::kwargs&) { return ToDlpack(array); })
      .def("__dlpack_device__",
           [](const NdArray&) { return std::pair(int{kDLCPU}, 0); });
}

}  // namespace ocannl::python
