// What setting one clock costs, by the daemon itself and through a helper: write, read back,
// answer. The board is a folder of plain files, so that what is left is gearshift's own.
#include <benchmark/benchmark.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/knob_server.h"
#include "actuators/remote_actuator.h"
#include "tests/fakes/one_knob_board.h"

namespace {

using namespace gearshift;

struct BootClock : Clock {
  Time now() const override {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

// As the loop does it: the answer ends its wait.
void apply(Actuator& actuator, std::int64_t value, int descriptor) {
  while (actuator.write(0, value) == Progress::more) {
    pollfd item{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (descriptor >= 0) poll(&item, 1, 1000);
  }
  benchmark::DoNotOptimize(actuator.read(0));
}

void change(benchmark::State& state, Actuator& actuator, int descriptor) {
  bool high = false;
  for (auto _ : state) {
    high = !high;
    apply(actuator, high ? 1'300'500 : 306'000, descriptor);
  }
}

void BM_ClockSetDirectly(benchmark::State& state) {
  const fakes::OneKnobBoard board("306000000", "612000000");
  Sysroot root(board.tree.root());
  BoardActuator actuator(board.description, root, {.journal = board.tree.at("knobs.journal")});
  change(state, actuator, -1);
}
BENCHMARK(BM_ClockSetDirectly)->UseRealTime();

void BM_ClockSetThroughAHelper(benchmark::State& state) {
  const fakes::OneKnobBoard board("306000000", "612000000");
  Sysroot root(board.tree.root());
  const BootClock clock;
  int stop[2];
  int ready[2];
  if (pipe(stop) != 0 || pipe(ready) != 0) std::abort();
  const pid_t helper = fork();
  if (helper == 0) {
    close(stop[1]);
    KnobServer server(board.description, root, clock,
                      {.socket = board.tree.at("knobs.sock"),
                       .journal = board.tree.at("knobs.journal"),
                       .user = geteuid(),
                       .requests_per_s = 1'000'000});
    close(ready[1]);
    server.run(stop[0]);
    _exit(0);
  }
  close(ready[1]);
  char none = 0;
  if (read(ready[0], &none, 1) != 0) std::abort();
  {
    RemoteActuator actuator(board.tree.at("knobs.sock"), "one-knob", clock);
    change(state, actuator, actuator.descriptor());
  }
  close(stop[1]);
  waitpid(helper, nullptr, 0);
}
BENCHMARK(BM_ClockSetThroughAHelper)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
