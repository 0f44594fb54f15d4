#include "evaluation/trial_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace gearshift {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

// Throws where the number has a fraction or does not fit.
template <typename Integer>
Integer whole(const nlohmann::json& number) {
  if (!number.is_number_integer()) throw std::out_of_range("no integer");
  const bool fits = number.is_number_unsigned()
                        ? std::in_range<Integer>(number.get<std::uint64_t>())
                        : std::in_range<Integer>(number.get<std::int64_t>());
  if (!fits) throw std::out_of_range("too large");
  return number.get<Integer>();
}

PowerMode read_mode(const nlohmann::json& values) {
  if (!values.is_array() || values.size() > kMaxKnobs) throw std::out_of_range("no mode");
  PowerMode mode;
  for (const nlohmann::json& value : values) {
    mode.values[mode.count++] = whole<std::int64_t>(value);
  }
  return mode;
}

// "mode", "batch" and "run".
Setting read_setting(const nlohmann::json& line) {
  Setting setting;
  setting.mode = read_mode(line.at("mode"));
  const nlohmann::json& batch = line.at("batch");
  if (!batch.is_array() || batch.size() != kKinds) throw std::out_of_range("no batch sizes");
  for (std::size_t i = 0; i < kKinds; ++i) setting.batch_size[i] = whole<std::int32_t>(batch[i]);
  const auto run = whole<std::uint8_t>(line.at("run"));
  if (run > static_cast<unsigned>(Run::both)) throw std::out_of_range("no run");
  setting.run = static_cast<Run>(run);
  return setting;
}

nlohmann::json setting_json(const Setting& setting) {
  nlohmann::json modes = nlohmann::json::array();
  for (std::size_t i = 0; i < setting.mode.count; ++i) modes.push_back(setting.mode.values[i]);
  return {{"mode", modes}, {"batch", setting.batch_size}, {"run", setting.run}};
}

}  // namespace

std::string format_trial(std::uint64_t key, const Trial& trial) {
  std::array<char, 17> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(key));
  nlohmann::json line = {{"key", hex.data()},
                         {"infeasible", trial.infeasible},
                         {"modes_profiled", trial.modes_profiled},
                         {"probes_over_cap", trial.probes_over_cap},
                         {"filled_nearest", trial.filled_nearest},
                         {"filled_model", trial.filled_model},
                         {"refused", trial.refused},
                         {"over_cap_j", trial.over_cap_j},
                         {"search_s", trial.search_s},
                         {"search_j", trial.search_j},
                         {"failure", trial.failure}};
  line.update(setting_json(trial.held));
  if (trial.reference) line["reference"] = setting_json(*trial.reference);
  if (!trial.sequence.empty()) line["sequence"] = trial.sequence;
  if (trial.power_modes > 0) line["power_modes"] = trial.power_modes;
  if (trial.drifts > 0) line["drifts"] = trial.drifts;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::pair<std::uint64_t, Trial>> parse_trial(std::string_view text) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) return std::nullopt;
  try {
    const std::string& hex = line.at("key").get_ref<const std::string&>();
    std::uint64_t key = 0;
    const auto [rest, error] = std::from_chars(hex.data(), hex.data() + hex.size(), key, 16);
    if (error != std::errc() || hex.size() != 16 || rest != hex.data() + 16) return std::nullopt;
    Trial trial;
    trial.held = read_setting(line);
    if (line.contains("reference")) trial.reference = read_setting(line.at("reference"));
    line.at("infeasible").get_to(trial.infeasible);
    trial.modes_profiled = whole<std::uint32_t>(line.at("modes_profiled"));
    trial.probes_over_cap = whole<std::uint32_t>(line.at("probes_over_cap"));
    trial.filled_nearest = whole<std::uint32_t>(line.at("filled_nearest"));
    trial.filled_model = whole<std::uint32_t>(line.at("filled_model"));
    trial.refused = whole<std::uint32_t>(line.at("refused"));
    line.at("over_cap_j").get_to(trial.over_cap_j);
    line.at("search_s").get_to(trial.search_s);
    line.at("search_j").get_to(trial.search_j);
    line.at("failure").get_to(trial.failure);
    trial.power_modes = whole<std::uint32_t>(line.value("power_modes", nlohmann::json(0U)));
    trial.drifts = whole<std::uint32_t>(line.value("drifts", nlohmann::json(0U)));
    const nlohmann::json sequence = line.value("sequence", nlohmann::json::array());
    if (!sequence.is_array()) return std::nullopt;
    for (const nlohmann::json& cell : sequence)
      trial.sequence.push_back(whole<std::uint32_t>(cell));
    return std::pair{key, std::move(trial)};
  } catch (const std::exception&) {  // a field is missing, of another type or out of range
    return std::nullopt;
  }
}

TrialFile::TrialFile(const std::string& path)
    : path_(path),
      descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) fail(path, std::string("cannot be opened: ") + std::strerror(errno));
  try {
    // What is no file keeps no trials: a device that never ends would be read for ever.
    struct stat found {};
    if (fstat(descriptor_, &found) != 0 || !S_ISREG(found.st_mode)) {
      fail(path, "is no file, and keeps no results; give another name");
    }
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      fail(path, "another evaluation writes to it; wait for it, or name another file");
    }
    read();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

TrialFile::~TrialFile() { ::close(descriptor_); }

const Trial* TrialFile::find(std::uint64_t key) const {
  const auto found = trials_.find(key);
  return found == trials_.end() ? nullptr : &found->second;
}

void TrialFile::read() {
  std::string text;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t got = ::read(descriptor_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (auto one = parse_trial(std::string_view(text).substr(begin, end - begin))) {
      trials_[one->first] = std::move(one->second);
    } else {
      ++unreadable_;
    }
    begin = end + 1;
  }
  if (trials_.empty() && unreadable_ > 1) {
    fail(path_, "is no file of trials, and nothing was written to it; name another file");
  }
  // What follows a line that was cut off starts on a line of its own.
  if (!text.empty() && text.back() != '\n') append("\n");
}

void TrialFile::append(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, std::string("cannot be written: ") + std::strerror(errno));
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace gearshift
