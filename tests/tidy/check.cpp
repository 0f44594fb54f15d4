#include <algorithm>

#include "tests/tidy/tidy.h"

namespace gearshift::tidy {
namespace {

// Each file that may break a rule. A line here is a decision: its reason says why no other way did.
constexpr Exemption kExemptions[] = {
    {"clock", "cli/boottime_clock.h", "the one Clock that reads CLOCK_BOOTTIME"},
    {"clock", "cli/evaluate_run.cpp", "the date in a report"},
    {"clock", "bridge/client/gearshift_connection.hpp",
     "in the trainer's program: when is a heartbeat due"},
    {"clock", "bridge/client/gearshift_wire.hpp", "in the trainer's program: how long a save took"},
    {"thread", "bridge/client/gearshift_connection.hpp",
     "a minibatch may outlast the daemon's patience"},
    {"thread", "bridge/client/gearshift_context.hpp",
     "looking up a name may take longer than a program should wait for its end"},
    {"thread", "bridge/client/gearshift_room.hpp",
     "only starting some tells whether any can be had"},
    {"clock", "bridge/client/gearshift_interleaver.hpp", "times minibatches in a server's program"},
    {"clock", "bridge/client/examples/lenet_interleaved.cpp", "plays callers, who see real time"},
    {"log", "bridge/client/examples/lenet_interleaved.cpp", "a program, which prints its summary"},
    {"sleep", "bridge/client/examples/lenet_interleaved.cpp", "plays callers between requests"},
    {"thread", "bridge/client/examples/lenet_interleaved.cpp", "plays callers beside a server"},
    {"thread", "evaluation/case_run.cpp", "thousands of cases that know nothing of each other"},
    {"thread", "sensors/sampler.h", "a sensor's read may block for 430 ms"},
    {"thread", "sensors/sampler.cpp", "a sensor's read may block for 430 ms"},
    {"thread", "bridge/signal_watch.h", "a call of the loop into a driver may hang for good"},
    {"thread", "bridge/signal_watch.cpp", "a call of the loop into a driver may hang for good"},
    {"thread", "trace/recording_writer.h", "a disk may take seconds to take a row"},
    {"sleep", "simulator/virtual_board/fuse_mount.cpp", "plays hardware that answers late"},
    {"sleep", "cli/emulate.cpp", "plays a trainer, which takes the time a minibatch takes"},
    {"sleep", "cli/emulate_interleaved.cpp", "plays a trainer that serves, in the same way"},
    {"sleep", "cli/stop_signals.h", "how those two sleep: until a signal comes"},
    {"sleep", "actuators/group_removal.cpp",
     "after the loop: no kernel tells when a group is empty"},
    {"sleep", "actuators/journal_restore.cpp",
     "after the loop: a file that the kernel has in its hands is tried again"},
    {"sleep", "actuators/holder_lock.cpp",
     "before the loop: a guardian or `gearshift restore` may still be putting knobs back"},
    {"path", "boards/detection.cpp", "looks before it knows which board's data to use"},
    {"path", "actuators/control_group.cpp", "the children of a process, by the kernel's own path"},
    {"path", "actuators/fan.cpp", "the kernel's own names of a fan, on any board"},
    {"path", "actuators/heat.cpp", "the kernel's own names of cooling devices, on any board"},
    {"path", "actuators/knob_journal.cpp", "the boot id, which no board moves"},
    {"path", "actuators/holder_lock.cpp", "whether a holder has ended: a process, no device"},
    {"path", "actuators/process_user.cpp", "the owner of a process that is to be managed"},
    {"path", "actuators/memory_clock.cpp", "the cap nvpmodel leaves, the same on every Jetson"},
    {"path", "actuators/workload_cpus.cpp", "the online CPUs, where no cpuset tells"},
    {"path", "cli/privileged.cpp", "where this program's own file is"},
    {"path", "bridge/process_identity.cpp", "whose a client's process is, and since when"},
    {"path", "sensors/cpu_time_estimate.cpp", "the kernel's CPU times, which no board moves"},
    {"path", "sensors/power_supply.cpp", "the class folder in which batteries are looked for"},
    {"path", "sensors/hwmon.h", "the class folder in which chips are looked for by name"},
    {"path", "sensors/rapl.cpp", "the class folder in which packages are looked for by name"},
    {"clock", "tests/fakes/wall_clock.cpp", "plays a clock on the wall that somebody sets"},
    {"thread", "tests/sensors/nut_battery_test.cpp", "plays the daemon that is asked"},
    {"thread", "tests/bridge/client_fork_test.cpp", "plays a server that waits while it forks"},
    {"thread", "tests/bridge/client_turn_test.cpp", "plays a program that waits for its turn"},
    {"thread", "tests/bridge/interleaver_close_test.cpp", "plays a server that waits for answers"},
    {"thread", "tests/bridge/live_world_test.cpp", "plays programs that send while it waits"},
    {"thread", "tests/bridge/control_test.cpp",
     "plays another program, which waits for its answer"},
    {"thread", "tests/bridge/control_key_test.cpp", "plays the door that refuses a key"},
    {"path", "sensors/thermal_zones.cpp", "the class folder in which zones are looked for by type"},
};

void append(std::vector<Finding>& findings, std::vector<Finding> more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

std::vector<Finding> check_file(const Source& source) {
  std::vector<Finding> findings = check_layout(source);
  const Views views = split_views(source.text);
  append(findings, check_lengths(source, views));
  if (is_cpp(source.path)) {
    append(findings, check_includes(source, views));
    append(findings, check_names(source, views));
  }
  return findings;
}

}  // namespace

std::string describe(const Finding& finding) {
  return finding.path + ":" + std::to_string(finding.line) + ": " + finding.rule + ": " +
         finding.advice;
}

std::span<const Exemption> exemptions() { return kExemptions; }

std::vector<Finding> check(std::span<const Source> sources, std::span<const Exemption> exemptions) {
  std::vector<Finding> kept = check_types(sources);
  append(kept, check_own_names(sources));
  std::vector<bool> used(exemptions.size(), false);
  for (const Source& source : sources) {
    for (Finding& finding : check_file(source)) {
      const auto covers = [&](const Exemption& exemption) {
        return exemption.rule == finding.rule && exemption.path == finding.path;
      };
      const auto found = std::find_if(exemptions.begin(), exemptions.end(), covers);
      if (found == exemptions.end()) {
        kept.push_back(std::move(finding));
      } else {
        used[static_cast<std::size_t>(found - exemptions.begin())] = true;
      }
    }
  }
  for (std::size_t i = 0; i < exemptions.size(); ++i) {
    const Exemption& exemption = exemptions[i];
    if (exemption.reason.empty()) {
      kept.push_back({std::string(exemption.path), 1, "exemption",
                      std::string(exemption.rule) + ": give its reason"});
    } else if (!used[i]) {
      kept.push_back({std::string(exemption.path), 1, "exemption",
                      std::string(exemption.rule) + ": no longer needed; remove it from the list"});
    }
  }
  return kept;
}

}  // namespace gearshift::tidy
