#include "actuators/knob_protocol.h"

#include <algorithm>
#include <iterator>

namespace gearshift {
namespace {

constexpr std::size_t kSizeBytes = 4;
constexpr std::size_t kMaxNames = 64;  // of absent knobs, and of findings

// Writes the integer's bytes and returns where the next ones go.
template <typename Out, typename Integer>
Out store(Out out, Integer value) {
  auto rest = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(Integer); ++i, rest >>= 8) {
    *out++ = static_cast<char>(rest & 0xff);
  }
  return out;
}

template <typename Integer>
void put(std::string& bytes, Integer value) {
  store(std::back_inserter(bytes), value);
}

void put_text(std::string& bytes, std::string_view text) {
  text = text.substr(0, kMaxAnswerText);
  put(bytes, static_cast<std::uint16_t>(text.size()));
  bytes += text;
}

void put_knob(std::string& bytes, const Knob& knob) {
  put_text(bytes, knob.name);
  put(bytes, static_cast<std::uint8_t>(knob.unit));
  put(bytes, static_cast<std::uint8_t>(knob.knob_class));
  put(bytes, static_cast<std::uint8_t>(knob.follows_cores));
  put(bytes, static_cast<std::uint16_t>(knob.values.size()));
  for (const std::int64_t value : knob.values) put(bytes, value);
}

void put_welcome(std::string& bytes, const KnobWelcome& welcome) {
  put_text(bytes, welcome.board);
  put(bytes, static_cast<std::uint8_t>(welcome.knobs.size()));
  for (const Knob& knob : welcome.knobs.knobs) {
    if (knob.values.size() > 0xffff) {
      throw KnobProtocolError(knob.name + " has " + std::to_string(knob.values.size()) +
                              " values; a welcome takes 65535 at most");
    }
    put_knob(bytes, knob);
  }
  const std::size_t absent = std::min(welcome.absent.size(), kMaxNames);
  put(bytes, static_cast<std::uint16_t>(absent));
  for (std::size_t i = 0; i < absent; ++i) {
    put_text(bytes, welcome.absent[i].name);
    put_text(bytes, welcome.absent[i].reason);
  }
  std::string findings;
  std::uint16_t count = 0;
  for (const std::string& finding : welcome.findings) {
    const std::size_t size = bytes.size() + findings.size() + finding.size() + 4;
    if (count == kMaxNames || size > kMaxAnswerBytes) break;
    put_text(findings, finding);
    ++count;
  }
  put(bytes, count);
  bytes += findings;
}

// Reads the bytes of one answer from front to back.
class AnswerReader {
 public:
  explicit AnswerReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Integer>
  Integer take() {
    std::uint64_t value = 0;
    const std::string_view taken = take_bytes(sizeof(Integer));
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    }
    return static_cast<Integer>(value);
  }

  std::string_view take_text() {
    const auto size = take<std::uint16_t>();
    if (size > kMaxAnswerText) fail("a text of " + std::to_string(size) + " bytes");
    return take_bytes(size);
  }

  // An enumeration or a count that must be below `end`.
  template <typename Integer>
  Integer take_below(std::size_t end, const char* what) {
    const auto value = take<Integer>();
    if (value >= end) fail(std::string(what) + ' ' + std::to_string(value));
    return value;
  }

  bool empty() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }

  [[noreturn]] static void fail(const std::string& what) {
    throw KnobProtocolError("an answer about knobs with " + what);
  }

 private:
  std::string_view take_bytes(std::size_t size) {
    if (size > bytes_.size()) fail("its end missing");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
};

Knob take_knob(AnswerReader& reader) {
  Knob knob;
  knob.name = reader.take_text();
  knob.unit = static_cast<Unit>(
      reader.take_below<std::uint8_t>(static_cast<std::size_t>(Unit::percent) + 1, "unit"));
  knob.knob_class = static_cast<KnobClass>(
      reader.take_below<std::uint8_t>(static_cast<std::size_t>(KnobClass::hotplug) + 1, "class"));
  knob.follows_cores = reader.take_below<std::uint8_t>(2, "follows cores") == 1;
  const auto count = reader.take<std::uint16_t>();
  if (count == 0 || count * sizeof(std::int64_t) > reader.left()) reader.fail("no values");
  knob.values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = reader.take<std::int64_t>();
    if (i > 0 && value <= knob.values.back()) reader.fail("values out of order");
    knob.values.push_back(value);
  }
  return knob;
}

