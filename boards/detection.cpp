// Finds out which board this is. Names device paths in code, as no other file of the room does: it
// runs before there is a board file to take them from.
#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "boards/board_description.h"

namespace gearshift {
namespace {

constexpr std::string_view kDeviceTrees[] = {"/proc/device-tree", "/sys/firmware/devicetree/base"};
constexpr std::string_view kTegraRelease = "/etc/nv_tegra_release";
constexpr std::string_view kKernelRelease = "/proc/sys/kernel/osrelease";

constexpr std::string_view kHowToAdd =
    "to add it, copy the nearest file of boards/, edit it and pass it as --board FILE.toml "
    "(docs/boards.md)";

// The kernel of each generation of NVIDIA's board support, for images without a release file.
struct KernelOfL4t {
  std::string_view prefix;
  int major;
};
constexpr KernelOfL4t kKernels[] = {{"4.9.", 32}, {"5.10.", 35}, {"5.15.", 36}, {"6.8.", 39}};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

// "nvidia,p3737-0000+p3701-0005" is the carrier board and the module: each part counts, whole.
bool names(const std::string& entry, const std::string& wanted) {
  if (entry == wanted) return true;
  const std::size_t comma = entry.find(',');
  if (comma == std::string::npos) return false;
  const std::string vendor = entry.substr(0, comma + 1);
  for (const std::string& part : split(std::string_view(entry).substr(comma + 1), '+')) {
    if (vendor + part == wanted) return true;
  }
  return false;
}

struct DeviceTree {
  std::string folder;
  std::vector<std::string> compatible;  // most specific first
  std::string source;                   // the file it was made from, where it tells (JetPack 4, 5)
};

bool matches(const BoardDescription& board, const std::string& entry) {
  return std::any_of(board.compatible.begin(), board.compatible.end(),
                     [&](const std::string& wanted) { return names(entry, wanted); });
}

// "# R36 (release), REVISION: 4.3, ...": 36. Debug images say R00, which tells nothing.
std::optional<int> release_major(std::string_view text) {
  const std::size_t at = text.find('R');
  if (at == std::string_view::npos) return std::nullopt;
  int major = 0;
  const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), major);
  if (error != std::errc() || major <= 0) return std::nullopt;
  return major;
}

std::optional<int> l4t_major(const Sysroot& root, std::vector<std::string>& evidence) {
  if (const std::optional<std::string> release = root.try_read(kTegraRelease)) {
    const std::string line = release->substr(0, release->find('\n'));
    if (const std::optional<int> major = release_major(line)) {
      evidence.push_back("L4T release: " + std::to_string(*major) + " (" +
                         std::string(kTegraRelease) + ")");
      return major;
    }
    evidence.push_back("L4T release: not told by '" + line.substr(0, 40) + "' (" +
                       std::string(kTegraRelease) + ")");
  } else {
    evidence.push_back("L4T release: no " + std::string(kTegraRelease) + ", as in most containers");
  }
  const std::optional<std::string> kernel = root.try_read(kKernelRelease);
  if (!kernel) return std::nullopt;
  for (const KernelOfL4t& known : kKernels) {
    if (!kernel->starts_with(known.prefix)) continue;
    evidence.push_back("L4T release: " + std::to_string(known.major) + ", by its kernel " +
                       *kernel + " (" + std::string(kKernelRelease) + ")");
    return known.major;
  }
  evidence.push_back("L4T release: not told by the kernel " + *kernel + " (" +
                     std::string(kKernelRelease) + ")");
  return std::nullopt;
}

int newest_major(const BoardDescription& board) {
  return board.l4t_majors.empty()
             ? 0
             : *std::max_element(board.l4t_majors.begin(), board.l4t_majors.end());
}

// "tegra194-p2888-0006-p2822-0000.dts" names module and carrier board as "nvidia,p2888-0006" would.
bool source_names(std::string_view source, const std::string& wanted) {
  const std::size_t comma = wanted.find(',');
  if (source.empty() || comma == std::string::npos) return false;
  const std::string part = '-' + wanted.substr(comma + 1);
  const std::size_t at = source.find(part);
  const std::size_t end = at + part.size();
  return at != std::string_view::npos && end < source.size() &&
         (source[end] == '-' || source[end] == '.');
}

// Of boards that one entry names, as a developer kit's name does whatever module is in it, those
// that the device tree as a whole names most.
void keep_named_most(std::vector<const BoardDescription*>& candidates, const DeviceTree& tree) {
  const auto count = [&](const BoardDescription* board) {
    const auto is_named = [&](const std::string& wanted) {
      return source_names(tree.source, wanted) ||
             std::any_of(tree.compatible.begin(), tree.compatible.end(),
                         [&](const std::string& entry) { return names(entry, wanted); });
    };
    return std::count_if(board->compatible.begin(), board->compatible.end(), is_named);
  };
  std::ptrdiff_t most = 0;
  for (const BoardDescription* board : candidates) most = std::max(most, count(board));
  std::erase_if(candidates, [&](const BoardDescription* board) { return count(board) < most; });
}

