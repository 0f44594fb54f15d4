// A KnobServer in a process of its own, for tests of the other side of its socket.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "actuators/knob_server.h"
#include "actuators/remote_actuator.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift::fakes {

inline int told[2] = {-1, -1};
inline void tell(const std::string& text) {
  [[maybe_unused]] const ssize_t size = write(told[1], (text + '\n').data(), text.size() + 1);
}

class RunningKnobServer : public testing::Test {
 protected:
  RunningKnobServer() { EXPECT_EQ(pipe(told), 0); }
  ~RunningKnobServer() override {
    if (server_ > 0) stop();
    close(told[0]);
    close(told[1]);
  }

  // Returns once it listens.
  void start(const std::function<void(KnobServerOptions&)>& change = {}) {
    int stop[2];
    ASSERT_EQ(pipe(stop), 0);
    stop_ = stop[1];
    server_ = fork();
    if (server_ == 0) {
      close(stop[1]);
      KnobServerOptions options{
          .socket = socket(), .journal = journal(), .user = geteuid(), .tell = tell};
      // Longer than a test takes, so that only the tests of patience see its end.
      options.patience = std::chrono::minutes(1);
      if (change) change(options);
      {
        KnobServer server(description_, root_, clock_, options);
        tell("ready");
        server.run(stop[0]);
      }
      _exit(0);
    }
    close(stop[0]);
    ASSERT_TRUE(says("ready"));
  }
  int stop() {
    close(stop_);
    return reap();
  }
  int reap() {
    int status = 0;
    EXPECT_EQ(waitpid(server_, &status, 0), server_);
    server_ = -1;
    return status;
  }

  // Reads what the server tells until a line has `text` in it.
  bool says(const std::string& text) {
    while (true) {
      const std::size_t end = heard_.find('\n');
      if (end != std::string::npos) {
        line_ = heard_.substr(0, end);
        heard_.erase(0, end + 1);
        turned_away_ += line_.find("was turned away") != std::string::npos ? 1 : 0;
        refusals_ += line_.find("was refused") != std::string::npos ? 1 : 0;
        if (line_.find(text) != std::string::npos) return true;
        continue;
      }
      pollfd item{.fd = told[0], .events = POLLIN, .revents = 0};
      if (poll(&item, 1, 20'000) <= 0) return false;
      std::array<char, 4096> chunk;
      const ssize_t size = read(told[0], chunk.data(), chunk.size());
      heard_.append(chunk.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    }
  }

  std::unique_ptr<RemoteActuator> connect() {
    return std::make_unique<RemoteActuator>(socket(), "directory-board", clock_);
  }
  // As the controller does it, where each tick is woken by the answer.
  static void apply(RemoteActuator& actuator, std::string_view name, std::int64_t value) {
    const std::size_t knob = *actuator.knobs().find(name);
    for (int tries = 0; tries < 100; ++tries) {
      if (actuator.write(knob, value) == Progress::done) return;
      actuator.await(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << name << " is never done";
  }
  static void put(int descriptor, const KnobRequest& request) {
    const auto bytes = encode(request);
    ASSERT_EQ(send(descriptor, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  // Beats until `done` or for too long.
  bool beat_until(RemoteActuator& actuator, const std::function<bool()>& done) const {
    for (int tries = 0; tries < 2000; ++tries) {
      actuator.beat(clock_.time += std::chrono::milliseconds(60));
      if (done()) return true;
      actuator.await(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::filesystem::path socket() const { return state_.at("/run/knobs.sock"); }
  std::filesystem::path journal() const { return state_.at("/state/knobs.journal"); }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
  const BoardDescription description_ = board_.description();
  const fakes::TickingClock clock_;
  pid_t server_ = -1;
  int stop_ = -1;
  std::string heard_;
  std::string line_;
  int refusals_ = 0;  // told so far
  int turned_away_ = 0;
};

}  // namespace gearshift::fakes
