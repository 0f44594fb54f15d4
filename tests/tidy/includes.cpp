#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "tests/tidy/tidy.h"

namespace gearshift::tidy {
namespace {

// A room and what it may include beside itself. A room inside a room is a room of its own.
struct Room {
  std::string_view folder;
  std::vector<std::string_view> arrows;
};
constexpr std::string_view kEverything = "*";

const std::vector<Room>& rooms() {
  static const std::vector<Room> rooms = {
      {"controller", {}},
      {"boards", {"controller"}},
      {"limits", {"controller"}},
      {"sensors", {"controller", "boards"}},
      {"actuators", {"controller", "boards"}},
      {"policies", {"controller"}},
      {"policies/numerics", {"controller", "boards"}},
      {"policies/lua", {"controller", "boards", "policies/numerics"}},
      {"policies/powertrain", {"controller", "policies/numerics"}},
      {"bridge", {"controller"}},
      {"bridge/client", {}},  // copied into other people's programs: it stands alone
      {"trace", {"controller"}},
      {"simulator", {"controller", "boards", "trace"}},
      {"simulator/virtual_board", {"controller", "simulator"}},
      {"evaluation", {"controller", "trace"}},
      {"cli", {kEverything}},
      {"tests", {kEverything}},
      {"bench", {kEverything}},
  };
  return rooms;
}

// A library by the start of its headers' names, and the rooms that may know of it. Tests and
// benchmarks may know of any.
struct Library {
  std::string_view header;
  std::vector<std::string_view> folders;
};

const std::vector<Library>& libraries() {
  static const std::vector<Library> libraries = {
      {"lua", {"policies/lua"}},
      {"lauxlib.h", {"policies/lua"}},
      {"Eigen/", {"policies", "boards"}},
      {"unsupported/Eigen/", {"boards"}},
      {"torch/", {"policies/powertrain", "bridge/client/examples"}},
      {"ATen/", {"policies/powertrain"}},
      {"c10/", {"policies/powertrain"}},
      {"zmq", {"bridge"}},
      {"msgpack", {"bridge"}},
      {"fuse", {"simulator/virtual_board"}},
      {"ext/stdio_filebuf.h", {"trace"}},  // libstdc++: a stream into a descriptor
      {"sqlite3", {"trace"}},
      {"toml++/", {"boards", "cli"}},
      {"spdlog/", {"cli"}},
      {"CLI/", {"cli"}},
      {"nlohmann/", {"cli", "evaluation", "policies/powertrain"}},
      {"gtest/", {}},
      {"gmock/", {}},
      {"benchmark/", {}},
  };
  return libraries;
}

constexpr std::array<std::string_view, 6> kSystemFolders = {"sys/",     "linux/", "net/",
                                                            "netinet/", "arpa/",  "asm/"};
// The loop's room does no I/O and starts nothing, so it has no use for these.
constexpr std::array<std::string_view, 12> kClosedToController = {
    "fstream",      "iostream", "filesystem", "thread", "mutex",  "condition_variable",
    "shared_mutex", "future",   "csignal",    "ctime",  "random", "semaphore"};

const Room* room_of(std::string_view path) {
  const Room* best = nullptr;
  for (const Room& room : rooms()) {
    if (!below(path, room.folder)) continue;
    if (best == nullptr || room.folder.size() > best->folder.size()) best = &room;
  }
  return best;
}

struct Include {
  std::string_view target;
  bool project;  // in quotes
};

std::optional<Include> parse_include(std::string_view line) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string_view::npos || line[hash] != '#') return std::nullopt;
  const std::size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == std::string_view::npos || !line.substr(word).starts_with("include")) {
    return std::nullopt;
  }
  const std::size_t open = line.find_first_of("<\"", word);
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return Include{line.substr(open + 1, close - open - 1), line[open] == '"'};
}

// Empty where the include is allowed.
std::string judge_project(std::string_view path, std::string_view target) {
  if (target.find("..") != std::string_view::npos) {
    return "write the path from the repository root, without \"..\"";
  }
  if (below(path, "bridge/client") && target.find('/') == std::string_view::npos) {
    return "";  // the headers find each other in whatever folder they were copied to
  }
  if (below(path, "bridge/client") && target == "controller/interleaving.h") {
    return "";  // the one rule that a client shares: it is copied beside them, and stands alone too
  }
  const Room* to = room_of(target);
  if (to == nullptr) return "quotes are for this project's headers, from the repository root";
  const Room* from = room_of(path);
  if (from == nullptr || from == to) return "";
  const auto allows = [&](std::string_view arrow) {
    return arrow == kEverything || arrow == to->folder;
  };
  if (std::any_of(from->arrows.begin(), from->arrows.end(), allows)) return "";
  return std::string(from->folder) + " may not include " + std::string(to->folder) +
         " (docs/architecture.md); move what both need into controller/, or let cli/ join them";
}

std::string judge_library(std::string_view path, std::string_view target) {
  if (below(path, "controller") &&
      (target.ends_with(".h") || std::find(kClosedToController.begin(), kClosedToController.end(),
                                           target) != kClosedToController.end())) {
    return "controller/ does no I/O, reads no clock and starts no thread; put it behind an "
           "interface";
  }
  const auto owns = [&](const Library& library) { return target.starts_with(library.header); };
  const auto library = std::find_if(libraries().begin(), libraries().end(), owns);
  if (library == libraries().end()) {
    const bool foreign =
        target.find('/') != std::string_view::npos &&
        std::none_of(kSystemFolders.begin(), kSystemFolders.end(),
                     [&](std::string_view folder) { return target.starts_with(folder); });
    return foreign ? "a new dependency: decide it in docs/decisions/ and list it in tests/tidy"
                   : "";
  }
  if (below(path, "tests") || below(path, "bench")) return "";
  const auto allows = [&](std::string_view folder) { return below(path, folder); };
  if (std::any_of(library->folders.begin(), library->folders.end(), allows)) return "";
  std::string advice = "this library belongs to";
  for (std::string_view folder : library->folders) advice.append(" ").append(folder).append("/");
  return library->folders.empty() ? "this library belongs to tests/ and bench/" : advice;
}

}  // namespace

std::vector<Finding> check_includes(const Source& source, const Views& views) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < views.raw.size(); ++i) {
    const auto include = parse_include(views.raw[i]);
    if (!include) continue;
    const std::string advice = include->project ? judge_project(source.path, include->target)
                                                : judge_library(source.path, include->target);
    if (advice.empty()) continue;
    findings.push_back(
        {source.path, i + 1, "include", std::string(include->target) + ": " + advice});
  }
  return findings;
}

std::vector<Finding> check_arrows(std::span<const Source> sources) {
  std::set<std::pair<const Room*, std::string_view>> used;
  for (const Source& source : sources) {
    const Room* from = is_cpp(source.path) ? room_of(source.path) : nullptr;
    if (from == nullptr) continue;
    for (const std::string& line : split_views(source.text).raw) {
      const auto include = parse_include(line);
      const Room* to = include && include->project ? room_of(include->target) : nullptr;
      if (to != nullptr) used.emplace(from, to->folder);
    }
  }
  std::vector<Finding> findings;
  for (const Room& room : rooms()) {
    for (const std::string_view arrow : room.arrows) {
      if (arrow == kEverything || used.contains({&room, arrow})) continue;
      findings.push_back({std::string(room.folder), 1, "arrow",
                          std::string(arrow) + ": nothing includes it; remove it from the list"});
    }
  }
  return findings;
}

}  // namespace gearshift::tidy
