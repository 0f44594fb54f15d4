// The number of cores online, one core a write. Core 0 stays: on a Jetson it cannot go; and so does
// every core that has no switch.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "actuators/knob_control.h"
#include "actuators/number_list.h"

namespace gearshift {
namespace {

// Counts N as the first N cores, so that a count is always the same cores, the ones that the board
// model and every measurement mean. Cores that stay come before all others.
class CpuHotplug : public KnobControl {
 public:
  // `numbers`: of all cores, first those that stay; `switches`: of all others. Lowest first.
  CpuHotplug(Knob knob, std::vector<std::size_t> numbers, std::vector<KnobFile> switches,
             KnobFile online)
      : KnobControl(std::move(knob)),
        staying_(static_cast<std::int64_t>(numbers.size() - switches.size())),
        numbers_(std::move(numbers)),
        switches_(std::move(switches)),
        online_(std::move(online)) {}

  void save(KnobJournal& journal) override {
    for (KnobFile& core : switches_) {
      journal.save(SavedRole::core_online, core.path, core.file.read());
    }
  }

  Progress write(std::int64_t value, KnobJournal&) override {
    wanted_ = value;
    // Cores come before others go: the least count is of cores that never go.
    if (KnobFile* core = first_unlike(value, 1)) return move(*core, 1);
    if (KnobFile* core = last_unlike(value, 0)) return move(*core, 0);
    return read_back_.taken();
  }

  std::optional<std::int64_t> read() override {
    std::optional<CpuSet> cpus;
    try {
      cpus = parse_cpu_set(online_.file.read());
    } catch (const FileError&) {
    }
    if (!cpus) return std::nullopt;
    // Another program may have swapped cores: then the length of the unbroken run tells it.
    const auto count = static_cast<std::int64_t>(cpus->count());
    std::int64_t run = 0;
    while (run < count && (*cpus)[number_of(run)]) ++run;
    return run == count || run == wanted_ ? count : run;
  }

 private:
  std::size_t number_of(std::int64_t position) const {
    const auto at = static_cast<std::size_t>(position);
    return at < numbers_.size() ? numbers_[at] : kMaxCpus - 1;
  }

  static std::int64_t state(KnobFile& core) { return core.file.read_integer(); }

  // How many switches are on where `value` cores are.
  std::size_t switched_on(std::int64_t value) const {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, value - staying_));
  }
  KnobFile* first_unlike(std::int64_t value, std::int64_t wanted) {
    for (std::size_t i = 0; i < std::min(switches_.size(), switched_on(value)); ++i) {
      if (state(switches_[i]) != wanted) return &switches_[i];
    }
    return nullptr;
  }
  KnobFile* last_unlike(std::int64_t value, std::int64_t wanted) {
    for (std::size_t i = switches_.size(); i > switched_on(value); --i) {
      if (state(switches_[i - 1]) != wanted) return &switches_[i - 1];
    }
    return nullptr;
  }

  Progress move(KnobFile& core, std::int64_t wanted) {
    core.file.write(wanted == 1 ? "1" : "0");
    if (state(core) != wanted) {
      return read_back_.not_taken(knob_, wanted_.value_or(0), read(), core.file.path());
    }
    read_back_.taken();
    const std::int64_t value = wanted_.value_or(0);
    const bool finished = !first_unlike(value, 1) && !last_unlike(value, 0);
    return finished ? Progress::done : Progress::more;
  }

  std::int64_t staying_;
  std::vector<std::size_t> numbers_;
  std::vector<KnobFile> switches_;
  KnobFile online_;
  std::optional<std::int64_t> wanted_;
  ReadBack read_back_;
};

CpuSet cpus_in(const std::string& path, std::string_view text) {
  const auto cpus = parse_cpu_set(text);
  if (!cpus) throw KnobError(path + " is not a list of CPUs");
  return *cpus;
}

// The values of the board file that can be set. Where it goes on beyond the last core, all cores
// are one more; where it ends before, the others are not to be used: a Xavier NX has two cores that
// its vendor keeps off.
void limit_values(std::vector<std::int64_t>& values, std::int64_t staying, std::int64_t cores) {
  const bool beyond = !values.empty() && values.back() > cores;
  std::erase_if(values, [=](std::int64_t value) { return value < staying || value > cores; });
  if (beyond && (values.empty() || values.back() != cores)) values.push_back(cores);
}

}  // namespace

std::unique_ptr<KnobControl> open_cpu_hotplug(const KnobDescription& description, Sysroot& root,
                                              std::string& finding) {
  const std::string& folder = description.path;
  try {
    KnobFile online(root, folder + "/online", Sysroot::Access::read);
    const CpuSet possible =
        cpus_in(folder + "/possible", root.try_read(folder + "/possible").value_or("0-1023"));
    const CpuSet now = cpus_in(folder + "/online", online.file.read());
    if (!now[0]) {
      throw KnobError("cpu0 is offline (" + folder + "/online: " + format_cpu_set(now) +
                      "), and every count of cores begins with it");
    }
    std::vector<KnobFile> switches;
    std::vector<std::size_t> numbers = {0};
    std::vector<std::size_t> switched;
    for (std::size_t cpu = 1; cpu < kMaxCpus; ++cpu) {
      const std::string path = folder + "/cpu" + std::to_string(cpu) + "/online";
      if (!possible[cpu]) continue;
      try {
        switches.emplace_back(root, path);
      } catch (const FileError& error) {
        if (error.code() != ENOENT) throw;
        if (now[cpu]) numbers.push_back(cpu);  // one that cannot be switched
        continue;
      }
      switches.back().file.read_integer();
      switched.push_back(cpu);
    }
    if (switches.empty()) {
      throw KnobError(numbers.size() == 1
                          ? "no core below " + folder + " but the first can be switched"
                          : "no core below " + folder + " can be switched");
    }
    const auto staying = static_cast<std::int64_t>(numbers.size());
    numbers.insert(numbers.end(), switched.begin(), switched.end());
    const auto cores = static_cast<std::int64_t>(numbers.size());
    Knob knob = description.knob;
    limit_values(knob.values, staying, cores);
    if (knob.values.empty()) {
      throw KnobError(std::to_string(staying) + " cores below " + folder +
                      " cannot be switched off, more than the board file counts");
    }
    finding = std::to_string(cores) + " cores below " + folder;
    if (staying > 1) finding += ", " + std::to_string(staying) + " of them always online";
    if (knob.values.back() < cores) {
      finding += ", of which the board file uses " + std::to_string(knob.values.back());
    }
    return std::make_unique<CpuHotplug>(std::move(knob), std::move(numbers), std::move(switches),
                                        std::move(online));
  } catch (const FileError& error) {
    throw KnobError(error.what());
  }
}

}  // namespace gearshift
