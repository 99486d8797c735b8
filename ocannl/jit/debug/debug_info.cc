// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/debug/debug_info.h"

#include <deque>
#include <initializer_list>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libdwarf/dwarf.h"
#include "libdwarf/libdwarf.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/scratch_directory.h"
#include "ocannl/core/base/system/shared_library.h"

namespace ocannl::jit {
namespace {

// DWARF's numbers of registers.
enum : uint8_t { kRdi = 5, kRsp = 7, kReturnAddress = 16 };

// libdwarf asks for a section; its number is the answer.
int AddSection(const char* name, int, Dwarf_Unsigned, Dwarf_Unsigned,
               Dwarf_Unsigned, Dwarf_Unsigned, Dwarf_Unsigned* name_symbol,
               void* sections, int*) {
  auto* all = static_cast<std::vector<DebugSection>*>(sections);
  all->push_back({.name = name, .bytes = ""});
  *name_symbol = 0;
  return static_cast<int>(all->size()) - 1;
}

// GDB knows a bf16 by the name that C compilers have for it, and has no floats
// of 8 bits.
std::string TypeName(DType dtype) {
  return std::string(dtype == DType::kBF16 ? "__bf16" : Name(dtype));
}

Dwarf_Unsigned EncodingOf(DType dtype) {
  if (dtype == DType::kBool) return DW_ATE_boolean;
  if (IsInteger(dtype)) {
    return IsSigned(dtype) ? DW_ATE_signed : DW_ATE_unsigned;
  }
  return SizeOf(dtype) == 1 ? DW_ATE_unsigned : DW_ATE_float;
}

// The instructions of call frame information for the code from `begin` to
// `end`, which takes its rows off `rows`. The numbers in them are below 64,
// hence one byte each.
std::string FrameInstructions(int64_t begin, int64_t end,
                              absl::Span<const DebugRows::Frame>& rows) {
  std::string bytes;
  auto add = [&](std::initializer_list<int64_t> values) {
    for (int64_t value : values) bytes.push_back(static_cast<char>(value));
  };
  int32_t saved = 0;
  bool had_rdi = false;
  for (; !rows.empty() && rows[0].begin < end; rows.remove_prefix(1)) {
    const DebugRows::Frame& frame = rows[0];
    const int64_t delta = frame.begin - begin;
    begin = frame.begin;
    add({DW_CFA_advance_loc4, delta, delta >> 8, delta >> 16, delta >> 24});
    const int64_t above = 8 * (frame.pushed + 1);
    if (frame.base == DebugRows::Base::kSlot) {
      add({DW_CFA_def_cfa_expression, 5, DW_OP_breg0 + kRsp, 0, DW_OP_deref,
           DW_OP_plus_uconst, above});
    } else {
      add({DW_CFA_def_cfa, static_cast<int64_t>(frame.base), above});
    }
    const bool has_rdi = frame.base == DebugRows::Base::kRbx;
    if (has_rdi) add({DW_CFA_offset | kRdi, 3});
    if (had_rdi && !has_rdi) add({DW_CFA_restore | kRdi});
    had_rdi = has_rdi;
    for (; saved < frame.pushed; ++saved) {
      add({DW_CFA_offset | DebugRows::kPushed[saved], saved + 2});
    }
    for (; saved > frame.pushed; --saved) {
      add({DW_CFA_restore | DebugRows::kPushed[saved - 1]});
    }
  }
  return bytes;
}

// A call of libdwarf; all of its functions take an error last.
#define OCANNL_DWARF(function, ...) \
  Call<decltype(function)>(#function, __VA_ARGS__)

class DwarfWriter {
 public:
  DwarfWriter(const SharedLibrary& library, const DebugInfo& info,
              absl::Span<const DebugSymbol> symbols)
      : library_(library),
        info_(info),
        symbols_(symbols),
        frames_(info.rows.frames) {}

  std::vector<DebugSection> Write(const std::string& directory) {
    // Addresses are those in memory: what libdwarf says about relocations is
    // for object files on disk.
    OCANNL_DWARF(dwarf_producer_init,
                 DW_DLC_WRITE | DW_DLC_POINTER64 | DW_DLC_OFFSET32 |
                     DW_DLC_SYMBOLIC_RELOCATIONS | DW_DLC_TARGET_LITTLEENDIAN,
                 &AddSection, nullptr, nullptr, &sections_, "x86_64", "V4",
                 nullptr, &debug_);
    OCANNL_DWARF(dwarf_pro_set_default_string_form, debug_, DW_FORM_string);
    unit_ = NewDie(DW_TAG_compile_unit, nullptr, info_.file_name);
    OCANNL_DWARF(dwarf_add_AT_comp_dir_a, unit_, Text(directory), &attribute_);
    AddNumber(unit_, DW_AT_language, DW_LANG_C99);
    AddRange(unit_, Address(0), Address(info_.ends.back()));
    Dwarf_Unsigned cie;
    const uint8_t at_entry[] = {DW_CFA_def_cfa, kRsp, 8,
                                DW_CFA_offset | kReturnAddress, 1};
    OCANNL_DWARF(dwarf_add_frame_cie_a, debug_, Text(""), 1,
                 static_cast<Dwarf_Small>(-8), kReturnAddress,
                 const_cast<uint8_t*>(at_entry), sizeof(at_entry), &cie);
    for (size_t k = 0; k < symbols_.size(); ++k) AddFunction(k, cie);
    OCANNL_DWARF(dwarf_add_die_to_debug_a, debug_, unit_);
    AddLines();
    TakeSections();
    return std::move(sections_);
  }

 private:
  template <class Function, class... Args>
  void Call(const char* name, Args... args) {
    auto* function = library_.Find<Function>(name);
    CHECK(function != nullptr) << name;
    Dwarf_Error error = nullptr;
    CHECK_EQ(function(args..., &error), DW_DLV_OK) << name;
  }

  // libdwarf copies texts that it takes as char*.
  static char* Text(const std::string& text) {
    return const_cast<char*>(text.c_str());
  }

  Dwarf_Unsigned Address(int64_t offset) const {
    return reinterpret_cast<uintptr_t>(symbols_[0].begin) + offset;
  }

  Dwarf_P_Die NewDie(Dwarf_Tag tag, Dwarf_P_Die parent,
                     const std::string& name) {
    Dwarf_P_Die die;
    OCANNL_DWARF(dwarf_new_die_a, debug_, tag, parent, nullptr, nullptr,
                 nullptr, &die);
    if (!name.empty()) {
      OCANNL_DWARF(dwarf_add_AT_name_a, die, Text(name), &attribute_);
    }
    return die;
  }

  void AddNumber(Dwarf_P_Die die, Dwarf_Half attribute, Dwarf_Unsigned value) {
    OCANNL_DWARF(dwarf_add_AT_unsigned_const_a, debug_, die, attribute, value,
                 &attribute_);
  }

  void AddType(Dwarf_P_Die die, Dwarf_P_Die type) {
    OCANNL_DWARF(dwarf_add_AT_reference_c, debug_, die, DW_AT_type, type,
                 &attribute_);
  }

  void AddRange(Dwarf_P_Die die, Dwarf_Unsigned begin, Dwarf_Unsigned end) {
    OCANNL_DWARF(dwarf_add_AT_targ_address_c, debug_, die, DW_AT_low_pc, begin,
                 0, &attribute_);
    OCANNL_DWARF(dwarf_add_AT_targ_address_c, debug_, die, DW_AT_high_pc, end,
                 0, &attribute_);
  }

  void AddFunction(size_t k, Dwarf_Unsigned cie) {
    const DebugSymbol& symbol = symbols_[k];
    const auto begin = reinterpret_cast<uintptr_t>(symbol.begin);
    const Dwarf_Unsigned end = Address(info_.ends[k]);
    Dwarf_P_Die die = NewDie(DW_TAG_subprogram, unit_, symbol.name);
    AddRange(die, begin, end);
    if (info_.stub != begin - Address(0)) {
      for (const auto& [number, buffer] : info_.buffers) {
        AddBuffer(die, number, buffer);
      }
    }
    frame_bytes_.push_back(FrameInstructions(
        static_cast<int64_t>(begin - Address(0)), info_.ends[k], frames_));
    Dwarf_P_Fde fde;
    OCANNL_DWARF(dwarf_new_fde_a, debug_, &fde);
    OCANNL_DWARF(dwarf_insert_fde_inst_bytes, debug_, fde,
                 frame_bytes_.back().size(), frame_bytes_.back().data());
    OCANNL_DWARF(dwarf_add_frame_fde_c, debug_, fde, die, cie, begin,
                 end - begin, 0, 0, 0, &number_);
  }

  // rdi holds the addresses of the buffers in all of a function.
  void AddBuffer(Dwarf_P_Die function, int32_t number, const Buffer& buffer) {
    Dwarf_P_Die die = NewDie(DW_TAG_variable, function, buffer.name);
    AddType(die, TypeOf(buffer));
    Dwarf_P_Expr place;
    OCANNL_DWARF(dwarf_new_expr_a, debug_, &place);
    OCANNL_DWARF(dwarf_add_expr_gen_a, place, DW_OP_breg0 + kRdi, 8 * number, 0,
                 &number_);
    OCANNL_DWARF(dwarf_add_expr_gen_a, place, DW_OP_deref, 0, 0, &number_);
    OCANNL_DWARF(dwarf_add_AT_location_expr_a, debug_, die, DW_AT_location,
                 place, &attribute_);
  }

  Dwarf_P_Die TypeOf(const Buffer& buffer) {
    Dwarf_P_Die& element = elements_[buffer.dtype];
    if (element == nullptr) {
      element = NewDie(DW_TAG_base_type, unit_, TypeName(buffer.dtype));
      AddNumber(element, DW_AT_encoding, EncodingOf(buffer.dtype));
      AddNumber(element, DW_AT_byte_size, SizeOf(buffer.dtype));
    }
    if (buffer.dims.empty()) return element;
    Dwarf_P_Die array = NewDie(DW_TAG_array_type, unit_, "");
    AddType(array, element);
    for (int64_t dim : buffer.dims) {
      AddNumber(NewDie(DW_TAG_subrange_type, array, ""), DW_AT_count, dim);
    }
    return array;
  }

  void AddLines() {
    Dwarf_Unsigned file;
    OCANNL_DWARF(dwarf_add_file_decl_a, debug_, Text(info_.file_name), 0, 0, 0,
                 &file);
    OCANNL_DWARF(dwarf_lne_set_address_a, debug_, Address(0), 0);
    for (const DebugRows::Line& row : info_.rows.lines) {
      OCANNL_DWARF(dwarf_add_line_entry_c, debug_, file, Address(row.begin),
                   row.line, 0, /*is_stmt=*/1, 0, 0, 0, 0, 0);
    }
    // The stub is of no line.
    OCANNL_DWARF(dwarf_lne_end_sequence_a, debug_,
                 Address(info_.stub.value_or(info_.ends.back())));
  }

  // The bytes of all sections, but for those that are relocations.
  void TakeSections() {
    Dwarf_Signed buffers;
    OCANNL_DWARF(dwarf_transform_to_disk_form_a, debug_, &buffers);
    for (Dwarf_Signed k = 0; k < buffers; ++k) {
      Dwarf_Signed section;
      Dwarf_Unsigned size;
      Dwarf_Ptr bytes;
      OCANNL_DWARF(dwarf_get_section_bytes_a, debug_, k, &section, &size,
                   &bytes);
      sections_[section].bytes.append(static_cast<const char*>(bytes), size);
    }
    OCANNL_DWARF(dwarf_producer_finish_a, debug_);
    std::erase_if(sections_, [](const DebugSection& section) {
      return !absl::StartsWith(section.name, ".debug_");
    });
  }

  const SharedLibrary& library_;
  const DebugInfo& info_;
  const absl::Span<const DebugSymbol> symbols_;
  absl::Span<const DebugRows::Frame> frames_;  // those of functions to come
  Dwarf_P_Debug debug_ = nullptr;
  Dwarf_P_Die unit_ = nullptr;
  absl::flat_hash_map<DType, Dwarf_P_Die> elements_;
  std::deque<std::string> frame_bytes_;  // which libdwarf reads at the end
  std::vector<DebugSection> sections_;
  // What libdwarf answers and nobody asks.
  Dwarf_P_Attribute attribute_ = nullptr;
  Dwarf_Unsigned number_ = 0;
};

#undef OCANNL_DWARF

}  // namespace

absl::StatusOr<DebugTables> MakeDebugTables(
    const DebugInfo& info, absl::Span<const DebugSymbol> symbols) {
  const absl::StatusOr<std::shared_ptr<const SharedLibrary>> library =
      SharedLibrary::Open("libdwarf.so.1");
  if (!library.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "OCANNL_JIT_SYMBOLS=gdb needs libdwarf: ", library.status().message(),
        "; install it (Debian: libdwarf1)"));
  }
  auto directory =
      std::make_unique<ScratchDirectory>(std::vector{info.file_name});
  if (!directory->made()) {
    return absl::UnavailableError(
        "OCANNL_JIT_SYMBOLS=gdb: no directory in /tmp for the .ll");
  }
  OCANNL_RETURN_IF_ERROR(WriteFile(directory->Path(info.file_name), info.text));
  DwarfWriter writer(**library, info, symbols);
  return DebugTables{.sections = writer.Write(directory->path()),
                     .source = std::move(directory)};
}

}  // namespace ocannl::jit
