// Compares policies/api.lua and api_models.lua, which document what a script sees, with what a live
// script sees.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "boards/board_model.h"
#include "policies/lua/lua_policy.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

using Names = std::set<std::string>;

// What the documentation declares: globals and library fields from the code, classes from the
// annotations ("answer.power_w"), with the fields a class inherits.
struct Documented {
  Names globals;
  Names fields;
  Names methods;  // "surface:best"
};

Documented read_documentation() {
  std::stringstream file;
  for (const char* name : {"api.lua", "api_models.lua"}) {
    file << std::ifstream(std::string(GEARSHIFT_SOURCE_DIR) + "/policies/" + name).rdbuf() << '\n';
  }
  const std::regex function("function ([a-z._]+)\\(.*");
  const std::regex table("([a-z_]+) = [{0\"].*");
  const std::regex method("function ([a-z]+:[a-z_]+)\\(.*");
  const std::regex member("  ([a-z]+) = .*");
  const std::regex annotated_class("---@class ([a-z_]+)(?:: ([a-z_]+))?.*");
  const std::regex annotated_field("---@field ([a-z_0-9]+)\\?? .*");
  Documented documented;
  std::string class_name;
  std::string table_name;
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, match, function)) {
      documented.globals.insert(match[1]);
    } else if (std::regex_match(line, match, method)) {
      documented.methods.insert(match[1]);
    } else if (std::regex_match(line, match, table)) {
      documented.globals.insert(table_name = match[1]);
    } else if (std::regex_match(line, match, member)) {
      documented.globals.insert(table_name + "." + match[1].str());
    } else if (std::regex_match(line, match, annotated_class)) {
      class_name = match[1];
      const std::string base = match[2];
      Names inherited;
      for (const std::string& field : documented.fields) {
        if (!base.empty() && field.rfind(base + ".", 0) == 0) {
          inherited.insert(class_name + field.substr(base.size()));
        }
      }
      documented.fields.insert(inherited.begin(), inherited.end());
    } else if (std::regex_match(line, match, annotated_field)) {
      documented.fields.insert(class_name + "." + match[1].str());
    }
  }
  return documented;
}

Profile one_row_table() {
  Profile table({{{"gpu_mhz", Unit::khz, KnobClass::clock, {306'000, 1'300'500}}}});
  table.device = "jetson-agx-orin";
  table.workload = "resnet";
  table.kind = Kind::infer;
  EXPECT_TRUE(table.add({{{1'300'500}, 1}, 4, 12.5, 31, {}}));
  return table;
}

// The names of the fields of a Lua table, by a script that logs them; each behind `prefix`.
Names live_fields(const std::string& expression, const std::string& prefix) {
  PolicyProblem problem;
  Workload server = problem.trainer;
  server.kind = Kind::infer;
  PolicyContext context = problem.context();
  context.workloads[index(Kind::infer)] = &server;
  const Profile table = one_row_table();
  const std::array<const Profile*, 1> prior{&table};
  context.prior = prior;
  LuaPolicy policy(
      "fields.lua",
      "local a = measure(safe)\nfor name in pairs(" + expression + ") do log(name) end",
      built_in_board_model("jetson-agx-orin"));
  const Request request = policy.start(context);
  policy.resume(complete(request.setting, 9, 9));
  EXPECT_EQ(policy.failure(), "") << expression;
  Names names;
  for (std::string line = policy.take_log(); !line.empty(); line = policy.take_log()) {
    names.insert(prefix + line);
  }
  return names;
}

TEST(Api, DocumentsEveryGlobalAndNothingElse) {
  Names live = live_fields("_ENV", "");
  for (const char* library : {"gp", "math", "numerics", "pareto", "posterior", "predict",
                              "roofline", "string", "table"}) {
    live.merge(live_fields(library, std::string(library) + "."));
  }
  EXPECT_EQ(read_documentation().globals, live);
}

TEST(Api, DocumentsEveryFieldAndNothingElse) {
  Names live = live_fields("a", "answer.");
  live.merge(live_fields("a.train", "cost."));
  live.merge(live_fields("a.infer", "cost."));
  live.merge(live_fields("goal", "goal."));
  live.merge(live_fields("batch_sizes", "batch_sizes."));
  live.merge(live_fields("workload", "workload."));
  live.merge(live_fields("dimensions[1]", "dimension."));
  live.merge(live_fields("prior[1]", "prior_row."));
  live.merge(live_fields("gp.next()", "probe."));
  live.merge(live_fields("gp.draw() or gp.draw() or gp.draw() or gp.draw()", "drawn."));
  live.merge(live_fields("workload.train", "attached."));
  for (Names names : {live_fields("a.setting", "setting."), live_fields("knobs", "knobs.")}) {
    // Fields by knob name differ from board to board.
    names.erase("setting.cpu_cores");
    names.erase("setting.gpu_mhz");
    names.erase("knobs.cpu_cores");
    names.erase("knobs.gpu_mhz");
    live.merge(names);
  }
  live.merge(live_fields("posterior.update({mean = 0, weight = 0, shape = 1, scale = 1}, {2})",
                         "belief."));
  live.merge(live_fields("roofline.predict(roofline.fit(), safe)", "prediction."));
  Names documented = read_documentation().fields;
  // No script can list the fields of a handle, nor what an option may be called.
  std::erase_if(documented, [](const std::string& name) {
    return name.rfind("roofline_model.", 0) == 0 || name.rfind("surface_terms.", 0) == 0 ||
           name.rfind("probe_terms.", 0) == 0 || name.rfind("draw_terms.", 0) == 0 ||
           name.rfind("smooth_terms.", 0) == 0;
  });
  EXPECT_EQ(documented, live);
}

TEST(Api, DocumentsFieldsAndMethodsThatHandlesHave) {
  const Documented documented = read_documentation();
  std::string script =
      "local surface = roofline.surface(roofline.fit())\n"
      "local roofline_model = roofline.fit()\n";
  for (const std::string& method : documented.methods) {
    script += "assert(" + method.substr(0, method.find(':')) + "." +
              method.substr(method.find(':') + 1) + ", '" + method + "')\n";
  }
  for (const std::string& field : documented.fields) {
    if (field.rfind("roofline_model.", 0) == 0)
      script += "assert(" + field + ", '" + field + "')\n";
  }
  const PolicyProblem problem;
  LuaPolicy policy("handles.lua", script, built_in_board_model("jetson-agx-orin"));
  EXPECT_EQ(policy.start(problem.context()).what, Request::What::hold_safe);
  EXPECT_EQ(policy.failure(), "");
  EXPECT_EQ(documented.methods.count("surface:best"), 1U);
}

}  // namespace
}  // namespace gearshift
