#include "policies/lua/left_out.h"

namespace gearshift {
namespace {

struct LeftOut {
  std::string_view name;
  std::string_view way_out;
};

constexpr std::string_view kNoCatching =
    "an error ends the script; test what could fail (an answer's ok, type, nil)";
constexpr std::string_view kOneFile = "a script is one file, and all of it text";
constexpr std::string_view kNoWorld = "a script sees neither files nor clocks; use log to tell";
constexpr std::string_view kNoMetatables = "use plain tables and functions";
constexpr std::string_view kNoPatterns =
    "it can run long inside one instruction; use byte, sub, format or string == string";

constexpr LeftOut kGlobals[] = {
    {"print", "use log"},
    {"warn", "use log"},
    {"pcall", kNoCatching},
    {"xpcall", kNoCatching},
    {"require", kOneFile},
    {"load", kOneFile},
    {"loadstring", kOneFile},
    {"loadfile", kOneFile},
    {"dofile", kOneFile},
    {"io", kNoWorld},
    {"os", kNoWorld},
    {"debug", "use log, and read the calls below an error"},
    {"coroutine", "measure waits by itself; use functions"},
    {"collectgarbage", "memory is bounded, and collected by itself"},
    {"setmetatable", kNoMetatables},
    {"getmetatable", kNoMetatables},
    {"next", "use pairs, whose order is fixed"},
};

constexpr LeftOut kOfStrings[] = {
    {"rep", "it can run long inside one instruction; join with .. in a loop"},
    {"find", kNoPatterns},
    {"match", kNoPatterns},
    {"gmatch", kNoPatterns},
    {"gsub", kNoPatterns},
};

// What stands between `before` and the next quote.
std::string_view quoted_after(std::string_view message, std::string_view before) {
  const std::size_t at = message.find(before);
  if (at == std::string_view::npos) return {};
  message.remove_prefix(at + before.size());
  return message.substr(0, message.find('\''));
}

template <typename Names>
std::string hint(const Names& names, std::string_view of, std::string_view name) {
  for (const LeftOut& one : names) {
    if (one.name != name) continue;
    return "; " + std::string(of) + std::string(name) +
           " is not there: " + std::string(one.way_out);
  }
  return "";
}

}  // namespace

std::string left_out_hint(std::string_view message) {
  if (message.find(" a nil value (") == std::string_view::npos) return "";
  const std::string global = hint(kGlobals, "", quoted_after(message, "(global '"));
  if (!global.empty()) return global;
  // Lua names no variable here: `for k, v in next, t do`.
  if (!quoted_after(message, "(for iterator '").empty()) return hint(kGlobals, "", "next");
  // A table of the script's own may lack a field of that name as well: what is said stays true.
  for (const std::string_view what : {"(field '", "(method '"}) {
    const std::string of_string = hint(kOfStrings, "string.", quoted_after(message, what));
    if (!of_string.empty()) return of_string;
  }
  return "";
}

}  // namespace gearshift
