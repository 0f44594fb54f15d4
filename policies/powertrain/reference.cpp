#include "policies/powertrain/reference.h"

#include <cstddef>

#include "policies/powertrain/predictor_file.h"

// The assembler takes the file as it is: no generated source of a megabyte, and pages that nobody
// reads stay on disk.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "gearshift_reference_begin:\n"
    ".incbin \"" GEARSHIFT_REFERENCE_FILE
    "\"\n"
    "gearshift_reference_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char gearshift_reference_begin[];
extern const char gearshift_reference_end[];
}

namespace gearshift {

std::string_view shipped_reference_bytes() {
  return {gearshift_reference_begin,
          static_cast<std::size_t>(gearshift_reference_end - gearshift_reference_begin)};
}

Predictor shipped_reference() {
  return parse_predictor(shipped_reference_bytes(), "the reference that gearshift was built with");
}

}  // namespace gearshift
