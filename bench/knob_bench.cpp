// What setting one clock costs, by the daemon itself and through a helper: write, read back,
// answer. The board is a folder of plain files, so that what is left is gearshift's own.
#include <benchmark/benchmark.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/knob_server.h"
#include "actuators/remote_actuator.h"

namespace {

using namespace gearshift;

struct BootClock : Clock {
  Time now() const override {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

struct OneKnobBoard {
  OneKnobBoard() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gearshift-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    root = pattern;
    const std::filesystem::path folder = root / "sys/class/devfreq/17000000.gpu";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "available_frequencies") << "306000000 612000000 1300500000";
    std::ofstream(folder / "min_freq") << "306000000";
    std::ofstream(folder / "max_freq") << "612000000";
    description.id = "one-knob";
    description.knobs.push_back({{"gpu_mhz", Unit::khz, KnobClass::clock, {1}},
                                 KnobDriver::gpu_devfreq,
                                 "/sys/class/devfreq",
                                 {"gpu"}});
  }
  ~OneKnobBoard() { std::filesystem::remove_all(root); }

  std::filesystem::path root;
  BoardDescription description;
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
  const OneKnobBoard board;
  Sysroot root(board.root);
  BoardActuator actuator(board.description, root, {.journal = board.root / "knobs.journal"});
  change(state, actuator, -1);
}
BENCHMARK(BM_ClockSetDirectly)->UseRealTime();

void BM_ClockSetThroughAHelper(benchmark::State& state) {
  const OneKnobBoard board;
  Sysroot root(board.root);
  const BootClock clock;
  int stop[2];
  int ready[2];
  if (pipe(stop) != 0 || pipe(ready) != 0) std::abort();
  const pid_t helper = fork();
  if (helper == 0) {
    close(stop[1]);
    KnobServer server(board.description, root, clock,
                      {.socket = board.root / "knobs.sock",
                       .journal = board.root / "knobs.journal",
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
    RemoteActuator actuator(board.root / "knobs.sock", "one-knob", clock);
    change(state, actuator, actuator.descriptor());
  }
  close(stop[1]);
  waitpid(helper, nullptr, 0);
}
BENCHMARK(BM_ClockSetThroughAHelper)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
