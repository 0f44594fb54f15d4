// A C++ client's tests, with a daemon that the test plays on a bare socket.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <zmq.hpp>

#include "bridge/client/gearshift.hpp"
#include "bridge/protocol.h"
#include "tests/bridge/frames.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {

// Ends what waits for the daemon, however the test ends.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> action) : action_(std::move(action)) {}
  ~AtEnd() { action_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  std::function<void()> action_;
};

class ClientTest : public testing::Test {
 protected:
  static constexpr int kGiveUpMs = 20'000;  // generous: only a failure waits for it

  ClientTest() {
    daemon.set(zmq::sockopt::rcvtimeo, kGiveUpMs);
    daemon.set(zmq::sockopt::linger, 0);
    daemon.bind(endpoint);
  }

  client::Options options() const {
    return {"lenet", client::Kind::train, 16, {8, 16, 32}, 1437, endpoint};
  }
  // The next message that is no heartbeat.
  wire::ClientMessage receive_any() {
    for (;;) {
      zmq::message_t frame;
      wire::ClientMessage message;
      if (!daemon.recv(identity) || !daemon.recv(frame)) throw std::runtime_error("no message");
      const wire::Fault fault = wire::decode(frame.to_string_view(), message);
      if (fault) throw std::runtime_error("the client sent no message");
      if (!std::holds_alternative<wire::Heartbeat>(message)) return message;
    }
  }
  // That asks for no turn that was asked for before.
  template <typename Message>
  Message receive() {
    for (;;) {
      const wire::ClientMessage message = receive_any();
      const auto* const request = std::get_if<wire::TurnRequest>(&message);
      if (request != nullptr && std::exchange(asked_, request->turn) == request->turn) continue;
      return std::get<Message>(message);
    }
  }
  // The next such message, whatever comes before it. What is sent goes to its sender then.
  template <typename Message>
  Message expect() {
    for (;;) {
      const wire::ClientMessage message = receive_any();
      if (const auto* const found = std::get_if<Message>(&message)) return *found;
    }
  }
  template <typename Message>
  void send(const Message& message) {
    send_bytes(frames::packed(message));
  }
  void send_bytes(const std::string& frame) {
    daemon.send(zmq::const_buffer(identity.data(), identity.size()), zmq::send_flags::sndmore);
    daemon.send(zmq::const_buffer(frame.data(), frame.size()), zmq::send_flags::none);
  }
  static wire::Welcome welcoming(bool managed = true) {
    wire::Welcome message;
    message.workload = 1;
    message.managed = managed;
    message.heartbeat = std::chrono::seconds(1);
    message.silent_after = std::chrono::seconds(60);
    return message;
  }
  void welcome(client::Workload& workload, bool managed = true) {
    receive<wire::Hello>();
    wire::Welcome message = welcoming(managed);
    if (!managed) message.message = wire::MessageText("only observed");
    send(message);
    await([&] { return workload.attached(); }, workload);
  }
  template <typename Condition>
  static void await(Condition condition, client::Workload& workload) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (condition()) return;
      workload.wait(std::chrono::milliseconds(20));
    }
    FAIL() << "waited in vain";
  }
  static void minibatch(client::Workload& workload) {
    workload.minibatch(2, std::chrono::milliseconds(5), std::chrono::milliseconds(1),
                       std::chrono::milliseconds(4));
  }

  const fakes::TempTree tree;
  const std::string endpoint = "ipc://" + tree.at("/workloads.ipc").string();
  zmq::context_t context{1};
  zmq::socket_t daemon{context, zmq::socket_type::router};
  zmq::message_t identity;

 private:
  std::uint64_t asked_ = 0;  // turn that was asked for last
};

}  // namespace gearshift
