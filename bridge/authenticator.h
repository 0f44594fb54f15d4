// Lets clients in over tcp by their CURVE key: answers what libzmq asks of each new connection.
#pragma once

#include <cstddef>
#include <string>
#include <zmq.hpp>

#include "bridge/clients.h"
#include "bridge/file_watch.h"
#include "bridge/key_files.h"
#include "bridge/token_bucket.h"
#include "controller/clock.h"

namespace gearshift {

// The handler of ZeroMQ's authentication protocol (ZAP, RFC 27) of one context, without a thread:
// its socket is polled beside the others. A connection whose key is not in the table is refused
// before any message of it is read. A message of one that came in carries its key, so that rights
// are looked up anew for each: who is revoked is out at once.
class Authenticator {
 public:
  // To be made before any socket of `context` is bound: libzmq lets every key in while there is no
  // handler. Throws std::runtime_error as KeyFolder does.
  Authenticator(zmq::context_t& context, const KeyFolder& folder);

  const std::string& secret_key() const { return server_.secret_key; }
  const ClientTable& clients() const { return clients_; }

  // To be polled for ZMQ_POLLIN, and the file watch's descriptor with it (-1: none).
  zmq::socket_ref socket() { return socket_; }
  int descriptor() const { return watch_.descriptor(); }
  // Answers who waits at the door, 64 at most. Never blocks.
  void answer(Time now);
  // Reads the table again where its file has changed. True where it is another one now. A file that
  // cannot be used leaves the old table in force, and a complaint; where the file or its folder is
  // gone nobody is authorised.
  bool take_changes();

  // Who sent a message that a socket with keys received. Valid as long as the frame, and until the
  // next take_changes().
  Caller caller_of(zmq::message_t& frame) const;
  // What the operator should hear, once: who was refused, which file cannot be used. Empty: nothing
  // new. At most one refusal each ten seconds is told.
  std::string take_complaint();

 private:
  void complain_unwatched();
  bool decide(std::string_view domain, std::string_view address, std::string_view mechanism,
              std::string_view credentials, Time now);

  KeyFolder folder_;
  // In full, and where it is the default one too: an operator who is another user, or stands
  // elsewhere, has another.
  const std::string folder_flag_;
  KeyPair server_;
  FileWatch watch_;
  ClientTable clients_;
  zmq::socket_t socket_;
  TokenBucket refusals_{1, std::chrono::seconds(10)};
  std::string key_;  // of who asks now, in Z85
  std::string complaint_;
};

}  // namespace gearshift