// The board file of a module for this L4T release; the newest one where none was written for it.
const BoardDescription* choose_generation(const std::vector<const BoardDescription*>& candidates,
                                          std::optional<int> major,
                                          std::vector<std::string>& evidence) {
  const BoardDescription* any = nullptr;
  for (const BoardDescription* board : candidates) {
    const std::vector<int>& majors = board->l4t_majors;
    if (majors.empty() && !any) any = board;
    if (major && std::find(majors.begin(), majors.end(), *major) != majors.end()) return board;
  }
  if (any) return any;
  const BoardDescription* newest = *std::max_element(
      candidates.begin(), candidates.end(),
      [](const auto* a, const auto* b) { return newest_major(*a) < newest_major(*b); });
  evidence.push_back((major ? "L4T " + std::to_string(*major) + ": no board file was written for it"
                            : std::string("L4T release unknown")) +
                     "; taking the newest of this module, " + newest->id + " (L4T " +
                     std::to_string(newest_major(*newest)) + ")");
  return newest;
}

std::optional<DeviceTree> read_device_tree(const Sysroot& root,
                                           std::vector<std::string>& evidence) {
  for (const std::string_view folder : kDeviceTrees) {
    const std::string path = std::string(folder) + "/compatible";
    const std::optional<std::string> text = root.try_read(path);
    if (!text) {
      evidence.push_back("device tree: no " + path);
      continue;
    }
    DeviceTree tree{std::string(folder), split(*text, '\0'), {}};
    evidence.push_back("device tree: " + joined(tree.compatible) + " (" + path + ")");
    if (const auto source = root.try_read(tree.folder + "/nvidia,dtsfilename")) {
      tree.source = source->substr(source->rfind('/') + 1);  // npos + 1 is 0
      evidence.push_back("device tree source: " + tree.source);
    }
    if (const auto model = root.try_read(tree.folder + "/model")) {
      evidence.push_back("model text: " + *model + " (not used: makers change it)");
    }
    return tree;
  }
  return std::nullopt;
}

// A board that is recognised by its GPU, where NVML tells what one draws.
const BoardDescription* find_gpu_board(const Sysroot& root,
                                       std::span<const BoardDescription> boards,
                                       Detection& detection) {
  const auto board = std::find_if(boards.begin(), boards.end(),
                                  [](const auto& candidate) { return candidate.needs_gpu; });
  if (board == boards.end()) return nullptr;
  std::string why;
  detection.gpus = find_gpus(root, why);
  for (const GpuSummary& gpu : detection.gpus) detection.evidence.push_back(describe(gpu));
  if (!why.empty()) detection.evidence.push_back("GPU: " + why);
  return detection.gpus.empty() ? nullptr : &*board;
}

bool names_tegra(const std::vector<std::string>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.starts_with("nvidia,tegra"); });
}

}  // namespace

bool is_tegra(const Sysroot& root) {
  std::vector<std::string> ignored;
  const std::optional<DeviceTree> tree = read_device_tree(root, ignored);
  return tree && names_tegra(tree->compatible);
}

Detection detect_board(const Sysroot& root, std::span<const BoardDescription> boards) {
  Detection detection;
  std::vector<std::string>& evidence = detection.evidence;
  const auto fallback = std::find_if(boards.begin(), boards.end(), [](const auto& board) {
    return board.compatible.empty() && !board.needs_gpu;
  });
  if (fallback == boards.end()) {
    throw std::invalid_argument("detect_board: no board file without compatible to fall back to");
  }
  const std::optional<DeviceTree> tree = read_device_tree(root, evidence);
  const std::vector<std::string> entries = tree ? tree->compatible : std::vector<std::string>{};
  for (const std::string& entry : entries) {
    std::vector<const BoardDescription*> candidates;
    for (const BoardDescription& board : boards) {
      if (matches(board, entry)) candidates.push_back(&board);
    }
    if (candidates.empty()) continue;
    keep_named_most(candidates, *tree);
    evidence.push_back("compatible: " + entry + " (" + tree->folder + "/compatible)");
    detection.board = choose_generation(candidates, l4t_major(root, evidence), evidence);
    evidence.push_back("board: " + detection.board->id + ", " + detection.board->name);
    return detection;
  }
  detection.board = &*fallback;
  if (names_tegra(entries)) {
    evidence.push_back("a Jetson that no board file names: its clocks are left alone; " +
                       std::string(kHowToAdd));
  } else {
    evidence.push_back("not a Jetson");
    const BoardDescription* const gpu_board = find_gpu_board(root, boards, detection);
    if (gpu_board != nullptr) detection.board = gpu_board;
  }
  evidence.push_back("board: " + detection.board->id + ", " + detection.board->name);
  return detection;
}

}  // namespace gearshift
