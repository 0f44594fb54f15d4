// Checks the checker on small trees, then this source tree with it.
#include "tests/tidy/tidy.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gearshift::tidy {
namespace {

std::vector<Finding> check_one(std::string path, std::string text,
                               std::span<const Exemption> exemptions = {}) {
  const Source source{std::move(path), std::move(text)};
  return check(std::span(&source, 1), exemptions);
}

// The rules that are broken, in order, as "rule:line".
std::vector<std::string> rules(const std::vector<Finding>& findings) {
  std::vector<std::string> result;
  for (const Finding& finding : findings) {
    result.push_back(finding.rule + ":" + std::to_string(finding.line));
  }
  return result;
}

using Rules = std::vector<std::string>;

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "// line\n";
  return text;
}

std::string include(std::string_view target) {
  return "#include \"" + std::string(target) + "\"\n";
}
std::string library(std::string_view target) { return "#include <" + std::string(target) + ">\n"; }

TEST(TidyIncludes, FollowTheArrowsBetweenRooms) {
  struct Case {
    std::string_view from;
    std::string_view to;
    bool allowed;
  };
  constexpr std::array kCases = {
      Case{"controller/a.cpp", "controller/b.h", true},
      Case{"controller/a.cpp", "boards/b.h", false},
      Case{"boards/a.cpp", "controller/b.h", true},
      Case{"boards/a.cpp", "sensors/b.h", false},
      Case{"limits/a.cpp", "controller/b.h", true},
      Case{"limits/a.cpp", "boards/b.h", false},
      Case{"sensors/a.cpp", "boards/b.h", true},
      Case{"sensors/a.cpp", "actuators/b.h", false},
      Case{"actuators/a.cpp", "boards/b.h", true},
      Case{"actuators/a.cpp", "sensors/b.h", false},
      Case{"policies/lua/a.cpp", "policies/numerics/b.h", true},
      Case{"policies/numerics/a.cpp", "policies/lua/b.h", false},
      Case{"policies/powertrain/a.cpp", "policies/lua/b.h", false},
      Case{"policies/powertrain/a.cpp", "boards/b.h", false},
      Case{"policies/lua/a.cpp", "bridge/b.h", false},
      Case{"bridge/a.cpp", "controller/b.h", true},
      Case{"bridge/a.cpp", "boards/b.h", false},
      Case{"bridge/client/a.hpp", "bridge/client/b.hpp", true},
      Case{"bridge/client/a.hpp", "b.hpp", true},
      Case{"bridge/client/a.hpp", "bridge/b.h", false},
      Case{"bridge/client/a.hpp", "controller/b.h", false},
      Case{"trace/a.cpp", "controller/b.h", true},
      Case{"trace/a.cpp", "boards/b.h", false},
      Case{"simulator/a.cpp", "trace/b.h", true},
      Case{"simulator/a.cpp", "simulator/virtual_board/b.h", false},
      Case{"simulator/virtual_board/a.cpp", "simulator/b.h", true},
      Case{"simulator/virtual_board/a.cpp", "boards/b.h", false},
      Case{"simulator/a.cpp", "bridge/b.h", false},
      Case{"evaluation/a.cpp", "trace/b.h", true},
      Case{"evaluation/a.cpp", "simulator/b.h", false},
      Case{"cli/a.cpp", "simulator/virtual_board/b.h", true},
      Case{"sensors/a.cpp", "cli/b.h", false},
      Case{"sensors/a.cpp", "tests/fakes/b.h", false},
      Case{"tests/sensors/a.cpp", "actuators/b.h", true},
      Case{"bench/a.cpp", "bridge/b.h", true},
  };
  for (const Case& example : kCases) {
    const auto found = rules(check_one(std::string(example.from), "// A.\n" + include(example.to)));
    EXPECT_EQ(found, example.allowed ? Rules{} : Rules{"include:2"})
        << example.from << " includes " << example.to;
  }
}

