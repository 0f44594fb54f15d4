// The clients of a bridge, as a test plays them: keeps what they were sent, decoded.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/sessions.h"

namespace gearshift::fakes {

class RecordingPeers final : public Peers {
 public:
  bool send(std::string_view identity, std::string_view frame) override {
    if (gone.contains(std::string(identity))) return false;
    wire::DaemonMessage message;
    const wire::Fault fault = wire::decode(frame, message);
    if (fault) ADD_FAILURE() << "sent no message: " << fault.error().message.view();
    sent.emplace_back(std::string(identity), message);
    return true;
  }

  // The last message of type M to `identity`, if it got one since clear().
  template <typename M>
  std::optional<M> last(std::string_view identity) const {
    for (auto entry = sent.rbegin(); entry != sent.rend(); ++entry) {
      if (entry->first != identity) continue;
      if (const M* message = std::get_if<M>(&entry->second)) return *message;
    }
    return std::nullopt;
  }
  template <typename M>
  int count(std::string_view identity) const {
    int found = 0;
    for (const auto& [to, message] : sent) {
      found += to == identity && std::holds_alternative<M>(message) ? 1 : 0;
    }
    return found;
  }
  std::string last_error(std::string_view identity) const {
    const auto error = last<wire::Error>(identity);
    return error ? std::string(error->code.view()) : "";
  }
  void clear() { sent.clear(); }

  std::vector<std::pair<std::string, wire::DaemonMessage>> sent;
  std::set<std::string> gone;  // connections that are closed
};

}  // namespace gearshift::fakes
