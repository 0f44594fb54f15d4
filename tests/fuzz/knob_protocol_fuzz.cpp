// Feeds the helper's session with any requests, on a board of one knob: whatever they ask for, the
// knob's files hold values of its table or what they held before, and a restore brings that back.
// The same bytes as an answer: nothing but a KnobProtocolError may come out.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "actuators/board_actuator.h"
#include "actuators/knob_protocol.h"
#include "actuators/knob_session.h"
#include "tests/fakes/one_knob_board.h"

namespace {

using namespace gearshift;

constexpr std::array<std::string_view, 3> kTable = {"306000000", "612000000", "1300500000"};
constexpr std::string_view kFound = "918000000";

void serve(std::string_view bytes) {
  static const fakes::OneKnobBoard board(kFound, kFound);
  static Sysroot root(board.tree.root());
  static BoardActuator actuator(board.description, root,
                                {.journal = board.tree.at("knobs.journal")});
  KnobSession session(actuator, root, root, "one-knob", 1234);
  Time now{std::chrono::hours(1)};
  for (; bytes.size() >= kRequestBytes; bytes.remove_prefix(kRequestBytes)) {
    const auto request =
        decode_request(std::span<const char, kRequestBytes>(bytes.data(), kRequestBytes));
    if (!request) continue;
    const auto again = encode(*request);
    if (!std::equal(again.begin(), again.end(), bytes.begin())) std::abort();
    if (const auto answer = session.serve(*request, now += std::chrono::milliseconds(1))) {
      KnobAnswer read_back;
      const std::string sent = encode(*answer);
      if (decode_answer(sent, read_back) != sent.size()) std::abort();
    }
    for (const std::string_view file : {"min_freq", "max_freq"}) {
      const std::string text = board.get(file);
      if (text != kFound && std::find(kTable.begin(), kTable.end(), text) == kTable.end()) {
        std::abort();
      }
    }
  }
  actuator.restore();
  if (board.get("min_freq") != kFound || board.get("max_freq") != kFound) std::abort();
}

void read_answer(std::string_view bytes) {
  try {
    KnobAnswer answer;
    while (const std::size_t size = decode_answer(bytes, answer)) {
      if (answer.knob_count > kMaxKnobs || answer.text.size() > kMaxAnswerText) std::abort();
      bytes.remove_prefix(size);
    }
  } catch (const KnobProtocolError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  serve(bytes.substr(0, 64 * kRequestBytes));
  read_answer(bytes);
  return 0;
}