KnobWelcome take_welcome(AnswerReader& reader) {
  KnobWelcome welcome;
  welcome.board = reader.take_text();
  const auto knobs = reader.take_below<std::uint8_t>(kMaxKnobs + 1, "knobs:");
  for (std::size_t i = 0; i < knobs; ++i) welcome.knobs.knobs.push_back(take_knob(reader));
  const auto absent = reader.take_below<std::uint16_t>(kMaxNames + 1, "absent knobs:");
  for (std::size_t i = 0; i < absent; ++i) {
    const std::string_view name = reader.take_text();
    welcome.absent.push_back({std::string(name), std::string(reader.take_text())});
  }
  const auto findings = reader.take_below<std::uint16_t>(kMaxNames + 1, "findings:");
  for (std::size_t i = 0; i < findings; ++i) welcome.findings.emplace_back(reader.take_text());
  return welcome;
}

}  // namespace

std::array<char, kRequestBytes> encode(const KnobRequest& request) {
  std::array<char, kRequestBytes> bytes{};
  char* out = store(bytes.data(), request.sequence);
  out = store(out, static_cast<std::uint8_t>(request.verb));
  out = store(out, request.knob);
  out = store(out, std::uint16_t{0});
  store(out, request.value);
  return bytes;
}

std::optional<KnobRequest> decode_request(std::span<const char, kRequestBytes> bytes) {
  AnswerReader reader({bytes.data(), bytes.size()});
  KnobRequest request;
  request.sequence = reader.take<std::uint32_t>();
  const auto verb = reader.take<std::uint8_t>();
  request.knob = reader.take<std::uint8_t>();
  const auto zero = reader.take<std::uint16_t>();
  request.value = reader.take<std::int64_t>();
  if (verb >= kKnobVerbs || zero != 0) return std::nullopt;
  request.verb = static_cast<KnobVerb>(verb);
  return request;
}

std::string encode(const KnobAnswer& answer) {
  std::string bytes(kSizeBytes, '\0');
  put(bytes, answer.sequence);
  put(bytes, static_cast<std::uint8_t>(answer.type));
  put(bytes, answer.knob_count);
  for (std::size_t i = 0; i < answer.knob_count; ++i) {
    put(bytes, static_cast<std::uint8_t>(answer.values[i].has_value()));
    put(bytes, answer.values[i].value_or(0));
  }
  put_text(bytes, answer.text);
  if (answer.welcome) put_welcome(bytes, *answer.welcome);
  const std::size_t size = bytes.size() - kSizeBytes;
  if (size > kMaxAnswerBytes) {
    throw KnobProtocolError("the board's knobs take " + std::to_string(size) + " bytes; at most " +
                            std::to_string(kMaxAnswerBytes) + " may be sent");
  }
  store(bytes.begin(), static_cast<std::uint32_t>(size));
  return bytes;
}

std::size_t decode_answer(std::string_view bytes, KnobAnswer& answer) {
  if (bytes.size() < kSizeBytes) return 0;
  const auto size = AnswerReader(bytes).take<std::uint32_t>();
  if (size > kMaxAnswerBytes) AnswerReader::fail(std::to_string(size) + " bytes");
  if (bytes.size() - kSizeBytes < size) return 0;
  AnswerReader reader(bytes.substr(kSizeBytes, size));
  answer.sequence = reader.take<std::uint32_t>();
  answer.type =
      static_cast<KnobAnswerType>(reader.take_below<std::uint8_t>(kKnobAnswerTypes, "type"));
  answer.knob_count = reader.take_below<std::uint8_t>(kMaxKnobs + 1, "knobs:");
  answer.values = {};
  for (std::size_t i = 0; i < answer.knob_count; ++i) {
    const bool known = reader.take_below<std::uint8_t>(2, "known") == 1;
    const auto value = reader.take<std::int64_t>();
    if (known) answer.values[i] = value;
  }
  answer.text = reader.take_text();
  answer.welcome.reset();
  if (answer.type == KnobAnswerType::welcome) answer.welcome = take_welcome(reader);
  if (!reader.empty()) AnswerReader::fail(std::to_string(reader.left()) + " bytes too many");
  return kSizeBytes + size;
}

}  // namespace gearshift