TEST(TidyIncludes, KeepLibrariesInTheirRooms) {
  struct Case {
    std::string_view from;
    std::string_view header;
    bool allowed;
  };
  constexpr std::array kCases = {
      Case{"policies/lua/a.cpp", "lua.hpp", true},
      Case{"policies/numerics/a.cpp", "lua.hpp", false},
      Case{"policies/numerics/a.cpp", "Eigen/Dense", true},
      Case{"policies/powertrain/a.cpp", "torch/torch.h", true},
      Case{"policies/lua/a.cpp", "torch/torch.h", false},
      Case{"bridge/a.cpp", "zmq.hpp", true},
      Case{"cli/a.cpp", "zmq.hpp", false},
      Case{"bridge/client/a.hpp", "msgpack.hpp", true},
      Case{"trace/a.cpp", "msgpack.hpp", false},
      Case{"trace/a.cpp", "sqlite3.h", true},
      Case{"cli/a.cpp", "sqlite3.h", false},
      Case{"simulator/virtual_board/a.cpp", "fuse3/fuse.h", true},
      Case{"simulator/a.cpp", "fuse.h", false},
      Case{"boards/a.cpp", "toml++/toml.h", true},
      Case{"sensors/a.cpp", "toml++/toml.h", false},
      Case{"cli/a.cpp", "spdlog/spdlog.h", true},
      Case{"bridge/a.cpp", "spdlog/spdlog.h", false},
      Case{"controller/a.cpp", "gtest/gtest.h", false},
      Case{"tests/bridge/a.cpp", "zmq.hpp", true},
      Case{"bench/a.cpp", "benchmark/benchmark.h", true},
      Case{"sensors/a.cpp", "sys/stat.h", true},
      Case{"sensors/a.cpp", "fmt/core.h", false},
      Case{"controller/a.cpp", "vector", true},
      Case{"controller/a.cpp", "unistd.h", false},
      Case{"controller/a.cpp", "fstream", false},
      Case{"controller/a.cpp", "thread", false},
  };
  for (const Case& example : kCases) {
    const auto found =
        rules(check_one(std::string(example.from), "// A.\n" + library(example.header)));
    EXPECT_EQ(found, example.allowed ? Rules{} : Rules{"include:2"})
        << example.from << " includes " << example.header;
  }
}

TEST(TidyIncludes, AreWrittenFromTheRoot) {
  EXPECT_EQ(rules(check_one("boards/a.cpp", include("../controller/b.h"))), Rules{"include:1"});
  EXPECT_EQ(rules(check_one("boards/a.cpp", include("b.h"))), Rules{"include:1"});
  EXPECT_EQ(rules(check_one("boards/a.cpp", "  #  include \"b.h\"\n")), Rules{"include:1"});
  EXPECT_EQ(rules(check_one("boards/a.cpp", "// #include \"b.h\"\n")), Rules{});
}

TEST(TidyIncludes, NeedEveryArrow) {
  std::vector<Source> sources = {{"trace/a.cpp", include("controller/b.h")},
                                 {"simulator/a.cpp", include("boards/b.h")},
                                 {"docs/simulator/a.md", include("controller/b.h")}};
  const auto findings_of = [&sources](std::string_view room) {
    std::vector<std::string> found;
    for (const Finding& finding : check_arrows(sources)) {
      if (finding.path == room) found.push_back(describe(finding));
    }
    return found;
  };
  const std::string advice = ": nothing includes it; remove it from the list";
  EXPECT_EQ(findings_of("trace"), std::vector<std::string>{});
  EXPECT_EQ(findings_of("simulator"),
            (std::vector<std::string>{"simulator:1: arrow: controller" + advice,
                                      "simulator:1: arrow: trace" + advice}));
  EXPECT_EQ(findings_of("cli"), std::vector<std::string>{}) << "it may include everything";
  sources.push_back({"simulator/b.h", include("trace/b.h") + include("controller/c.h")});
  EXPECT_EQ(findings_of("simulator"), std::vector<std::string>{});
}

