// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/nvrtc.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/settings.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::cuda {
namespace {

using Library = std::shared_ptr<const SharedLibrary>;
using Result = int;  // nvrtcResult; 0 is success
using Program = struct NvrtcProgram*;

constexpr Result kCompilationFailed = 6;  // NVRTC_ERROR_COMPILATION

// The file of the directory whose name starts so, the last of the alphabet;
// empty where there is none.
std::string FileOf(const std::string& directory, absl::string_view start) {
  std::string found;
  std::error_code error;  // a directory that is not there has no files
  for (std::filesystem::directory_iterator at(directory, error), end;
       !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (absl::StartsWith(name, start) && at->path().string() > found) {
      found = at->path().string();
    }
  }
  return found;
}

}  // namespace

// NVRTC_FUNCTION(name, parameters): each of them, by its name in nvrtc.h of the
// toolkit less "nvrtc". All return an nvrtcResult.
#define OCANNL_NVRTC_FUNCTIONS(NVRTC_FUNCTION)                                 \
  NVRTC_FUNCTION(Version, (int* major, int* minor))                            \
  NVRTC_FUNCTION(                                                              \
      CreateProgram,                                                           \
      (Program * program, const char* text, const char* name, int num_headers, \
       const char* const* headers, const char* const* include_names))          \
  NVRTC_FUNCTION(DestroyProgram, (Program * program))                          \
  NVRTC_FUNCTION(CompileProgram, (Program program, int num_options,            \
                                  const char* const* options))                 \
  NVRTC_FUNCTION(GetProgramLogSize, (Program program, size_t * size))          \
  NVRTC_FUNCTION(GetProgramLog, (Program program, char* log))                  \
  NVRTC_FUNCTION(GetPTXSize, (Program program, size_t * size))                 \
  NVRTC_FUNCTION(GetPTX, (Program program, char* ptx))                         \
  NVRTC_FUNCTION(GetCUBINSize, (Program program, size_t * size))               \
  NVRTC_FUNCTION(GetCUBIN, (Program program, char* cubin))

struct Nvrtc::Functions {
  // The compiler opens its builtins by name, which the loader finds among what
  // is open even where it does not know the directory.
  Library builtins;
  Library nvrtc;

  const char* (*GetErrorString)(Result);
#define OCANNL_MEMBER(name, parameters) Result(*name) parameters;
  OCANNL_NVRTC_FUNCTIONS(OCANNL_MEMBER)
#undef OCANNL_MEMBER

  bool FindAll() {
    GetErrorString = nvrtc->Find<const char*(Result)>("nvrtcGetErrorString");
    bool all = GetErrorString != nullptr;
#define OCANNL_FIND(name, parameters)                   \
  name = nvrtc->Find<Result parameters>("nvrtc" #name); \
  all = all && name != nullptr;
    OCANNL_NVRTC_FUNCTIONS(OCANNL_FIND)
#undef OCANNL_FIND
    return all;
  }

  absl::Status Check(Result result, absl::string_view what) const {
    if (result == 0) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("NVRTC, ", what, ": ", GetErrorString(result)));
  }

  // What a pair of functions for a size and as many bytes gives.
  absl::StatusOr<std::string> Get(Program program,
                                  Result (*get_size)(Program, size_t*),
                                  Result (*get)(Program, char*)) const {
    size_t size = 0;
    OCANNL_RETURN_IF_ERROR(Check(get_size(program, &size), "size of a result"));
    std::string text(size, '\0');
    if (size == 0) return text;
    OCANNL_RETURN_IF_ERROR(Check(get(program, text.data()), "result"));
    return text;
  }

  // The same of what ends with a NUL.
  absl::StatusOr<std::string> GetText(Program program,
                                      Result (*get_size)(Program, size_t*),
                                      Result (*get)(Program, char*)) const {
    OCANNL_ASSIGN_OR_RETURN(std::string text, Get(program, get_size, get));
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
  }
};

