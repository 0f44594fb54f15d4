// Feeds what an operator's program puts an explanation together from any bytes, as a first page and
// as the one after it: nothing but a std::runtime_error may come out, and every text that is taken
// must be one for a terminal.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bridge/explanation_answer.h"
#include "bridge/frame_reader.h"

namespace {

using namespace gearshift;

// Its lines are.
void require_printable(std::string text) {
  std::erase(text, '\n');
  if (!wire::printable(text)) std::abort();
}

void check(const wire::ExplanationAnswer& answer) {
  if (answer.rationale.tried().size() > Rationale::kMostTried) std::abort();
  for (const Knob& knob : answer.knobs.knobs) require_printable(knob.name);
  require_printable(answer.rationale.cap.source);
  require_printable(answer.rationale.held.why);
  require_printable(answer.rationale.plan);
  require_printable(answer.rationale.heat);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view frame(reinterpret_cast<const char*>(data), size);
  wire::ExplanationAnswer answer;
  try {
    for (int pages = 0; pages < 2; ++pages) wire::add_explanation(frame, answer);
  } catch (const std::runtime_error& error) {
    require_printable(error.what());
  }
  check(answer);
  return 0;
}
