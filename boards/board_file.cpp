#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "boards/board_description.h"
#include "boards/toml_fields.h"
#include "boards/toml_parse.h"

namespace gearshift {
namespace {

constexpr std::size_t kMostFileBytes = 64 * 1024;
constexpr std::size_t kMostValues = 256;  // of one knob
constexpr std::size_t kMostRails = 16;
constexpr double kMostStepMw = 100'000;
constexpr std::size_t kMostNames = 64;  // in any list of names
constexpr std::size_t kMostWorkloads = 64;
constexpr double kMostMs = 600'000;

struct DriverTraits {
  std::string_view name;
  Unit unit;
  KnobClass knob_class;
  std::string_view suffix;  // of the knob's name: its unit as people write it
  std::int64_t most_value;  // in `unit`
  bool follows_cores;
};

// Indexed by KnobDriver. The driver decides all but name and values: a file cannot contradict it.
constexpr DriverTraits kDrivers[] = {
    {"cpu_hotplug", Unit::count, KnobClass::hotplug, "_cores", 4096, true},
    {"cpufreq", Unit::khz, KnobClass::clock, "_mhz", kMostClockKhz, true},
    {"gpu_devfreq", Unit::khz, KnobClass::clock, "_mhz", kMostClockKhz, false},
    {"emc_bpmp", Unit::khz, KnobClass::memory, "_mhz", kMostClockKhz, false},
    {"cgroup_cpuset", Unit::count, KnobClass::clock, "_cores", 4096, true},
    {"cgroup_quota", Unit::percent, KnobClass::clock, "_percent", 409'600, false},
    {"nvml_power_limit", Unit::mw, KnobClass::power_limit, "_w", 10'000'000, false},
    {"nvml_gpu_clock", Unit::khz, KnobClass::clock, "_mhz", kMostClockKhz, false},
    {"nvml_memory_clock", Unit::khz, KnobClass::memory, "_mhz", kMostClockKhz, false},
};

Duration duration_ms(double ms) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms));
}

// A board path: absolute, with no "..".
std::string board_path(TomlFields& fields, std::string_view key) {
  std::string path = fields.text(key, 256);
  if (path.front() != '/' || (path + '/').find("/../") != std::string::npos) {
    fields.fail(key, "must be an absolute path without \"..\"");
  }
  return path;
}

bool asks_nvml(KnobDriver driver) { return driver >= KnobDriver::nvml_power_limit; }

KnobDescription parse_knob(TomlFields& fields) {
  KnobDescription description;
  Knob& knob = description.knob;
  knob.name = fields.identifier("name", "_");
  const std::size_t driver =
      fields.choice("driver", {kDrivers[0].name, kDrivers[1].name, kDrivers[2].name,
                               kDrivers[3].name, kDrivers[4].name, kDrivers[5].name,
                               kDrivers[6].name, kDrivers[7].name, kDrivers[8].name});
  const DriverTraits& traits = kDrivers[driver];
  if (!knob.name.ends_with(traits.suffix)) {
    fields.fail("name", "must end in \"" + std::string(traits.suffix) + "\" for the driver " +
                            std::string(traits.name));
  }
  description.driver = static_cast<KnobDriver>(driver);
  if (!asks_nvml(description.driver)) description.path = board_path(fields, "path");
  knob.unit = traits.unit;
  knob.knob_class = traits.knob_class;
  knob.follows_cores = traits.follows_cores;
  knob.values = fields.ascending("values", kMostValues, unit_scale(traits.unit), traits.most_value);
  description.device_names = fields.texts("device_names", kMostNames);
  const double scale = unit_scale(traits.unit);
  description.safe_at_least =
      std::llround(scale * fields.number("safe_at_least", 0,
                                         static_cast<double>(knob.values.back()) / scale, 0));
  const bool finds_gpu = description.driver == KnobDriver::gpu_devfreq;
  if (finds_gpu && description.device_names.empty()) {
    fields.fail("device_names", "must name the of_node of at least one GPU");
  }
  if (!finds_gpu && fields.has("device_names")) {
    fields.fail("device_names", "means nothing without the driver gpu_devfreq");
  }
  fields.finish();
  return description;
}

// A folder however it is spelt; links are not followed.
std::string plain_path(const std::string& path) {
  return (std::filesystem::path(path) / "").lexically_normal().string();
}

