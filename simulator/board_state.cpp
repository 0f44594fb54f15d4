#include "simulator/board_state.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "boards/clock_units.h"
#include "simulator/system_files.h"

namespace gearshift {
namespace {

constexpr std::string_view kVirtual = "/.virtual";
constexpr Duration kFirstOrderConstant = std::chrono::milliseconds(700);
constexpr Duration kHotplugTime = std::chrono::milliseconds(20);

// nvpmodel's MODE_30W, which the board boots into.
constexpr std::size_t kBootCores = 8;
constexpr std::int64_t kBootCpuMinKhz = 729'600;
constexpr std::int64_t kBootCpuMaxKhz = 1'728'000;
constexpr std::int64_t kBootGpuMaxKhz = 612'000;

const std::vector<std::int64_t>& table(const BoardDescription& board, KnobDriver driver) {
  return std::find_if(board.knobs.begin(), board.knobs.end(),
                      [driver](const KnobDescription& knob) { return knob.driver == driver; })
      ->knob.values;
}

std::size_t core_count(const BoardDescription& board) {
  return static_cast<std::size_t>(table(board, KnobDriver::cpu_hotplug).back());
}

SensorOptions sensor_options(const BoardDescription& board, const BoardStateOptions& options) {
  return {
      .seed = options.seed,
      .noise = options.noise,
      .lag = options.lag,
      .lag_constant = options.lag == LagShape::boxcar ? board.power.window : kFirstOrderConstant,
      .update_interval = board.power.window};
}

bool is_rail(const BoardNode& node) {
  const std::string_view path = node.path;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return path.find("/hwmon/") != std::string_view::npos && name.ends_with("_input") &&
         (name.starts_with("in") || name.starts_with("curr"));
}

}  // namespace

BoardState::BoardState(const BoardDescription& board, BoardStateOptions options)
    : board_(board),
      options_(options),
      generation_(generation_of(board)),
      loads_(board),
      cpu_(core_count(board), table(board, KnobDriver::cpufreq), faults_),
      gpu_(table(board, KnobDriver::gpu_devfreq), generation_.gpu, faults_),
      memory_(table(board, KnobDriver::emc_bpmp), generation_.memory_cap_path),
      monitor_(sensor_options(board, options), faults_, now_),
      thermal_(generation_.jetpack, now_, gpu_, faults_),
      optimum_(board) {
  if (board.power.reads_block) {
    faults_.block_read_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(board.power.window).count();
  }
  add_identity(tree_, generation_, options.seed);
  cpu_.add_files(tree_);
  add_system_files(tree_, cpu_);
  gpu_.add_files(tree_, now_, options.seed);
  memory_.add_files(tree_);
  thermal_.add_files(tree_);
  if (options.supply) battery_.emplace(*options.supply);
  add_hwmon(tree_);
  add_truth(tree_);
  faults_.add_files(tree_);
  cpu_.boot(std::min(kBootCores, core_count(board)), kBootCpuMinKhz, kBootCpuMaxKhz);
  gpu_.boot(nearest(table(board, KnobDriver::gpu_devfreq), kBootGpuMaxKhz));
  settle();
}

void BoardState::add_hwmon(BoardTree& tree) {
  constexpr int kMonitors = 2;
  const std::vector<int> numbers =
      hwmon_numbers(options_.seed, kMonitors + HwmonNeighbours::kCount + (battery_ ? 1 : 0));
  for (int i = 0; i < kMonitors; ++i) {
    const std::string device = i == 0 ? "1-0040" : "1-0041";
    const std::string i2c = generation_.i2c_device + "/i2c-1/" + device;
    const std::string hwmon = "hwmon" + std::to_string(numbers[static_cast<std::size_t>(i)]);
    monitor_.add_files(tree, i2c + "/hwmon/" + hwmon, 0x40 + i);
    tree.add_link("/sys/class/hwmon/" + hwmon, i2c + "/hwmon/" + hwmon);
    tree.add_link("/sys/bus/i2c/devices/" + device, i2c);
    tree.add_link("/sys/bus/i2c/drivers/ina3221/" + device, i2c);
  }
  const auto neighbours = numbers.begin() + kMonitors;
  neighbours_.add_files(tree, {neighbours, neighbours + HwmonNeighbours::kCount});
  if (battery_) battery_->add_files(tree, generation_.i2c_device, numbers.back());
}

void BoardState::add_truth(BoardTree& tree) {
  const std::string folder(kVirtual);
  tree.add_file(folder + "/true_power_mw", 0444,
                [this] { return line(std::llround(true_power_mw())); });
  tree.add_file(folder + "/writes", 0444,
                [this] { return line(static_cast<std::int64_t>(writes_)); });
  tree.add_file(kOptimumPath, 0444, [this] { return FileText{optimum_.text(loads_)}; });
  // Each handle has a load of its own; a write without one belongs to nobody and would never end.
  tree.add_file(
      kLoadPath, 0666, [this] { return FileText{loads_.text()}; },
      [](std::string_view) { return EBADF; });
}

ModelMode BoardState::clocks() const {
  const double share = static_cast<double>(faults_.clock_percent) / 100;
  return {.cpu_cores = static_cast<double>(cpu_.cores_online()),
          .cpu_ghz = share * cpu_.mean_khz() / kKhzInGhz,
          .gpu_ghz = share * gpu_.clock_khz() / kKhzInGhz,
          .mem_ghz = memory_.clock_khz() / kKhzInGhz};
}

// What the board has drawn since the last time, before its power changes.
void BoardState::drain() {
  if (battery_ && now_ > Time{}) battery_->advance(now_, true_power_mw() / 1000);
}

void BoardState::settle() {
  drain();
  std::vector<RunningLoad> running;
  for (const auto& [handle, load] : loads_.all()) {
    if (load.run) running.push_back({&board_.parameters(load.kind), load.demand()});
  }
  const bool busy = !running.empty();
  cpu_.update(busy);
  gpu_.update(busy, now_);
  memory_.update(busy);
  activity_ = board_activity(*board_.model, running, clocks());
  gpu_.set_utilization(activity_.gpu_utilization);
  memory_.set_dram_share(activity_.dram_share);
  monitor_.update_faults();
  monitor_.change(activity_.power);
  thermal_.change(activity_.power);
}

// An outside writer acts at its own times, however rarely anybody looks.
void BoardState::write_from_outside() {
  const OutsideWriter& writer = faults_.outside_writer;
  const BoardNode* node = tree_.follow(writer.path);
  if (node && node->write) node->write(writer.value);
  settle();
}

void BoardState::advance(Time now) {
  const OutsideWriter& writer = faults_.outside_writer;
  if (!writer.path.empty() && writer.generation == outside_generation_) {
    // Writing the same value many times over is writing it once: only the last one counts.
    if (outside_due_ <= now) {
      now_ = std::max(now_, outside_due_);
      write_from_outside();
      outside_due_ += ((now - outside_due_) / writer.period + 1) * writer.period;
    }
  }
  now_ = std::max(now_, now);
  drain();
}

const BoardNode* BoardState::visible(const BoardNode* node) const {
  if (node && at_or_below(node->path, faults_.missing_path)) return nullptr;
  return node;
}

int BoardState::denied(const BoardNode& node, FileAccess access) const {
  const bool closed = at_or_below(node.path, faults_.closed_path);
  if (closed && (access == FileAccess::write || faults_.closed_to_readers)) return EACCES;
  if (at_or_below(node.path, faults_.broken_path)) return EIO;
  if (access == FileAccess::write && at_or_below(node.path, faults_.busy_path)) return EBUSY;
  return 0;
}

FileText BoardState::read(std::string_view path) const {
  const BoardNode* node = visible(tree_.follow(path));
  if (!node) return {"", ENOENT};
  if (node->kind != NodeKind::file) return {"", EISDIR};
  if (const int error = denied(*node, FileAccess::read)) return {"", error};
  return node->read();
}

int BoardState::write(std::string_view path, std::string_view text) {
  const BoardNode* node = visible(tree_.follow(path));
  if (!node) return ENOENT;
  if (node->kind != NodeKind::file) return EISDIR;
  if (!node->write) return EACCES;
  if (const int error = denied(*node, FileAccess::write)) return error;
  if (!at_or_below(node->path, kVirtual)) ++writes_;
  if (const int error = node->write(trimmed_text(text))) return error;
  settle();
  if (faults_.outside_writer.generation != outside_generation_) {
    outside_generation_ = faults_.outside_writer.generation;
    outside_due_ = now_ + faults_.outside_writer.period;
    write_from_outside();
  }
  return 0;
}

std::optional<std::vector<std::string>> BoardState::list(std::string_view folder) const {
  const BoardNode* node = visible(tree_.follow(folder));
  if (!node || node->kind != NodeKind::folder) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& [name, child] : node->children) {
    if (visible(child.get())) names.push_back(name);
  }
  return names;
}

