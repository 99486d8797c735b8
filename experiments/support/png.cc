// SPDX-License-Identifier: Apache-2.0
//
// The declarations are those of librsvg 2.46's rsvg.h and cairo 1's cairo.h.
#include "experiments/support/png.h"

#include <cstddef>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/shared_library.h"

// For --config=asan: fontconfig never frees what it knows about fonts.
extern "C" const char* __lsan_default_suppressions();   // NOLINT
extern "C" const char* __lsan_default_suppressions() {  // NOLINT
  return "leak:libfontconfig.so\n";
}

// For --config=tsan, which does not see the locks of libraries that are not
// instrumented.
extern "C" const char* __tsan_default_suppressions();   // NOLINT
extern "C" const char* __tsan_default_suppressions() {  // NOLINT
  return "called_from_lib:libfontconfig.so\ncalled_from_lib:libglib-2.0.so\n";
}

namespace ocannl {
namespace {

using Library = std::shared_ptr<const SharedLibrary>;

struct Rectangle {
  double x, y, width, height;
};

struct Handle;   // RsvgHandle
struct Surface;  // cairo_surface_t
struct Canvas;   // cairo_t

constexpr int kRgb24 = 1;  // CAIRO_FORMAT_RGB24

struct Functions {
  Library rsvg, cairo, gobject;

  Handle* (*new_from_data)(const char*, size_t, void** error);
  int (*render)(Handle*, Canvas*, const Rectangle*, void** error);
  void (*unref)(void*);
  Surface* (*new_surface)(int format, int width, int height);
  Canvas* (*new_canvas)(Surface*);
  int (*write)(Surface*, int (*)(void*, const char*, unsigned), void*);
  void (*delete_canvas)(Canvas*);
  void (*delete_surface)(Surface*);
};

absl::StatusOr<Functions> Load() {
  Functions all = {};
  for (auto& [library, name] :
       {std::pair(&all.rsvg, "librsvg-2.so.2"),
        std::pair(&all.cairo, "libcairo.so.2"),
        std::pair(&all.gobject, "libgobject-2.0.so.0")}) {
    absl::StatusOr<Library> found = SharedLibrary::Open(name, /*stays=*/true);
    if (!found.ok()) {
      return absl::UnavailableError(
          absl::StrCat(found.status().message(),
                       "; `apt-get install librsvg2-2` brings it"));
    }
    *library = *std::move(found);
  }
  bool has_all = true;
  auto find = [&]<class Function>(const Library& library, const char* name,
                                  Function*& function) {
    function = library->Find<Function>(name);
    has_all = has_all && function != nullptr;
  };
  find(all.rsvg, "rsvg_handle_new_from_data", all.new_from_data);
  find(all.rsvg, "rsvg_handle_render_document", all.render);
  find(all.gobject, "g_object_unref", all.unref);
  find(all.cairo, "cairo_image_surface_create", all.new_surface);
  find(all.cairo, "cairo_create", all.new_canvas);
  find(all.cairo, "cairo_surface_write_to_png_stream", all.write);
  find(all.cairo, "cairo_destroy", all.delete_canvas);
  find(all.cairo, "cairo_surface_destroy", all.delete_surface);
  if (has_all) return all;
  return absl::UnavailableError(
      "librsvg is older than 2.46; install that of Debian's librsvg2-2");
}

int Append(void* png, const char* bytes, unsigned size) {
  static_cast<std::string*>(png)->append(bytes, size);
  return 0;  // CAIRO_STATUS_SUCCESS
}

}  // namespace

absl::StatusOr<std::string> PngOf(const std::string& svg, int width,
                                  int height) {
  OCANNL_ASSIGN_OR_RETURN(const Functions call, Load());
  Handle* const handle = call.new_from_data(svg.data(), svg.size(), nullptr);
  if (handle == nullptr) {
    return absl::InvalidArgumentError("librsvg cannot read the picture");
  }
  const absl::Cleanup unref = [&] { call.unref(handle); };
  Surface* const surface = call.new_surface(kRgb24, width, height);
  const absl::Cleanup surface_ends = [&] { call.delete_surface(surface); };
  Canvas* const canvas = call.new_canvas(surface);
  const absl::Cleanup canvas_ends = [&] { call.delete_canvas(canvas); };
  const Rectangle all = {0, 0, static_cast<double>(width),
                         static_cast<double>(height)};
  std::string png;
  if (!call.render(handle, canvas, &all, nullptr) ||
      call.write(surface, Append, &png) != 0) {
    return absl::InternalError("librsvg cannot draw the picture");
  }
  return png;
}

}  // namespace ocannl
