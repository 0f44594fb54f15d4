// The number of cores online, one core a write. Core 0 stays: on a Jetson it cannot go.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "actuators/knob_control.h"
#include "actuators/number_list.h"

namespace gearshift {
namespace {

// Counts N as the first N cores, so that a count is always the same cores, the ones that the board
// model and every measurement mean.
class CpuHotplug : public KnobControl {
 public:
  // `numbers`: of all cores; `switches`: of all but the first. Both lowest first.
  CpuHotplug(Knob knob, std::vector<std::size_t> numbers, std::vector<KnobFile> switches,
             KnobFile online)
      : KnobControl(std::move(knob)),
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
    // Cores come before others go: a count of one is reached from core 0 alone, which never goes.
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

  // switches_[0] is the second core.
  KnobFile* first_unlike(std::int64_t value, std::int64_t wanted) {
    for (std::size_t i = 0; i < switches_.size() && static_cast<std::int64_t>(i) + 1 < value; ++i) {
      if (state(switches_[i]) != wanted) return &switches_[i];
    }
    return nullptr;
  }
  KnobFile* last_unlike(std::int64_t value, std::int64_t wanted) {
    for (std::size_t i = switches_.size(); i > 0 && static_cast<std::int64_t>(i) >= value; --i) {
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

  std::vector<std::size_t> numbers_;
  std::vector<KnobFile> switches_;
  KnobFile online_;
  std::optional<std::int64_t> wanted_;
  ReadBack read_back_;
};

}  // namespace

std::unique_ptr<KnobControl> open_cpu_hotplug(const KnobDescription& description, Sysroot& root,
                                              std::string& finding) {
  try {
    KnobFile online(root, description.path + "/online", Sysroot::Access::read);
    const auto possible =
        parse_cpu_set(root.try_read(description.path + "/possible").value_or("0-1023"));
    if (!possible) throw KnobError(description.path + "/possible is not a list of CPUs");
    std::vector<KnobFile> switches;
    std::vector<std::size_t> numbers = {0};
    for (std::size_t cpu = 1; cpu < kMaxCpus; ++cpu) {
      const std::string path = description.path + "/cpu" + std::to_string(cpu) + "/online";
      if (!(*possible)[cpu]) continue;
      try {
        switches.emplace_back(root, path);
      } catch (const FileError& error) {
        if (error.code() == ENOENT) continue;  // a core that cannot be switched
        throw;
      }
      switches.back().file.read_integer();
      numbers.push_back(cpu);
    }
    if (switches.empty()) {
      throw KnobError("no core below " + description.path + " but the first can be switched");
    }
    const auto cores = static_cast<std::int64_t>(numbers.size());
    Knob knob = description.knob;
    std::erase_if(knob.values, [cores](std::int64_t value) { return value < 1 || value > cores; });
    if (knob.values.empty() || knob.values.back() != cores) knob.values.push_back(cores);
    finding = std::to_string(cores) + " cores below " + description.path;
    return std::make_unique<CpuHotplug>(std::move(knob), std::move(numbers), std::move(switches),
                                        std::move(online));
  } catch (const FileError& error) {
    throw KnobError(error.what());
  }
}

}  // namespace gearshift