std::optional<FileAttributes> BoardState::attributes(std::string_view path) const {
  const BoardNode* node = visible(tree_.find(path));
  if (!node) return std::nullopt;
  return FileAttributes{node->kind, node->mode, node->size(), node->target};
}

int BoardState::permission(std::string_view path, FileAccess access, bool privileged) const {
  const BoardNode* node = visible(tree_.follow(path));
  if (!node) return ENOENT;
  for (const BoardNode* folder = node->parent; folder && !privileged; folder = folder->parent) {
    if ((folder->mode & 0001) == 0) return EACCES;
  }
  const int error = denied(*node, access);
  if (error == EACCES) return error;
  const int bits = access == FileAccess::read ? 04 : 02;
  // The kernel refuses to open an attribute for what it cannot do, to root as well.
  const int needed = privileged ? bits * 0111 : bits;
  return (node->mode & needed) != 0 ? 0 : EACCES;
}

Duration BoardState::delay(std::string_view path, FileAccess access) const {
  const BoardNode* node = visible(tree_.follow(path));
  if (!node || node->kind != NodeKind::file) return Duration::zero();
  if (access == FileAccess::read) {
    return is_rail(*node) ? std::chrono::milliseconds(faults_.block_read_ms) : Duration::zero();
  }
  const bool hotplug =
      node->path.starts_with("/sys/devices/system/cpu/cpu") && node->path.ends_with("/online");
  return hotplug ? kHotplugTime : Duration::zero();
}

int BoardState::write_load(LoadHandle handle, std::string_view text) {
  const int error = loads_.write(handle, text);
  if (error == 0) settle();
  return error;
}

void BoardState::close_load(LoadHandle handle) {
  loads_.close(handle);
  settle();
}

}  // namespace gearshift