// Both would write the same files, or ask the one GPU of the board: each undoes what the other set.
bool sets_the_same(const KnobDescription& one, const KnobDescription& other) {
  if (one.driver != other.driver || plain_path(one.path) != plain_path(other.path)) return false;
  if (one.driver != KnobDriver::gpu_devfreq) return true;
  const auto& names = other.device_names;  // a folder may hold several devices
  return std::any_of(one.device_names.begin(), one.device_names.end(), [&names](const auto& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

PowerDescription parse_power(TomlFields fields) {
  PowerDescription power;
  for (const std::string& source : fields.texts("sources", 4)) {
    if (source == "ina3221") {
      power.sources.push_back(PowerSource::ina3221);
    } else if (source == "rapl") {
      power.sources.push_back(PowerSource::rapl);
    } else if (source == "cpu_time_estimate") {
      power.sources.push_back(PowerSource::cpu_time_estimate);
    } else if (source == "nvml") {
      power.sources.push_back(PowerSource::nvml);
    } else {
      fields.fail("sources", "'" + source +
                                 "' is no source; they are \"ina3221\" \"rapl\" "
                                 "\"cpu_time_estimate\" \"nvml\"");
    }
  }
  if (power.sources.empty()) fields.fail("sources", "must name at least one source");
  int in_total = 0;
  for (TomlFields& rail : fields.tables("rail", kMostRails)) {
    const std::string label = rail.text("label", 64);
    const int sign = static_cast<int>(rail.integer("sign", 0, 1));
    const std::int64_t step_mw = std::llround(rail.number("step_mw", 0, kMostStepMw, 0));
    for (const RailDescription& other : power.rails) {
      if (other.label == label) rail.fail("label", "is the label of another rail too");
    }
    rail.finish();
    power.rails.push_back({label, sign, step_mw});
    in_total += sign;
    power.rounding_mw += sign * step_mw / 2;
  }
  const auto has = [&](PowerSource source) {
    return std::find(power.sources.begin(), power.sources.end(), source) != power.sources.end();
  };
  const bool has_ina = has(PowerSource::ina3221);
  if (has_ina && in_total == 0) {
    fields.fail("rail", "ina3221 needs at least one [[power.rail]] with sign = 1");
  }
  power.estimate_idle_w = fields.number("estimate_idle_w", 0, 10'000, 0);
  power.estimate_core_w = fields.number("estimate_core_w", 0, 1'000, 0);
  if (has(PowerSource::cpu_time_estimate)) {
    const std::string reason = "must be above 0: cpu_time_estimate is among the sources";
    if (power.estimate_idle_w <= 0) fields.fail("estimate_idle_w", reason);
    if (power.estimate_core_w <= 0) fields.fail("estimate_core_w", reason);
  }
  power.window = duration_ms(fields.number("window_ms", 1, kMostMs));
  power.period = duration_ms(fields.number("period_ms", 1, kMostMs));
  power.stale_after = duration_ms(fields.number("stale_after_ms", 1, kMostMs));
  if (power.stale_after < power.period) {
    fields.fail("stale_after_ms", "must not be less than period_ms");
  }
  power.plausible_max_mw =
      static_cast<std::int64_t>(fields.number("plausible_max_w", 1, 100'000) * 1000);
  power.reads_block = fields.flag("reads_block", false);
  const int in_turn = has_ina && power.reads_block ? in_total : 1;
  power.judged_over = power.window * in_turn;
  // An INA3221 shows a running mean, and rails that are read one after the other add up to none.
  // What counters of energy rose by from one reading to the next knows nothing of what was before.
  if (has_ina && in_turn == 1) power.averaging = power.window;
  fields.finish();
  return power;
}

void parse_time_parameters(TomlFields& fields, DeviceParameters& device) {
  constexpr double kMostExponent = 64;
  device.kap = fields.number("kap", 0, 100);
  device.p = fields.number("p", 1, kMostExponent);
  device.q = fields.number("q", 1, kMostExponent);
  device.r = fields.number("r", 1, kMostExponent);
  device.J = fields.number("J", 0, 100);
  device.s = fields.number("s", 0, 100);
  device.s2 = fields.number("s2", 0, 100);
}

DeviceParameters parse_model(TomlFields& fields) {
  DeviceParameters device;
  parse_time_parameters(fields, device);
  device.p0 = fields.number("p0", 0, 10'000);
  device.m0 = fields.number("m0", 0, 1'000);
  device.d = fields.number("d", 0, 1'000);
  device.ci = fields.number("ci", 0, 1'000);
  device.cc = fields.number("cc", 0, 1'000);
  device.gi = fields.number("gi", 0, 1'000);
  device.fc0 = fields.number("fc0", 0, 100);
  device.svc = fields.number("svc", 0, 100);
  device.fg0 = fields.number("fg0", 0, 100);
  device.svg = fields.number("svg", 0, 100);
  device.rho = fields.number("rho", 0, 1, 1);
  device.gg = fields.number("gg", 0, 1'000, 1);
  return device;
}

constexpr double kMostDemand = 1e7;  // ms*GHz: hours of one core

// "A" of training, "A0" and "A1" of inference.
double demand_number(TomlFields& fields, std::string_view letter, std::string_view part) {
  return fields.number(std::string(letter) + std::string(part), 0, kMostDemand);
}

Demand parse_demand(TomlFields& fields, std::string_view part) {
  Demand demand;
  demand.A = demand_number(fields, "A", part);
  demand.B = demand_number(fields, "B", part);
  demand.L = demand_number(fields, "L", part);
  demand.P = demand_number(fields, "P", part);
  demand.O = demand_number(fields, "O", part);
  return demand;
}

WorkloadParameters parse_workload(TomlFields& fields) {
  WorkloadParameters workload;
  workload.kind = fields.choice("kind", {"train", "infer"}) == 0 ? Kind::train : Kind::infer;
  if (workload.kind == Kind::train) {
    workload.base = parse_demand(fields, "");
    workload.reference_batch = fields.number("reference_batch", 1, 1e6);
    workload.a0 = fields.number("a0", 0, 1e6);
    workload.base.fetch_ms = fields.number("fetch_ms", 0, kMostMs, 0);
  } else {
    workload.base = parse_demand(fields, "0");
    workload.slope = parse_demand(fields, "1");
    workload.reference_batch = fields.number("reference_batch", 1, 1e6, 16);
    workload.slope.S = fields.number("S1", 0, kMostDemand, 0);
    workload.slope.fetch_ms = fields.number("fetch_ms_a_sample", 0, kMostMs, 0);
  }
  workload.aliases = fields.texts("aliases", kMostNames);
  workload.samples_per_epoch = fields.number("samples_per_epoch", 1, 1e12, 0);
  workload.base.workers = static_cast<double>(fields.integer("workers", 0, 1024));
  workload.base.kg = fields.number("kg", 0, 1'000);
  fields.finish();
  return workload;
}

void parse_match(BoardDescription& board, TomlFields fields) {
  board.compatible = fields.texts("compatible", kMostNames);
  for (const std::int64_t major : fields.integers("l4t_majors", 16, 1, 999)) {
    board.l4t_majors.push_back(static_cast<int>(major));
  }
  if (board.compatible.empty() && !board.l4t_majors.empty()) {
    fields.fail("l4t_majors", "means nothing without compatible");
  }
  board.needs_gpu = fields.flag("nvml", false);
  if (board.needs_gpu && !board.compatible.empty()) {
    fields.fail("nvml", "means nothing beside compatible");
  }
  fields.finish();
}

// A name or an alias leads to one workload of a kind.
void check_aliases(const std::map<std::string, WorkloadParameters>& workloads, TomlFields& top) {
  std::set<std::pair<Kind, std::string>> names;
  for (const auto& [name, workload] : workloads) names.insert({workload.kind, name});
  for (const auto& [name, workload] : workloads) {
    for (const std::string& alias : workload.aliases) {
      if (names.insert({workload.kind, alias}).second) continue;
      top.fail("workload", "the alias '" + alias + "' of " + name + " leads to another one too");
    }
  }
}

ModelMode parse_published_mode(TomlFields& fields) {
  constexpr double kMhzInGhz = 1000;
  ModelMode mode;
  mode.cpu_cores = fields.number("cpu_cores", 1, 4096);
  mode.cpu_ghz = fields.number("cpu_mhz", 1, 20'000) / kMhzInGhz;
  mode.gpu_ghz = fields.number("gpu_mhz", 1, 20'000) / kMhzInGhz;
  mode.mem_ghz = fields.number("mem_mhz", 1, 20'000) / kMhzInGhz;
  fields.finish();
  return mode;
}

void parse_models(BoardDescription& board, TomlFields& top) {
  for (auto& [name, fields] : top.named_tables("workload", kMostWorkloads)) {
    board.workloads.emplace(name, parse_workload(fields));
  }
  check_aliases(board.workloads, top);
  for (auto& [name, fields] : top.named_tables("published_mode", kMostNames)) {
    board.published_modes.emplace(name, parse_published_mode(fields));
  }
  if (!top.has("model")) {
    if (!board.workloads.empty()) top.fail("workload", "means nothing without [model]");
    return;
  }
  const KnobSpace space = board.knob_space();
  for (const std::string_view name : {"cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz"}) {
    if (!space.find(name)) top.fail("model", "needs a knob " + std::string(name));
  }
  TomlFields fields = top.table("model");
  board.model = parse_model(fields);
  board.reference_workload = fields.text("reference_workload", 64);
  if (!board.workloads.contains(board.reference_workload)) {
    fields.fail("reference_workload", "must be the name of a [workload.NAME]");
  }
  if (fields.has("train")) {
    TomlFields train = fields.table("train");
    board.train_model = board.model;
    parse_time_parameters(train, *board.train_model);
    train.finish();
  }
  fields.finish();
}

// The GPU that the board's NVML knobs and sensor are of.
void parse_gpu(BoardDescription& board, TomlFields& top) {
  const std::string gpu = top.has("gpu") ? top.text("gpu", 64) : "0";
  const std::vector<PowerSource>& sources = board.power.sources;
  const bool reads = std::find(sources.begin(), sources.end(), PowerSource::nvml) != sources.end();
  if (reads) board.power.gpu = gpu;
  bool sets = false;
  for (KnobDescription& knob : board.knobs) {
    if (!asks_nvml(knob.driver)) continue;
    knob.gpu = gpu;
    sets = true;
  }
  if (top.has("gpu") && !reads && !sets) {
    top.fail("gpu", "means nothing without the source \"nvml\" or a knob of an nvml driver");
  }
}

BoardDescription parse_fields(TomlFields top, std::string_view source) {
  BoardDescription board;
  board.source = source;
  board.id = top.identifier("id", "-");
  board.name = top.text("name", 128);
  board.aliases = top.texts("aliases", kMostNames);
  parse_match(board, top.table("match"));
  std::set<std::string> names;
  for (TomlFields& fields : top.tables("knob", kMaxKnobs)) {
    board.knobs.push_back(parse_knob(fields));
    if (!names.insert(board.knobs.back().knob.name).second) {
      fields.fail("name", "is the name of another knob too");
    }
    const KnobDescription& knob = board.knobs.back();
    for (std::size_t i = 0; i + 1 < board.knobs.size(); ++i) {
      const KnobDescription& other = board.knobs[i];
      if (!sets_the_same(knob, other)) continue;
      fields.fail(knob.path.empty() ? "driver" : "path",
                  knob.knob.name + " and " + other.knob.name + " would both set it through " +
                      std::string(driver_name(knob.driver)));
    }
  }
  if (board.knobs.empty()) {
    top.fail("knob", "a board needs 1 to " + std::to_string(kMaxKnobs) + " [[knob]] tables");
  }
  board.power = parse_power(top.table("power"));
  parse_gpu(board, top);
  board.thermal_zones = top.texts("thermal_zones", kMostNames);
  board.apply_timeout = duration_ms(top.number("apply_timeout_ms", 1, kMostMs));
  parse_models(board, top);
  top.finish();
  const KnobSpace space = board.knob_space();
  if (bounded_mode_count(space) > kMaxModes) {
    top.fail("knob", "the knobs have " + too_many_modes(space) + "; shorten the longest list");
  }
  return board;
}

}  // namespace

std::string_view driver_name(KnobDriver driver) {
  return kDrivers[static_cast<std::size_t>(driver)].name;
}

BoardDescription parse_board(std::string_view toml, std::string_view source) {
  if (toml.size() > kMostFileBytes) {
    throw BoardFileError(std::string(source) + ": has " + std::to_string(toml.size()) +
                         " bytes; at most " + std::to_string(kMostFileBytes) + " are allowed");
  }
  try {
    const toml::table table = parse_toml(toml, source);
    BoardDescription board = parse_fields(TomlFields(table, "", source), source);
    board.text = toml;
    return board;
  } catch (const TomlError& error) {
    throw BoardFileError(error.what());
  }
}

}  // namespace gearshift
