// Writes the daemon's answers to an operator's program, and reads them there within bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <msgpack.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bridge/protocol.h"
#include "controller/printable_text.h"

namespace gearshift::wire {

// Numbers go out as whole ones of a small unit.
inline std::int64_t rounded(double number) { return std::llround(number); }

// Replaces what is in a buffer by one map: its type, then as many fields as were announced.
class AnswerWriter {
 public:
  AnswerWriter(FrameBuffer& buffer, std::string_view type, std::uint32_t fields)
      : packer_((buffer.clear(), buffer)) {
    packer_.pack_map(fields + 1);
    add("type", type);
  }
  void key(std::string_view name) { put(name); }
  void add(std::string_view name, std::string_view text) {
    put(name);
    put(text);
  }
  template <typename Value>
  requires(!std::is_convertible_v<Value, std::string_view>) void add(std::string_view name,
                                                                     const Value& value) {
    put(name);
    packer_.pack(value);
  }
  void begin_map(std::size_t pairs) { packer_.pack_map(static_cast<std::uint32_t>(pairs)); }

 private:
  void put(std::string_view text) {
    packer_.pack_str(static_cast<std::uint32_t>(text.size()));
    packer_.pack_str_body(text.data(), static_cast<std::uint32_t>(text.size()));
  }
  msgpack::packer<FrameBuffer> packer_;
};

// One answer's fields. The daemon is trusted, but not the file that the socket is: texts come out
// printable, since a terminal obeys control characters.
class AnswerReader {
 public:
  // Throws std::runtime_error for bytes that are no message within bounds, and with the daemon's
  // text where it is an error.
  explicit AnswerReader(std::string_view frame);

  // Throws std::runtime_error naming both types where it is another one.
  void require_type(const std::string& type) const;

  // Throws std::runtime_error naming the field where it is missing or of another type.
  template <typename Value>
  Value get(const std::string& name) const {
    const auto found = fields_.find(name);
    if (found == fields_.end()) throw std::runtime_error("the answer has no field '" + name + "'");
    try {
      auto value = found->second.as<Value>();
      clean(value);
      return value;
    } catch (const msgpack::type_error&) {
      throw std::runtime_error("the answer's field '" + name + "' has another type");
    }
  }
  // Fields that older daemons do not tell.
  std::string text_or_empty(const std::string& name) const {
    return fields_.contains(name) ? get<std::string>(name) : std::string();
  }
  // Within 0 to 2^60, so that it is a span.
  std::int64_t span_ns_or_zero(const std::string& name) const {
    if (!fields_.contains(name)) return 0;
    return std::clamp<std::int64_t>(get<std::int64_t>(name), 0, INT64_C(1) << 60);
  }
  std::int64_t integer_or_zero(const std::string& name) const {
    return fields_.contains(name) ? get<std::int64_t>(name) : 0;
  }
  bool bool_or_false(const std::string& name) const {
    return fields_.contains(name) && get<bool>(name);
  }

 private:
  template <typename Number>
  static void clean(Number&) {}
  static void clean(std::string& text) { hide_unprintable(text, '\n'); }
  static void clean(std::vector<std::string>& texts) {
    for (std::string& text : texts) clean(text);
  }
  template <typename Value>
  static void clean(msgpack::type::assoc_vector<std::string, Value>& pairs) {
    for (auto& [name, value] : pairs) clean(name);
  }

  msgpack::object_handle handle_;
  std::map<std::string, msgpack::object> fields_;
  std::string type_;
};

}  // namespace gearshift::wire
