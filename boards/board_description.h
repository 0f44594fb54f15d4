// What a board is, as data: knob tables, rails and their total, paths, lags. Read from TOML.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "boards/cost_model.h"
#include "boards/nvml_gpu.h"
#include "boards/sysroot.h"
#include "controller/clock.h"
#include "controller/knob.h"

namespace gearshift {

// A board file that cannot be used: what() has file, line and the offending key and value.
struct BoardFileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How a knob is written; the actuators room has one driver for each.
enum class KnobDriver : std::uint8_t {
  cpu_hotplug,        // path: /sys/devices/system/cpu ; counts online cores
  cpufreq,            // path: /sys/devices/system/cpu/cpufreq ; min = max on every policy
  gpu_devfreq,        // path: /sys/class/devfreq ; found by of_node name
  emc_bpmp,           // path: /sys/kernel/debug/bpmp/debug ; locked rate
  cgroup_cpuset,      // path: /sys/fs/cgroup ; cores the managed workloads may use
  cgroup_quota,       // path: /sys/fs/cgroup ; percent of one core
  nvml_power_limit,   // no path, but `gpu`: the limit of its board
  nvml_gpu_clock,     // the same: locked graphics clock
  nvml_memory_clock,  // the same: locked memory clock
};

std::string_view driver_name(KnobDriver driver);  // as the board file writes it

// Of any clock: nothing runs faster, and what a table says beyond it is no clock.
inline constexpr std::int64_t kMostClockKhz = 20'000'000;

struct KnobDescription {
  Knob knob;  // values: the table of the board file; the live table wins where there is one
  KnobDriver driver = KnobDriver::cpu_hotplug;
  std::string path;                       // folder the driver works in; empty for nvml_*
  std::vector<std::string> device_names;  // gpu_devfreq: accepted of_node names
  std::int64_t safe_at_least = 0;         // the safe mode does not go below, in the knob's unit
  std::string gpu = {};                   // nvml_*: index or UUID
};

enum class PowerSource : std::uint8_t { ina3221, rapl, cpu_time_estimate, nvml };

// One rail of an INA3221. `sign` 1: part of the total; 0: shown, but already inside another rail.
struct RailDescription {
  std::string label;
  int sign = 1;
  std::int64_t step_mw = 0;  // its readings come in such steps; 0: not known
};

struct PowerDescription {
  std::vector<PowerSource> sources;    // tried in this order
  std::vector<RailDescription> rails;  // ina3221
  std::string gpu;                     // nvml: index or UUID
  double estimate_idle_w = 0;          // cpu_time_estimate: power at 0 % CPU
  double estimate_core_w = 0;          // and what each fully busy core adds
  Duration window{};                   // what the sensor's newest value is of
  // Over the cap means that the mean of this is: the window, or where reads block, one for each
  // rail of the total.
  Duration judged_over{};
  Duration averaging{};  // what an INA3221's readings are means over; else zero
  Duration period{};     // how often reading more is worth it: 100 ms
  Duration stale_after{};
  std::int64_t plausible_max_mw = 0;  // anything above, or below 0, is absurd
  bool reads_block = false;           // JetPack 5: needs the sampler thread
  std::int64_t rounding_mw = 0;  // the total is off by so much at most: half of its rails' steps
};

// More modes than this are refused: a list of them would take more memory than the daemon may.
inline constexpr std::size_t kMaxModes = 1 << 18;
// The number of modes, or kMaxModes + 1 where there are more.
std::size_t bounded_mode_count(const KnobSpace& space);
// "more than 262144 modes together (cpu_cores 12, cpu_mhz 901 and gpu_mhz 101 values)".
std::string too_many_modes(const KnobSpace& space);
// Makes the longest lists of values shorter, evenly and with both ends kept, until there are no
// more than kMaxModes: tables of a kernel may have any length. For each knob, one sentence for
// people; empty where its list stays as it is.
std::vector<std::string> thin_modes(KnobSpace& space);

struct BoardDescription {
  std::string id;                    // "jetson-agx-orin"
  std::string name;                  // for people
  std::string source;                // file it came from
  std::string text;                  // of that file, as it was read
  std::vector<std::string> aliases;  // names under which tables of measurements know it
  // Any of these in the device tree, as an entry or as one part of "nvidia,carrier+module"; empty:
  // the board that is taken where no other fits.
  std::vector<std::string> compatible;
  std::vector<int> l4t_majors;  // distinguishes JetPack generations; empty: any
  bool needs_gpu = false;       // taken where no device tree names a board and NVML reports power
  std::vector<KnobDescription> knobs;
  PowerDescription power;
  std::vector<std::string> thermal_zones;  // prefixes, matched case-insensitively
  Duration apply_timeout{};
  std::optional<DeviceParameters> model;
  std::optional<DeviceParameters> train_model;  // where training has time parameters of its own
  std::map<std::string, WorkloadParameters> workloads;  // by the name gearshift emulate takes
  // What counts as full load in modes_by_power, at its reference_batch. Empty where there is no
  // model.
  std::string reference_workload;
  // By the name under which measurements in them were published.
  std::map<std::string, ModelMode> published_modes;

