// Sets a board's knobs through the process that owns them (KnobServer), for a daemon without root.
//
// Nothing here waits once the loop runs: a write is asked for and says `more` until its answer has
// come, which ends the loop's wait through descriptor(). What read() says is what the last answer
// told; beat() keeps it fresh.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "actuators/fan.h"
#include "actuators/knob_protocol.h"
#include "boards/sysroot.h"
#include "controller/actuator.h"
#include "controller/clock.h"

namespace gearshift {

// Nobody answers at the socket: what() names it, the reason and the way out.
struct HelperError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RemoteActuator : public Actuator {
 public:
  // Connects and waits for the welcome, up to 10 s. `board` is the id of the board that the caller
  // reads. Throws HelperError where nobody answers, BusyError where somebody else has the knobs,
  // std::runtime_error where this user is refused or the board is another one.
  RemoteActuator(std::filesystem::path socket, const std::string& board, const Clock& clock);
  ~RemoteActuator() override;
  RemoteActuator(const RemoteActuator&) = delete;
  RemoteActuator& operator=(const RemoteActuator&) = delete;

  const KnobSpace& knobs() const override { return welcome_.knobs; }
  // `away` where nobody answers any more.
  Progress write(std::size_t knob, std::int64_t value) override;
  // nullopt also while a write of the knob is not answered, and where nobody answers any more.
  std::optional<std::int64_t> read(std::size_t knob) override;
  // Does not wait: what goes wrong is a complaint later. Whoever sets the knobs after another one
  // has gone is told of the newest process of each kind, if that still runs.
  void manage(std::int32_t pid, Kind kind) override;
  // Not for the loop: waits for the answer, up to 15 s.
  void restore() override;

  const std::vector<AbsentKnob>& absent() const { return welcome_.absent; }
  const std::vector<std::string>& findings() const { return welcome_.findings; }

  // Once a tick: takes what was answered, and shows that the loop goes on. Connects anew, once a
  // second, where the other side has gone.
  void beat(Time now);
  // What people should know, one sentence; empty where there is nothing. Cleared by the call.
  std::string take_complaint();
  // Readable when beat() has something to take. The same one for life, over new connections too.
  int descriptor() const { return events_; }

  // Not for the loop: turns the fan to full speed until restore().
  FanPin pin_fan(Sysroot& root);
  // Not for the loop: the knobs stay as they are when this object goes.
  void keep();
  // Not for the loop: waits until there is something to take, `most` at the longest, and takes it.
  void await(Duration most);

 private:
  enum class Link : std::uint8_t { lost, greeting, ready };
  // While the helper waits for a board that heat slows down, nothing is written, and each try
  // is an answer that it waits still.
  Progress not_yet() const { return helper_waits_ ? Progress::away : Progress::more; }

  struct Write {
    std::uint32_t sequence = 0;
    std::size_t knob = 0;
    std::int64_t value = 0;
    std::optional<KnobAnswerType> answer = {};
    std::string text = {};
  };

  // False where nobody listens. Whoever does may still turn this process away.
  bool connect_anew();
  bool send(KnobVerb verb, std::uint8_t knob, std::int64_t value);
  void manage_again();
  void take_answers();
  void take(const KnobAnswer& answer);
  void greet(const KnobAnswer& answer);
  // The answer to the request that was sent last. Throws KnobError.
  KnobAnswer wait_for_answer(Duration most);
  void lose(const std::string& why);
  bool unanswered(std::size_t knob) const;

  const std::filesystem::path socket_;
  const Clock& clock_;
  KnobWelcome welcome_;
  int events_ = -1;  // an epoll instance that watches the connection
  int connection_ = -1;
  Link link_ = Link::lost;
  std::string lost_why_;
  std::uint32_t sequence_ = 0;  // of the newest request
  std::string bytes_;           // received, not yet an answer
  KnobAnswer answer_;           // the newest, whatever it was to
  std::array<std::optional<std::int64_t>, kMaxKnobs> values_{};
  struct Managed {
    std::int32_t pid = 0;
    int process = -1;  // a pidfd: another process may come to have the pid
  };
  std::array<Managed, kKinds> managed_{};  // the newest of each kind
  std::optional<Write> write_;             // the one that the board asks for now
  bool helper_waits_ = false;              // by its newest answer to a write
  struct Sent {
    std::uint32_t sequence;
    std::size_t knob;
  };
  static constexpr std::size_t kMostUnanswered = 16;
  std::array<Sent, kMostUnanswered> sent_{};  // writes that are not answered, oldest first
  std::size_t sent_count_ = 0;
  Time now_{};
  int unheard_beats_ = 0;
  Time beaten_{};
  Time tried_{};
  std::string complaint_;
};

}  // namespace gearshift
