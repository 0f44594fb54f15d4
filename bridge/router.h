// Binds a ZeroMQ socket: for one user of this machine, or over tcp for who has a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <zmq.hpp>

#include "bridge/connection_limit.h"
#include "controller/clock.h"

namespace gearshift {

// The daemon's side of CURVE, for a tcp socket. An empty secret key: everyone who can connect.
struct RouterKey {
  std::string secret_key;  // Z85
  std::string domain;      // what the socket is for, as the Authenticator tells the operator
};

// A ROUTER that limits messages to the protocol's size and never blocks. An ipc socket is of mode
// 0600 from its first moment (the process's umask is changed while it is bound) and belongs to
// `owner`; its folder is made where it is missing, and a socket file that nobody answers on is
// removed, as is its own when it is closed. Connections beyond most_connections() are shut. A tcp
// socket takes part in CURVE where it is given a secret key: what it then receives has been let in
// by the context's Authenticator.
class Router {
 public:
  // Throws std::runtime_error naming the endpoint and the way out, and as require_bindable does.
  Router(zmq::context_t& context, const std::string& endpoint, std::uint32_t owner,
         const RouterKey& key = {});
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // Whoever sent a message was let in by its key.
  bool keyed() const { return keyed_; }
  // To be polled for ZMQ_POLLIN.
  zmq::socket_ref socket() { return socket_; }
  // To be polled too; then limit_connections(), often, which never blocks.
  zmq::socket_ref connections() { return connections_.socket(); }
  void limit_connections() { connections_.enforce(); }
  // The next message of one frame, as its two parts. False where none waits, or for the moment: of
  // a message of very many frames a call passes over some, and the next call goes on. Messages of
  // any other number of frames are read and dropped. Each one read lowers `budget`; at 0 none is
  // read.
  bool receive(zmq::message_t& identity, zmq::message_t& frame, std::size_t& budget);
  // False where the connection is gone or its queue is full. Never blocks.
  bool send(std::string_view identity, std::string_view frame);
  // That nobody can connect any more, because the socket's file is gone or another one, and the way
  // out; told once. Looks once a minute. Empty: nothing new.
  std::string take_complaint(Time now);

 private:
  struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool operator==(const FileId&) const = default;
  };
  static FileId id_of(const std::filesystem::path& path);

  zmq::socket_t socket_;
  ConnectionLimit connections_;
  std::string endpoint_;
  std::filesystem::path path_;  // of an ipc socket
  FileId file_;                 // that was made there
  Time look_again_{};
  bool told_ = false;  // that it is gone
  bool keyed_ = false;
  bool in_rest_ = false;  // of a message with more than one frame, which is dropped
};

}  // namespace gearshift
