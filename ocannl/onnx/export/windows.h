// SPDX-License-Identifier: Apache-2.0
//
// Nests over windows as Conv and MaxPool.
#ifndef OCANNL_ONNX_EXPORT_WINDOWS_H_
#define OCANNL_ONNX_EXPORT_WINDOWS_H_

#include <optional>

#include "ocannl/onnx/export/cells.h"
#include "ocannl/onnx/export/file_graph.h"
#include "ocannl/onnx/export/nest.h"

namespace ocannl::onnx {

// The result of a convolution with up to three axes of windows, or of the
// greatest cells of windows, with an axis for each loop. None: the nest is
// neither, or its windows do not fit ONNX's.
std::optional<Cells> WriteWindows(const Nest& nest, const Loops& result,
                                  FileGraph& to);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_EXPORT_WINDOWS_H_