std::vector<std::string> LibraryDirectories(absl::string_view cuda_home) {
  if (cuda_home.empty()) {
    const char* variable = std::getenv("CUDA_HOME");
    if (variable != nullptr) cuda_home = variable;
  }
  if (cuda_home.empty()) {
    return {"", "/usr/local/cuda/lib64", "/usr/local/cuda/lib"};
  }
  return {absl::StrCat(cuda_home, "/lib64"), absl::StrCat(cuda_home, "/lib")};
}

absl::StatusOr<Nvrtc> Nvrtc::Open(absl::string_view cuda_home) {
  const char* variable = std::getenv("CUDA_HOME");
  OCANNL_RETURN_IF_ERROR(CheckCodePath("cuda_home", cuda_home));
  if (cuda_home.empty() && variable != nullptr) {
    OCANNL_RETURN_IF_ERROR(CheckCodePath("CUDA_HOME", variable));
  }
  const std::vector<std::string> directories = LibraryDirectories(cuda_home);
  std::string last_error = "no such file";
  for (const std::string& directory : directories) {
    auto functions = std::make_shared<Functions>();
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
      std::string path = name;
      if (!directory.empty()) {
        path = absl::StrCat(directory, "/", name);
        absl::StatusOr<Library> builtins =
            SharedLibrary::Open(FileOf(directory, "libnvrtc-builtins.so."));
        if (builtins.ok()) functions->builtins = *std::move(builtins);
      }
      // Unloaded, it would leave what it allocated when it was loaded.
      absl::StatusOr<Library> nvrtc = SharedLibrary::Open(path, /*stays=*/true);
      if (!nvrtc.ok()) {
        last_error = std::string(nvrtc.status().message());
        continue;
      }
      functions->nvrtc = *std::move(nvrtc);
      if (!functions->FindAll()) {
        last_error = absl::StrCat(path, " lacks functions of NVRTC");
        continue;
      }
      Nvrtc opened;
      auto& [major, minor] = opened.version_;
      OCANNL_RETURN_IF_ERROR(
          functions->Check(functions->Version(&major, &minor), "version"));
      opened.functions_ = std::move(functions);
      return opened;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      "no libnvrtc.so.13 or .12 in ",
      absl::StrJoin(directories, ", ",
                    [](std::string* out, const std::string& directory) {
                      absl::StrAppend(out, directory.empty()
                                               ? "the loader's directories"
                                               : directory);
                    }),
      " (", last_error,
      "); install the CUDA toolkit, or set cuda_home, or CUDA_HOME in the "
      "environment, to where it is"));
}

absl::StatusOr<Nvrtc::Code> Nvrtc::Compile(
    const std::string& text, const std::string& name,
    absl::string_view architecture) const {
  const Functions& f = *functions_;
  Program program = nullptr;
  OCANNL_RETURN_IF_ERROR(
      f.Check(f.CreateProgram(&program, text.c_str(), name.c_str(), 0, nullptr,
                              nullptr),
              name));
  absl::Cleanup destroy = [&] { f.DestroyProgram(&program); };
  const std::string target = absl::StrCat("--gpu-architecture=", architecture);
  const char* const options[] = {
      target.c_str(), "--std=c++17", "--fmad=false", "--ftz=false",
      "--prec-div=true", "--prec-sqrt=true", "--ptxas-options=--verbose",
      // An index of one iteration may be in no expression.
      "--diag-suppress=177"};
  const Result result = f.CompileProgram(program, std::size(options), options);
  Code code;
  OCANNL_ASSIGN_OR_RETURN(
      code.log, f.GetText(program, f.GetProgramLogSize, f.GetProgramLog));
  if (result == kCompilationFailed) {
    return absl::InternalError(absl::StrCat("NVRTC, ", name, ":\n", code.log));
  }
  OCANNL_RETURN_IF_ERROR(
      f.Check(result, absl::StrCat(name, " for ", architecture)));
  OCANNL_ASSIGN_OR_RETURN(code.ptx, f.GetText(program, f.GetPTXSize, f.GetPTX));
  OCANNL_ASSIGN_OR_RETURN(code.cubin,
                          f.Get(program, f.GetCUBINSize, f.GetCUBIN));
  return code;
}

}  // namespace ocannl::cuda
