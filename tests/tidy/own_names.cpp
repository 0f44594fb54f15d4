// Names that two files of a room, or of its tests, each have for themselves. The files of a room,
// and of some folders of tests, are compiled together (CMakeLists.txt), so many at a time: which of
// them meet changes with every file that is added.
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

#include "tests/tidy/tidy.h"

namespace gearshift::tidy {
namespace {

// The folders of tests whose files are compiled together, as the build says.
std::set<std::string> folders_together(std::span<const Source> sources) {
  static const std::regex together(R"(add_room_test\(([a-z_]+) TOGETHER)");
  std::set<std::string> folders;
  for (const Source& source : sources) {
    if (source.path != "tests/CMakeLists.txt") continue;
    const std::string& text = source.text;
    for (std::sregex_iterator at(text.begin(), text.end(), together), end; at != end; ++at) {
      folders.insert("tests/" + (*at)[1].str());
    }
  }
  return folders;
}

// The room, or the folder of tests, whose target compiles the file; "" where it is compiled by
// itself.
std::string room_of(const Source& source, const std::set<std::string>& folders_of_tests) {
  if (is_header(source.path) || below(source.path, "bench") ||
      below(source.path, "bridge/client")) {
    return "";
  }
  if (below(source.path, "tests")) {
    const std::string folder = source.path.substr(0, source.path.rfind('/'));
    return folders_of_tests.contains(folder) ? folder : "";
  }
  for (const std::string_view room :
       {"policies/numerics", "policies/powertrain", "simulator/virtual_board"}) {
    if (below(source.path, room)) return std::string(room);
  }
  return source.path.substr(0, source.path.find('/'));
}

// A function's parameters without their names.
std::string unnamed(const std::string& function) {
  static const std::regex parameter(R"(([ &*])[a-z]\w*( = [^,)]*)?(?=[,)]))");
  return std::regex_replace(function, parameter, "$1");
}

// What a line of an anonymous namespace names: constants, a type, or a function with what it takes.
std::vector<std::string> names_in(const std::string& line) {
  static const std::regex constant(R"(\b(k[A-Z][A-Za-z0-9]*)(?:\[.*?\])? ?[={])");
  static const std::regex type(
      R"((?:struct|class|enum class|union) ([A-Za-z0-9_]+)\b[^;(]*[{=].*)");
  static const std::regex function(
      R"((?:\[\[.*\]\] )?[A-Za-z].*?[ *&]([a-z0-9_]+\(.*\)) (?:const )?\{.*)");
  std::vector<std::string> names;
  std::smatch match;
  if (line.starts_with("const")) {
    for (std::sregex_iterator at(line.begin(), line.end(), constant), end; at != end; ++at) {
      names.push_back((*at)[1]);
    }
  }
  if (!names.empty()) return names;
  if (std::regex_match(line, match, type)) {
    names.push_back(match[1]);
  } else if (std::regex_match(line, match, function)) {
    names.push_back(unnamed(match[1]));
  }
  return names;
}

// What tests/fakes names: a file that takes all of it would without a word get the name of another
// file with which it is compiled.
std::map<std::string, std::string> names_of_fakes(std::span<const Source> sources) {
  std::map<std::string, std::string> names;
  for (const Source& source : sources) {
    if (!is_header(source.path) || !below(source.path, "tests/fakes")) continue;
    for (std::string line : split_views(source.text).code) {
      if (line.starts_with("inline const")) line.erase(0, std::string_view("inline ").size());
      for (const std::string& name : names_in(line)) names.emplace(name, source.path);
    }
  }
  return names;
}

}  // namespace

std::vector<Finding> check_own_names(std::span<const Source> sources) {
  std::map<std::string, std::string> first;  // "room name" to the file that has it
  std::vector<Finding> findings;
  const std::set<std::string> folders_of_tests = folders_together(sources);
  const std::map<std::string, std::string> of_fakes = names_of_fakes(sources);
  for (const Source& source : sources) {
    const std::string room = is_cpp(source.path) ? room_of(source, folders_of_tests) : "";
    if (room.empty()) continue;
    const Views views = split_views(source.text);
    bool own = false;
    for (std::size_t i = 0; i < views.code.size(); ++i) {
      if (views.code[i].starts_with("namespace {")) own = true;
      if (views.code[i].starts_with("}") && views.raw[i] == "}  // namespace") own = false;
      if (!own) continue;
      for (const std::string& name : names_in(views.code[i])) {
        const auto fake = of_fakes.find(name);
        const auto [known, is_new] = first.emplace(room + ' ' + name, source.path);
        const bool hides = below(room, "tests") && fake != of_fakes.end();
        if (!hides && (is_new || known->second == source.path)) continue;
        findings.push_back(
            {source.path, i + 1, "own-name",
             name + " is also in " + (hides ? fake->second : known->second) +
                 ", with which it is compiled: share it, or give one of them a name of its own"});
      }
    }
  }
  return findings;
}

}  // namespace gearshift::tidy
