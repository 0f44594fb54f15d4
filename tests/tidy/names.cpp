#include <algorithm>
#include <cctype>

#include "tests/tidy/tidy.h"

namespace gearshift::tidy {
namespace {

// An identifier that belongs to few files. Empty fields ask for nothing.
struct Name {
  std::string_view text;         // the identifier; a trailing or leading '*' stands for anything
  std::string_view before = "";  // what stands directly before it
  std::string_view after = "";   // what stands directly after it
};

struct NameRule {
  std::string_view rule;
  std::vector<Name> names;
  std::vector<std::string_view> folders;  // where they are at home
  std::string_view advice;
};

const std::vector<NameRule>& name_rules() {
  static const std::vector<NameRule> rules = {
      {"clock",
       {{"clock_gettime"},
        {"clock_getres"},
        {"gettimeofday"},
        {"timespec_get"},
        {"ftime"},
        {"steady_clock"},
        {"system_clock"},
        {"high_resolution_clock"},
        {"file_clock"},
        {"time", "", "(nullptr"},
        {"time", "", "(NULL"},
        {"time", "", "(0"},
        {"time", "", "(&"}},
       {"bench"},
       "take a const Clock& (controller/clock.h), or the time as an argument"},
      {"sleep",
       {{"sleep_for"},
        {"sleep_until"},
        {"usleep"},
        {"nanosleep"},
        {"clock_nanosleep"},
        {"sleep", "", "("},
        {"sched_yield"},
        {"yield", "this_thread::"}},
       {},
       "only World::wait_until blocks"},
      {"thread",
       {{"thread", "std::"}, {"jthread", "std::"}, {"async", "std::"}, {"pthread_create"}},
       {},
       "threads are few, each with its reason in its header; send an event instead"},
      {"random",
       {{"random_device"},
        {"rand", "", "("},
        {"srand", "", "("},
        {"drand48"},
        {"getrandom"},
        {"default_random_engine"},
        {"random_shuffle"},
        {"*_distribution", "std::"}},
       {},
       "use one std::mt19937_64 a consumer, seeded from (seed, name), and its output only"},
      {"lua",
       {{"lua_*"}, {"luaL_*"}, {"luaopen_*"}},
       {"policies/lua", "tests/policies", "tests/fuzz"},
       "Lua is spoken in policies/lua only; go through Policy"},
      {"zmq",
       {{"zmq", "", "::"}, {"zmq_*", "", "("}},
       {"bridge", "tests", "bench"},
       "ZeroMQ is spoken in bridge/ only; go through World"},
      {"torch",
       {{"torch", "", "::"}},
       {"policies/powertrain", "bridge/client/examples"},
       "libtorch is a module behind policies/powertrain"},
      {"log",
       {{"spdlog", "", "::"},
        {"cout", "std::"},
        {"cerr", "std::"},
        {"clog", "std::"},
        {"printf", "std::"},
        {"fprintf", "std::"},
        {"puts", "std::"}},
       {"cli", "tests", "bench"},
       "only cli/ prints and logs; call a Recorder"},
  };
  return rules;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool matches(std::string_view pattern, std::string_view word) {
  if (pattern.ends_with('*')) return word.starts_with(pattern.substr(0, pattern.size() - 1));
  if (pattern.starts_with('*')) return word.ends_with(pattern.substr(1));
  return word == pattern;
}

bool matches(const Name& name, std::string_view line, std::size_t begin, std::size_t end) {
  return matches(name.text, line.substr(begin, end - begin)) &&
         line.substr(0, begin).ends_with(name.before) && line.substr(end).starts_with(name.after);
}

// Calls `visit(begin, end)` for each identifier of the line.
template <typename Visit>
void each_word(std::string_view line, Visit visit) {
  std::size_t begin = 0;
  while (begin < line.size()) {
    if (!is_word(line[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < line.size() && is_word(line[end])) ++end;
    visit(begin, end);
    begin = end;
  }
}

bool at_home(const NameRule& rule, std::string_view path) {
  return std::any_of(rule.folders.begin(), rule.folders.end(),
                     [&](std::string_view folder) { return below(path, folder); });
}

void check_line(const NameRule& rule, const Source& source, std::string_view line,
                std::size_t number, std::vector<Finding>& findings) {
  each_word(line, [&](std::size_t begin, std::size_t end) {
    const auto found = std::find_if(rule.names.begin(), rule.names.end(), [&](const Name& name) {
      return matches(name, line, begin, end);
    });
    if (found == rule.names.end()) return;
    findings.push_back(
        {source.path, number, std::string(rule.rule),
         std::string(line.substr(begin, end - begin)) + ": " + std::string(rule.advice)});
  });
}

// Device paths are board data: their text lives in boards/*.toml, in what plays a board, in tests.
constexpr std::string_view kPathFolders[] = {"simulator", "tests", "bench"};

void check_path_text(const Source& source, std::string_view line, std::size_t number,
                     std::vector<Finding>& findings) {
  for (std::string_view folder : kPathFolders) {
    if (below(source.path, folder)) return;
  }
  for (std::string_view root : {"/sys", "/proc"}) {
    const std::size_t found = line.find(root);
    if (found == std::string_view::npos) continue;
    const char before = found == 0 ? '"' : line[found - 1];
    const std::size_t end = found + root.size();
    const char after = end == line.size() ? '"' : line[end];
    if (is_word(before) || is_word(after)) continue;
    findings.push_back({source.path, number, "path",
                        std::string(root) + ": device paths are data; put it in boards/*.toml"});
  }
}

}  // namespace

std::vector<Finding> check_names(const Source& source, const Views& views) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < views.code.size(); ++i) {
    for (const NameRule& rule : name_rules()) {
      if (!at_home(rule, source.path)) check_line(rule, source, views.code[i], i + 1, findings);
    }
    check_path_text(source, views.literals[i], i + 1, findings);
  }
  return findings;
}

}  // namespace gearshift::tidy