TEST(TidyNames, BelongToFewFiles) {
  struct Case {
    std::string_view path;
    std::string_view code;
    std::string_view rule;  // empty: allowed
  };
  constexpr std::array kCases = {
      Case{"bridge/a.cpp", "auto t = std::chrono::steady_clock::now();", "clock"},
      Case{"bridge/a.cpp", "clock_gettime(CLOCK_BOOTTIME, &t);", "clock"},
      Case{"bridge/a.cpp", "auto t = time(nullptr);", "clock"},
      Case{"bridge/a.cpp", "auto t = time(0);", "clock"},
      Case{"bridge/a.cpp", "Time time(now);", ""},
      Case{"bridge/a.cpp", "report.time();", ""},
      Case{"tests/a.cpp", "std::chrono::system_clock::now();", "clock"},
      Case{"sensors/a.cpp", "std::this_thread::sleep_for(1ms);", "sleep"},
      Case{"sensors/a.cpp", "std::this_thread::yield();", "sleep"},
      Case{"sensors/a.cpp", "usleep(1);", "sleep"},
      Case{"sensors/a.cpp", "sleep(1);", "sleep"},
      Case{"sensors/a.cpp", "co_yield x; bool sleep = false;", ""},
      Case{"limits/a.cpp", "std::thread sampler;", "thread"},
      Case{"limits/a.cpp", "std::jthread sampler;", "thread"},
      Case{"limits/a.cpp", "std::this_thread::get_id();", ""},
      Case{"limits/a.cpp", "pthread_create(&id, nullptr, run, nullptr);", "thread"},
      Case{"limits/a.cpp", "int thread = 0;", ""},
      Case{"policies/a.cpp", "std::random_device seed;", "random"},
      Case{"policies/a.cpp", "int x = rand();", "random"},
      Case{"policies/a.cpp", "std::normal_distribution<double> noise;", "random"},
      Case{"policies/a.cpp", "std::mt19937_64 engine(seed);", ""},
      Case{"policies/a.cpp", "lua_State* state;", "lua"},
      Case{"policies/numerics/a.cpp", "luaL_newstate();", "lua"},
      Case{"policies/lua/a.cpp", "luaL_newstate();", ""},
      Case{"cli/a.cpp", "zmq::context_t context;", "zmq"},
      Case{"bridge/a.cpp", "zmq::context_t context;", ""},
      Case{"policies/lua/a.cpp", "torch::Tensor x;", "torch"},
      Case{"policies/powertrain/a.cpp", "torch::Tensor x;", ""},
      Case{"bridge/a.cpp", "spdlog::info(x);", "log"},
      Case{"bridge/a.cpp", "std::cerr << x;", "log"},
      Case{"cli/a.cpp", "spdlog::info(x);", ""},
      Case{"sensors/a.cpp", "open(\"/sys/class/hwmon\");", "path"},
      Case{"cli/a.cpp", "read(\"/proc\");", "path"},
      Case{"cli/a.cpp", "shown(\"in /proc/self/stat\");", "path"},
      Case{"cli/a.cpp", "shown(\"/system /sysroot a/processor x/sys/y\");", ""},
      Case{"simulator/a.cpp", "open(\"/sys/class/hwmon\");", ""},
      Case{"tests/a.cpp", "open(\"/sys/class/hwmon\");", ""},
  };
  for (const Case& example : kCases) {
    const auto found =
        rules(check_one(std::string(example.path), "\n" + std::string(example.code) + "\n"));
    EXPECT_EQ(found, example.rule.empty() ? Rules{} : Rules{std::string(example.rule) + ":2"})
        << example.path << ": " << example.code;
  }
}

TEST(TidyNames, AreNotLookedForInCommentsOrLiterals) {
  EXPECT_EQ(rules(check_one("cli/a.cpp",
                            "// usleep(1); in \"/sys\"\n/* zmq::x\n usleep(1) */\n"
                            "f(\"usleep(1) \\\" // \", '\"', 1'000'000);\n"
                            "g(R\"x(usleep(1) )\" // )x\");\n")),
            Rules{});
  EXPECT_EQ(rules(check_one("cli/a.cpp", "f('\"'); usleep(1);\ng(R\"(a\n)\"); usleep(2);\n")),
            (Rules{"sleep:1", "sleep:3"}));
}

TEST(TidyLengths, AreLimitedByFile) {
  EXPECT_EQ(rules(check_one("boards/a.h", lines(400))), Rules{});
  EXPECT_EQ(rules(check_one("boards/a.h", lines(401))), Rules{"file length:401"});
  EXPECT_EQ(rules(check_one("scripts/a.lua", lines(401))), Rules{"file length:401"});
  EXPECT_EQ(rules(check_one("bridge/python/a.py", lines(401))), Rules{"file length:401"});
  EXPECT_EQ(rules(check_one("docs/a.md", lines(401))), Rules{});
}

TEST(TidyLengths, AreLimitedByFunction) {
  const auto function = [](std::string_view head, std::size_t count) {
    return "namespace a {\n" + std::string(head) + " {\n" + lines(count - 2) + "}\n}\n";
  };
  EXPECT_EQ(rules(check_one("cli/a.cpp", function("void f(int x)", 70))), Rules{});
  EXPECT_EQ(rules(check_one("cli/a.cpp", function("void f(int x)", 71))),
            Rules{"function length:2"});
  EXPECT_EQ(rules(check_one("cli/a.cpp", function("A::A() : x_{1}, y_(2)", 71))),
            Rules{"function length:2"});
  EXPECT_EQ(rules(check_one("cli/a.cpp", function("auto operator=(A a) -> A&", 71))),
            Rules{"function length:2"});
  EXPECT_EQ(rules(check_one("cli/a.cpp", function("template <class T>\nvoid f(T t = {})", 71))),
            Rules{"function length:2"});
  // Types and tables may be long.
  EXPECT_EQ(rules(check_one("cli/a.cpp", function("template <class T>\nclass A : public B", 90))),
            Rules{});
  EXPECT_EQ(rules(check_one("cli/a.cpp", function("const std::function<int()> kTable[] =", 90))),
            (Rules{}));
  EXPECT_EQ(
      rules(check_one("cli/a.cpp", "struct A {\n public:\n" + function("int f()", 71) + "};")),
      Rules{"function length:4"});
  EXPECT_EQ(rules(check_one("cli/a.cpp", "int f() {}\n" + function("int g()", 71))),
            Rules{"function length:3"});
}

