// The process that owns a board's knobs for a daemon without root: lets one client in, serves what
// lies in the board's knob space, and puts the knobs back when the client goes, however it does.
//
// Each client has a journal, and a guardian process for the time that it is connected. So what
// holds for a daemon that sets the knobs itself holds here, in the same code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "actuators/allowance.h"
#include "actuators/knob_protocol.h"
#include "actuators/private_socket.h"
#include "actuators/step_bar.h"
#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/clock.h"

namespace gearshift {

class Guardian;

struct KnobServerOptions {
  std::filesystem::path socket;
  std::filesystem::path journal;
  std::uint32_t user = 0;  // who may connect, beside root
  // A client that says nothing for so long hangs: the safe mode is set until it goes on.
  Duration patience = std::chrono::seconds(1);
  std::chrono::milliseconds step_patience = kStepPatience;  // see GuardianTerms
  std::uint32_t requests_per_s = 500;                       // more have to wait
  std::uint32_t connections_per_s = 5;                      // the same
  // For people: what happened, one sentence a call.
  void (*tell)(const std::string&) = nullptr;
};

class KnobServer {
 public:
  // Puts back what an earlier one left in the journal, and listens. Borrows all three for life.
  // The process must have no other thread, now and later. Throws BusyError while another process
  // has the journal or the socket, JournalError, and std::runtime_error where it cannot listen.
  KnobServer(const BoardDescription& board, Sysroot& root, const Clock& clock,
             KnobServerOptions options);
  ~KnobServer();

  // One sentence each, for people: which files the knobs use, which are absent and why, and what
  // was put back.
  const std::vector<std::string>& findings() const { return findings_; }

  // Serves until `stop_descriptor` is readable; the knobs are back where they were then, unless the
  // last client asked to keep its setting. Blocks, in poll(2) alone.
  void run(int stop_descriptor);

 private:
  struct Client;

  // Waits and serves once; false at the end.
  bool turn(int stop_descriptor);
  void let_in(const PrivateSocket::Connection& connection);
  void turn_away(const PrivateSocket::Connection& connection, KnobAnswerType type,
                 const std::string& why);
  // False where the client is gone or has to go.
  bool take_requests(Time now);
  bool serve(const KnobRequest& request, Time now);
  void look_after(Time now);
  void end_client(const std::string& why);
  void tell(const std::string& text);
  // At most one a second: who can connect could fill a disk with them.
  void complain(const std::string& text, Time now);

  const BoardDescription& board_;
  Sysroot& root_;
  const Sysroot machine_;  // whose processes clients are
  const Clock& clock_;
  const KnobServerOptions options_;
  std::vector<std::string> findings_;
  PrivateSocket socket_;
  Allowance connections_;
  std::unique_ptr<Client> client_;  // null where none is connected
  std::unique_ptr<Guardian> left_;  // with what could not be put back of the newest such client's
  Time complained_{};
  std::uint64_t untold_ = 0;  // complaints since then
};

}  // namespace gearshift
