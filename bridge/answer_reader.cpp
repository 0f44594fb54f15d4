#include "bridge/answer_reader.h"

namespace gearshift::wire {
namespace {

msgpack::object_handle unpack(std::string_view frame) {
  const msgpack::unpack_limit limit(kMaxMapEntries, kMaxMapEntries, kMaxMessageBytes, 0, 0,
                                    kMaxDepth);
  try {
    if (frame.size() > kMaxFrameBytes) throw msgpack::parse_error("larger than 4096 bytes");
    return msgpack::unpack(frame.data(), frame.size(), nullptr, nullptr, limit);
  } catch (const std::exception& error) {
    throw std::runtime_error("the answer is no message of gearshift: " + std::string(error.what()));
  }
}

}  // namespace

AnswerReader::AnswerReader(std::string_view frame) : handle_(unpack(frame)) {
  try {
    handle_.get().convert(fields_);
    type_ = get<std::string>("type");
  } catch (const msgpack::type_error&) {
    throw std::runtime_error("the answer is no message of gearshift: not a map");
  }
  if (type_ == "error") {
    throw std::runtime_error("the daemon refused: " + get<std::string>("message"));
  }
}

void AnswerReader::require_type(const std::string& type) const {
  if (type_ != type) {
    throw std::runtime_error("the answer is of type '" + type_ + "', wanted '" + type + "'");
  }
}

}  // namespace gearshift::wire