TEST(TidyLayout, NamesAndHeadersSayWhatTheyAreFor) {
  EXPECT_EQ(rules(check_one("cli/board_manager.cpp", "")), Rules{"file name:1"});
  EXPECT_EQ(rules(check_one("cli/utils/text.cpp", "")), Rules{"file name:1"});
  EXPECT_EQ(rules(check_one("cli/management.cpp", "")), Rules{});
  EXPECT_EQ(rules(check_one("cli/a.h", "#pragma once\n// What A is for.\n")),
            Rules{"header comment:1"});
  EXPECT_EQ(rules(check_one("bridge/client/a.hpp", "\n// Late.\n")), Rules{"header comment:1"});
  EXPECT_EQ(rules(check_one("cli/a.h", "// What A is for.\n#pragma once\n")), Rules{});
  EXPECT_EQ(rules(check_one("src/a.cpp", "")), Rules{"folder:1"});
  EXPECT_EQ(rules(check_one("Makefile", "")), Rules{});
}

TEST(TidyLayout, RefusesMarksOfUnfinishedWork) {
  const std::string mark = std::string("TO") + "DO";
  EXPECT_EQ(rules(check_one("docs/a.md", "fine\n" + mark + ": later\n")), Rules{"unfinished:2"});
  EXPECT_EQ(rules(check_one("cli/a.cpp", "// " + std::string("FIX") + "ME\n")),
            Rules{"unfinished:1"});
  EXPECT_EQ(rules(check_one("cli/a.cpp", "// mkdtemp wants XX" + std::string("XXXX\n"))), Rules{});
}

TEST(TidyExemptions, CoverOneRuleOfOneFileAndMustBeNeeded) {
  const std::string code = "usleep(1);\nauto t = time(nullptr);\n";
  constexpr std::array<Exemption, 1> kSleep = {Exemption{"sleep", "cli/a.cpp", "it waits"}};
  EXPECT_EQ(rules(check_one("cli/a.cpp", code, kSleep)), Rules{"clock:2"});
  EXPECT_EQ(rules(check_one("cli/b.cpp", code, kSleep)),
            (Rules{"sleep:1", "clock:2", "exemption:1"}));
  constexpr std::array<Exemption, 1> kSilent = {Exemption{"sleep", "cli/a.cpp", ""}};
  EXPECT_EQ(rules(check_one("cli/a.cpp", "usleep(1);\n", kSilent)), Rules{"exemption:1"});
}