  // The board has a model.
  const DeviceParameters& parameters(Kind kind) const {
    return kind == Kind::train && train_model ? *train_model : *model;
  }
  // Among those of the kind by name or alias, or by the name without the "-infer" or "-train"
  // behind it that tells it from that of another kind; workloads.end() where there is none.
  std::map<std::string, WorkloadParameters>::const_iterator find_workload(std::string_view called,
                                                                          Kind kind) const;
  KnobSpace knob_space() const;  // of the board file's tables
};

// Parses one board file. `source` names it in errors. Throws BoardFileError.
BoardDescription parse_board(std::string_view toml, std::string_view source);

// The board files built into the program, by id.
std::span<const BoardDescription> built_in_boards();

// By id or alias; null where there is none.
const BoardDescription* find_board(std::string_view called,
                                   std::span<const BoardDescription> boards);
// Whether two names are of one built-in board: its id, its aliases, and those of boards that differ
// from it by their software alone. Names that no board has are of one where they are equal.
bool is_same_board(std::string_view one, std::string_view other);

// What detection found, step by step, for `boards --explain`.
struct Detection {
  const BoardDescription* board = nullptr;  // never null: `host` fits any Linux machine
  // "compatible: nvidia,p3701-0005 (/proc/device-tree/compatible)"
  std::vector<std::string> evidence;
  std::vector<GpuSummary> gpus;  // looked for where no device tree names a board
};
// `boards` holds exactly the candidates; one of them must match by fallback, else
// std::invalid_argument. The detection points into `boards`.
Detection detect_board(const Sysroot& root, std::span<const BoardDescription> boards);

// A Jetson or another board of that family: sysfs tells of its GPU, and NVML does not.
bool is_tegra(const Sysroot& root);

// Makes the board's NVML knobs and sensor those of GPU `which`, an index or a UUID. False where the
// board has none, and nothing changes.
bool select_gpu(BoardDescription& board, const std::string& which);

// Modes of the space, lowest power first: by the model at full load where the board has one, else
// by the product of relative knob positions, which a power limit caps at its share of the highest
// limit. Ties by value, knob by knob. A knob of the board that the space lacks counts as at its
// highest value. Throws std::length_error for more than kMaxModes.
std::vector<PowerMode> modes_by_power(const BoardDescription& board, const KnobSpace& space);

// The mode that is held when nothing better is known to be safe: the first of `modes` (lowest power
// first, not empty) whose knobs are all at their board file's safe_at_least or above; the last of
// `modes` where there is none. Modes below would draw hardly less and all but stop the workload.
PowerMode safe_mode(const BoardDescription& board, const KnobSpace& space,
                    const std::vector<PowerMode>& modes);

// Clocks of a mode by knob name (cpu_cores, cpu_mhz, gpu_mhz, mem_mhz); absent knobs at `fallback`.
ModelMode model_mode(const KnobSpace& space, const PowerMode& mode, const ModelMode& fallback);

}  // namespace gearshift
