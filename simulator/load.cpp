#include "simulator/load.h"

#include <algorithm>
#include <cerrno>

#include "simulator/board_tree.h"

namespace gearshift {
namespace {

std::optional<std::int32_t> bounded(std::string_view text, std::int32_t least, std::int32_t most) {
  const std::optional<std::int64_t> value = whole_integer(text);
  if (!value || *value < least || *value > most) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

bool parse_batch_sizes(std::string_view text, std::vector<std::int32_t>& sizes) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto size = bounded(text.substr(0, comma), 1, kMaxBatchSize);
    if (!size || sizes.size() == kMaxBatchSizes) return false;
    sizes.push_back(*size);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  std::sort(sizes.begin(), sizes.end());
  return !sizes.empty();
}

bool parse_field(std::string_view key, std::string_view value, Load& load) {
  if (key == "name") {
    load.name = value;
  } else if (key == "kind") {
    if (value != "train" && value != "infer") return false;
    load.kind = value == "train" ? Kind::train : Kind::infer;
  } else if (key == "run") {
    if (value != "0" && value != "1") return false;
    load.run = value == "1";
  } else if (key == "batch_sizes") {
    load.batch_sizes.clear();
    return parse_batch_sizes(value, load.batch_sizes);
  } else if (key == "batch_size" || key == "pid") {
    const bool is_pid = key == "pid";
    const auto number = bounded(value, is_pid ? 0 : 1, is_pid ? INT32_MAX : kMaxBatchSize);
    if (!number) return false;
    (is_pid ? load.pid : load.batch_size) = *number;
  }
  return true;
}

}  // namespace

std::optional<Load> parse_load(std::string_view text, const BoardDescription& board) {
  Load load;
  text = trimmed_text(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (field.empty()) continue;
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    if (!parse_field(field.substr(0, equals), field.substr(equals + 1), load)) return std::nullopt;
  }
  const auto workload = board.find_workload(load.name, load.kind);
  if (workload == board.workloads.end()) return std::nullopt;
  load.workload = &workload->second;
  std::vector<std::int32_t>& sizes = load.batch_sizes;
  if (!std::binary_search(sizes.begin(), sizes.end(), load.batch_size)) {
    sizes.insert(std::upper_bound(sizes.begin(), sizes.end(), load.batch_size), load.batch_size);
  }
  return load;
}

std::string format_load(const Load& load) {
  std::string sizes;
  for (const std::int32_t size : load.batch_sizes) {
    sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  }
  return "pid=" + std::to_string(load.pid) + " name=" + load.name +
         " kind=" + std::string(kind_name(load.kind)) +
         " batch_size=" + std::to_string(load.batch_size) + " batch_sizes=" + sizes +
         " run=" + (load.run ? "1" : "0");
}

int Loads::write(LoadHandle handle, std::string_view text) {
  std::optional<Load> load = parse_load(text, board_);
  if (!load) return EINVAL;
  if (!loads_.contains(handle) && loads_.size() == kMaxLoads) return ENOSPC;
  loads_[handle] = std::move(*load);
  return 0;
}

std::string Loads::text() const {
  std::string text;
  for (const auto& [handle, load] : loads_) text += format_load(load) + '\n';
  return text;
}

}  // namespace gearshift