TEST(TidyFindings, SayWhereWhatAndWhatToDo) {
  const auto findings = check_one("cli/a.cpp", "\nusleep(1);\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(describe(findings[0]), "cli/a.cpp:2: sleep: usleep: only World::wait_until blocks");
}

TEST(TidyTypes, HaveANameOfTheirOwnInTheirNamespace) {
  const std::string one = "// A.\n#pragma once\nnamespace gearshift {\nstruct Target {\n};\n}\n";
  const std::string other =
      "// B.\n#pragma once\nnamespace gearshift::wire {\nstruct Target {\n};\n}\n";
  const std::vector<Source> apart = {{"boards/a.h", one}, {"bridge/b.h", other}};
  EXPECT_EQ(rules(check(apart, {})), Rules{});
  const std::vector<Source> same = {{"boards/a.h", one}, {"evaluation/b.h", one}};
  EXPECT_EQ(rules(check(same, {})), Rules{"type:4"});
}

TEST(TidyOwnNames, AreGivenOnceWhereTestsAreCompiledTogether) {
  const std::string own =
      "namespace gearshift {\nnamespace {\nconstexpr int kOwn = 1;\n}  // namespace\n}\n";
  const auto rules_of = [&](const std::string& room) {
    const std::vector<Source> sources = {
        {"tests/CMakeLists.txt", "add_room_test(limits TOGETHER)\nadd_room_test(boards)\n"},
        {"tests/" + room + "/a_test.cpp", own},
        {"tests/" + room + "/b_test.cpp", own}};
    return rules(check(sources, {}));
  };
  EXPECT_EQ(rules_of("limits"), Rules{"own-name:3"});
  EXPECT_EQ(rules_of("boards"), Rules{});
}

TEST(TidyOwnNames, OfTestsThatAreCompiledTogetherHideNoFake) {
  const auto file = [](const std::string& of_its_own) {
    return "namespace gearshift {\nnamespace {\n" + of_its_own + "\n}  // namespace\n}\n";
  };
  const auto rules_of = [&](const std::string& own) {
    const std::vector<Source> sources = {
        {"tests/CMakeLists.txt", "add_room_test(limits TOGETHER)\n"},
        {"tests/fakes/rig.h",
         "// A rig.\n#pragma once\ninline const Mode kFast = mode(4);\nint best_of(const Asked& "
         "all) {\n}\n"},
        {"tests/limits/a_test.cpp", file(own)}};
    return rules(check(sources, {}));
  };
  EXPECT_EQ(rules_of("int best_of(const Asked& asked) {\n}"), Rules{"own-name:3"});
  EXPECT_EQ(rules_of("constexpr Mode kFast = mode(2);"), Rules{"own-name:3"});
  EXPECT_EQ(rules_of("int best_of(int asked) {\n}"), Rules{});
}

TEST(TidyOwnNames, AreGivenOnceInARoom) {
  const auto file = [](const std::string& of_its_own) {
    return "namespace gearshift {\nnamespace {\n" + of_its_own + "\n}  // namespace\n}\n";
  };
  const auto rules_of = [&](const std::string& one, const std::string& other,
                            const std::string& path = "boards/b.cpp") {
    const std::vector<Source> sources = {{"boards/a.cpp", file(one)}, {path, file(other)}};
    return rules(check(sources, {}));
  };
  const Rules found = {"own-name:3"};
  const std::string constant = "constexpr double kStep = 0.5;";
  EXPECT_EQ(rules_of(constant, "constexpr Duration kGap = {}, kStep = {};"), found);
  EXPECT_EQ(rules_of("constexpr int kSteps[] = {1};", "const std::string kSteps[2] = {};"), found);
  EXPECT_EQ(rules_of("struct Sum {\n};", "class Sum : public Total {\n};"), found);
  EXPECT_EQ(rules_of("double square(double x) { return x * x; }",
                     "double square(double x) { return x * x; }"),
            found);
  EXPECT_EQ(rules_of("double square(double x) {", "double square(double value = 2) {"), found);
  EXPECT_EQ(rules_of("const Board& orin() { return b; }", "const Board& orin() { return b; }"),
            found);
  // Another room's, an overload, and a name that is only used.
  EXPECT_EQ(rules_of(constant, constant, "sensors/b.cpp"), Rules{});
  EXPECT_EQ(rules_of(constant, constant, "tests/boards/b.cpp"), Rules{});
  EXPECT_EQ(rules_of("int text(int x) {\n}", "int text(double x) {\n}"), Rules{});
  EXPECT_EQ(rules_of(constant, "constexpr double kHalf = kStep / 2;"), Rules{});
}

// Files below the source tree that people write; build folders and caches are not.
std::vector<Source> read_tree(const std::filesystem::path& root) {
  constexpr std::array<std::string_view, 9> kExtensions = {".cpp", ".h",    ".hpp", ".py",   ".lua",
                                                           ".md",  ".toml", ".txt", ".cmake"};
  std::vector<Source> sources;
  std::filesystem::recursive_directory_iterator entry(root);
  for (; entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory()) {
      const bool ours = name == ".ci" || !(name.starts_with(".") || name.starts_with("__") ||
                                           name.ends_with(".egg-info"));
      if (!ours || (entry.depth() == 0 && name.starts_with("build"))) {
        entry.disable_recursion_pending();
      }
      continue;
    }
    const std::string extension = entry->path().extension().string();
    if (std::find(kExtensions.begin(), kExtensions.end(), extension) == kExtensions.end()) continue;
    std::ostringstream text;
    text << std::ifstream(entry->path()).rdbuf();
    sources.push_back({entry->path().lexically_relative(root).generic_string(), text.str()});
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

TEST(Tidy, TheTreeKeepsTheRulesOfTheHouse) {
  const std::vector<Source> sources = read_tree(GEARSHIFT_SOURCE_DIR);
  ASSERT_GT(sources.size(), 20u) << "no tree at " << GEARSHIFT_SOURCE_DIR;
  for (const Finding& finding : check(sources, exemptions())) ADD_FAILURE() << describe(finding);
  for (const Finding& finding : check_arrows(sources)) ADD_FAILURE() << describe(finding);
}

}  // namespace
}  // namespace gearshift::tidy
