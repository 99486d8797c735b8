// SPDX-License-Identifier: Apache-2.0
//
// ocannl.Array: an array that Python owns.
#include "python/native/arrays.h"

#include <dlpack/dlpack.h>
#include <pybind11/stl.h>

#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "python/native/element_types.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

// What a capsule of DLPack keeps.
struct Exported {
  std::shared_ptr<HostArray> array;
  ArrayView::Sizes strides;
  DLManagedTensor tensor;
};

// A copy that is aligned, too.
std::shared_ptr<HostArray> CopyOf(DType dtype, const Dims& dims,
                                  const std::byte* cells) {
  auto copy = std::make_shared<HostArray>(dtype, dims);
  if (copy->bytes() > 0) std::memcpy(copy->cells.get(), cells, copy->bytes());
  return copy;
}

// `options` are those of the protocol: another device is refused.
py::capsule ToDlpack(std::shared_ptr<HostArray> array,
                     const py::kwargs& options) {
  const auto option = [&](const char* name) {
    return options.contains(name) ? py::object(options[name]) : py::none();
  };
  const py::object device = option("dl_device");
  if (!device.is_none() &&
      py::cast<std::pair<int, int>>(device).first != kDLCPU) {
    throw py::buffer_error("ocannl.Array is in the memory of the host");
  }
  if (py::bool_(option("copy"))) {
    array = CopyOf(array->dtype, array->dims, array->cells.get());
  }
  auto* exported = new Exported();
  exported->array = array;
  const ElementType& type = TypeOf(array->dtype);
  exported->strides = RowMajorStrides(array->dims, 1);
  exported->tensor = {
      .dl_tensor = {.data = array->cells.get(),
                    .device = {.device_type = kDLCPU, .device_id = 0},
                    .ndim = static_cast<int32_t>(array->dims.size()),
                    .dtype = {.code = type.code,
                              .bits =
                                  static_cast<uint8_t>(8 * SizeOf(type.dtype)),
                              .lanes = 1},
                    .shape = const_cast<int64_t*>(array->dims.data()),
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
  const auto array = py::cast<std::shared_ptr<HostArray>>(py::handle(self));
  const ElementType& type = TypeOf(array->dtype);
  if (type.format == nullptr) {
    PyErr_Format(PyExc_BufferError,
                 "NumPy has no dtype for %s; take the array by DLPack, or "
                 "convert it to f32",
                 std::string(Name(array->dtype)).c_str());
    return -1;
  }
  const auto size = static_cast<int64_t>(SizeOf(type.dtype));
  auto* strides = new ArrayView::Sizes(RowMajorStrides(array->dims, size));
  Py_INCREF(self);
  *buffer = {
      .buf = array->cells.get(),
      .obj = self,
      .len = static_cast<Py_ssize_t>(array->bytes()),
      .itemsize = size,
      .readonly = 0,
      .ndim = static_cast<int>(array->dims.size()),
      .format = (flags & PyBUF_FORMAT) == 0 ? nullptr
                                            : const_cast<char*>(type.format),
      .shape = (flags & PyBUF_ND) == 0
                   ? nullptr
                   : const_cast<int64_t*>(array->dims.data()),
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
    const int64_t cell = next++;
    return VisitDType(array.dtype(), [&](auto zero) -> py::object {
      using T = decltype(zero);
      if constexpr (std::is_same_v<T, bool>) {
        return py::bool_(array.values<T>()[cell]);
      } else if constexpr (std::is_integral_v<T>) {
        return py::int_(array.values<T>()[cell]);
      } else {
        return py::float_(array.AsDouble(cell));
      }
    });
  }
  py::list list;
  for (int64_t i = 0; i < array.dims()[axis]; ++i) {
    list.append(ListOf(array, axis + 1, next));
  }
  return list;
}

double NumberOf(const HostArray& array) {
  const int64_t size = NumElements(array.dims);
  if (size != 1) {
    Raise(absl::StrCat("an array of ", size, " cells is not a number; take ",
                       "one, as by .tolist()"));
  }
  return array.Copy().AsDouble(0);
}

// Arrays of any dtype by their bytes, and shapes of others.
void BindBytes(py::module_& module) {
  module.def("shape_of", [](const py::object& object, const py::object& dtype,
                            const std::string& what) {
    const ArrayView view = ViewOf(object, DTypeOf(dtype), what);
    return py::tuple(py::cast(Dims(view.dims.begin(), view.dims.end())));
  });
  module.def("bytes_of", [](const HostArray& array) {
    return py::bytes(reinterpret_cast<const char*>(array.cells.get()),
                     array.bytes());
  });
  module.def("array_of_bytes", [](const std::string& bytes,
                                  const py::object& dtype, const Dims& dims) {
    NdArray array(DTypeOf(dtype), dims);
    if (array.bytes() != bytes.size()) Raise("these are not the array's bytes");
    std::memcpy(array.data(), bytes.data(), bytes.size());
    return ToPython(array);
  });
}

}  // namespace

NdArray ArrayOf(const ArrayView& view) {
  NdArray array(view.dtype, {view.dims.begin(), view.dims.end()});
  view.CopyTo(array.data());
  return array;
}

HostArray::HostArray(DType cell_dtype, Dims sizes)
    : dtype(cell_dtype), dims(std::move(sizes)) {
  constexpr std::align_val_t kAlignment{64};
  cells = {static_cast<std::byte*>(operator new(bytes(), kAlignment)),
           [](std::byte* memory) { operator delete(memory, kAlignment); }};
}

NdArray HostArray::Copy() const {
  NdArray copy(dtype, dims);
  if (bytes() > 0) std::memcpy(copy.data(), cells.get(), bytes());
  return copy;
}

absl::StatusOr<std::shared_ptr<HostArray>> ReadArray(const Context& context,
                                                     const std::string& name) {
  OCANNL_ASSIGN_OR_RETURN(const Context::ArrayInfo info, context.InfoOf(name));
  auto array = std::make_shared<HostArray>(info.dtype, info.dims);
  OCANNL_RETURN_IF_ERROR(
      context.Use(name, [&](absl::Span<const std::byte> bytes) {
        if (!bytes.empty()) {
          std::memcpy(array->cells.get(), bytes.data(), bytes.size());
        }
        return absl::OkStatus();
      }));
  context.stream().Sync();
  OCANNL_RETURN_IF_ERROR(context.stream().device().backend().RunStatus());
  return array;
}

py::object ToPython(const NdArray& array) {
  return py::cast(CopyOf(array.dtype(), array.dims(), array.data()));
}

void BindArrays(py::module_& module) {
  BindBytes(module);
  py::class_<HostArray, std::shared_ptr<HostArray>>(
      module, "Array", py::custom_type_setup([](PyHeapTypeObject* type) {
        type->as_buffer = {.bf_getbuffer = &GetBuffer,
                           .bf_releasebuffer = &ReleaseBuffer};
        type->ht_type.tp_as_buffer = &type->as_buffer;
      }))
      .def(py::init([](const py::object& object, const py::object& dtype) {
             const ArrayView view =
                 ViewOf(object, DTypeOf(dtype), "the argument");
             auto array = std::make_shared<HostArray>(
                 view.dtype, Dims(view.dims.begin(), view.dims.end()));
             view.CopyTo(array->cells.get());
             return array;
           }),
           py::arg("values"), py::arg("dtype") = "f32")
      .def_property_readonly(
          "shape",
          [](const HostArray& a) { return py::tuple(py::cast(a.dims)); })
      .def_property_readonly(
          "dtype",
          [](const HostArray& array) { return std::string(Name(array.dtype)); })
      .def("tolist",
           [](const HostArray& array) {
             int64_t next = 0;
             return ListOf(array.Copy(), 0, next);
           })
      .def("__float__", &NumberOf)
      .def("__len__",
           [](const HostArray& array) {
             if (array.dims.empty()) {
               throw py::type_error("a number has no len()");
             }
             return array.dims[0];
           })
      .def("__repr__",
           [](const HostArray& array) {
             return absl::StrCat("ocannl.Array(", Name(array.dtype), ", (",
                                 absl::StrJoin(array.dims, ", "), ")):\n",
                                 PrintValues(array.Copy()));
           })
      .def("__dlpack__",
           [](const std::shared_ptr<HostArray>& array,
              const py::kwargs& options) { return ToDlpack(array, options); })
      .def("__dlpack_device__",
           [](const HostArray&) { return std::pair(int{kDLCPU}, 0); });
}

}  // namespace ocannl::python
