// gearshift model check: what the board model predicts for published numbers and for a profile.
#include "boards/model_check.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/model_commands.h"
#include "cli/model_targets.h"
#include "cli/profile_files.h"
#include "cli/select_board.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostTargetBytes = std::size_t{16} << 20;

struct CheckOptions {
  std::string targets;
  std::vector<std::string> profiles;
  std::string board;
  bool json = false;
};

struct JudgedTarget {
  ModelTarget target;
  Judgement judgement;

  bool expressible() const { return judgement.predicted.has_value(); }
  bool within() const { return expressible() && within_tolerance(target, judgement); }
  // Nullopt for a published 0, which nothing has a share of.
  std::optional<double> error_percent() const {
    if (target.value == 0) return std::nullopt;
    return 100 * (*judgement.predicted - target.value) / target.value;
  }
};

// The model against one profile; without a workload or a board there is a reason instead.
struct JudgedProfile {
  std::string device;
  std::string workload;
  Kind kind = Kind::train;
  std::size_t cells = 0;
  CostError error;
  std::string reason;
};

// `named` by --board, or null: then the board that the profile's device is.
JudgedProfile judge_profile(const Profile& profile, const BoardDescription* named) {
  JudgedProfile judged{
      profile.device, profile.workload, profile.kind, profile.cells().size(), {}, ""};
  const BoardDescription* board =
      named != nullptr ? named : find_board(profile.device, built_in_boards());
  if (board == nullptr || !board->model) {
    judged.reason = "no board with a model is called '" +
                    (board != nullptr ? board->id : profile.device) +
                    "'; name one, or its board file, with --board";
    return judged;
  }
  const auto workload = board->find_workload(profile.workload, profile.kind);
  if (workload == board->workloads.end()) {
    judged.reason = "no parameters of '" + profile.workload + "' on " + board->id +
                    "; gearshift model fit finds some";
    return judged;
  }
  judged.error =
      cost_error(board->parameters(profile.kind), workload->second, fit_cells(*board, profile));
  if (judged.error.cells == 0) judged.reason = "no cell has a time of a minibatch";
  return judged;
}

struct CheckResult {
  std::vector<JudgedTarget> targets;
  std::vector<JudgedProfile> profiles;
  std::size_t expressible = 0;
  std::size_t within = 0;
};

CheckResult check(const CheckOptions& options) {
  std::vector<Profile> profiles;
  for (const std::string& path : options.profiles) {
    for (Profile& profile : with_rows(read_profiles(path), path)) {
      profiles.push_back(std::move(profile));
    }
  }
  // A board of its own comes first: it may have the name of a built-in one.
  std::vector<BoardDescription> boards;
  if (!options.board.empty()) boards.push_back(select_board(options.board, Sysroot("/")));
  const bool own = !boards.empty();
  boards.insert(boards.end(), built_in_boards().begin(), built_in_boards().end());
  CheckResult result;
  if (!options.targets.empty()) {
    const std::string text = read_csv_text(options.targets, kMostTargetBytes);
    for (ModelTarget& target : parse_targets(text, options.targets)) {
      JudgedTarget judged{std::move(target), {}};
      judged.judgement = judge(judged.target, boards, profiles);
      result.expressible += judged.expressible() ? 1 : 0;
      result.within += judged.within() ? 1 : 0;
      result.targets.push_back(std::move(judged));
    }
  }
  for (const Profile& profile : profiles) {
    result.profiles.push_back(judge_profile(profile, own ? &boards.front() : nullptr));
  }
  return result;
}

void print_targets(const CheckResult& result) {
  std::printf("%-32s %12s %12s %8s %7s\n", "target", "published", "predicted", "error", "allowed");
  std::map<std::string, std::vector<std::string>> left_out;
  for (const JudgedTarget& one : result.targets) {
    const ModelTarget& target = one.target;
    if (!one.expressible()) {
      left_out[one.judgement.reason].push_back(target.id);
      continue;
    }
    const std::optional<double> error = one.error_percent();
    std::printf("%-32s %12s %12s %8s %6.1f%%  %s\n", target.id.c_str(),
                fmt::format("{:.5g}", target.value).c_str(),
                fmt::format("{:.5g}", *one.judgement.predicted).c_str(),
                error ? fmt::format("{:+.1f}%", *error).c_str() : "none", 100 * target.tolerance,
                one.within() ? "within" : "MISSED");
  }
  std::printf("\nNot expressed by the model\n");
  for (const auto& [reason, ids] : left_out) {
    std::printf("  %zu: %s\n", ids.size(), reason.c_str());
    for (const std::string& id : ids) std::printf("      %s\n", id.c_str());
  }
  const double share = result.expressible == 0 ? 0
                                               : 100 * static_cast<double>(result.within) /
                                                     static_cast<double>(result.expressible);
  std::printf(
      "\n%zu targets; the model expresses %zu, and %zu of them (%.1f %%) are within their "
      "tolerance\n",
      result.targets.size(), result.expressible, result.within, share);
}

void print_profiles(const CheckResult& result) {
  for (const JudgedProfile& one : result.profiles) {
    std::printf("%s %s %s, %zu cells: %s\n", one.device.c_str(), one.workload.c_str(),
                std::string(kind_name(one.kind)).c_str(), one.cells,
                one.reason.empty() ? error_text(one.error).c_str() : one.reason.c_str());
  }
}

Json target_json(const JudgedTarget& one) {
  const ModelTarget& target = one.target;
  Json out = {{"id", target.id},
              {"device", target.device},
              {"workload", target.workload},
              {"kind", kind_name(target.kind)},
              {"label", target.label},
              {"metric", target.metric},
              {"unit", target.unit},
              {"published", target.value},
              {"tolerance", target.tolerance},
              {"expressible", one.expressible()}};
  if (one.expressible()) {
    out["predicted"] = *one.judgement.predicted;
    const std::optional<double> error = one.error_percent();
    out["error_percent"] = error ? Json(*error) : Json();
    out["within"] = one.within();
  } else {
    out["reason"] = one.judgement.reason;
  }
  return out;
}

void print_json(const CheckResult& result) {
  Json out = {{"targets", Json::array()},
              {"profiles", Json::array()},
              {"expressible", result.expressible},
              {"within", result.within}};
  for (const JudgedTarget& one : result.targets) out["targets"].push_back(target_json(one));
  for (const JudgedProfile& one : result.profiles) {
    Json profile = {{"device", one.device},
                    {"workload", one.workload},
                    {"kind", kind_name(one.kind)},
                    {"cells", one.cells}};
    if (one.reason.empty()) {
      profile["error"] = error_json(one.error);
    } else {
      profile["reason"] = one.reason;
    }
    out["profiles"].push_back(std::move(profile));
  }
  // Texts of a file may be no UTF-8.
  std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

int run_check(const CheckOptions& options) {
  if (options.targets.empty() && options.profiles.empty()) {
    std::fprintf(stderr,
                 "gearshift model check: give --targets FILE.csv, --profile FILE.csv or both\n");
    return kExitUsage;
  }
  const CheckResult result = check(options);
  if (options.json) {
    print_json(result);
    return kExitOk;
  }
  if (!options.targets.empty()) print_targets(result);
  if (!options.targets.empty() && !result.profiles.empty()) std::printf("\n");
  print_profiles(result);
  return kExitOk;
}

}  // namespace

std::string error_text(const CostError& error) {
  const auto text = [](const FitError& one) {
    return fmt::format("{:.1f} % (median {:.1f}, p90 {:.1f})", 100 * one.mean, 100 * one.median,
                       100 * one.p90);
  };
  return "time " + text(error.time) + ", power " + text(error.power);
}

Json error_json(const CostError& error) {
  const auto percent = [](const FitError& one) {
    return Json{{"mean_percent", 100 * one.mean},
                {"median_percent", 100 * one.median},
                {"p90_percent", 100 * one.p90}};
  };
  return {{"cells", error.cells}, {"time", percent(error.time)}, {"power", percent(error.power)}};
}

void add_model_check(CLI::App& model, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = model.add_subcommand(
      "check", "Compare the model's predictions with published numbers and measured profiles");
  command->add_option("--targets", options->targets,
                      "CSV of published numbers; the columns are in docs/board-model.md");
  command->add_option("--profile", options->profiles,
                      "a measured profile: its mean absolute error, and the grid that targets over "
                      "\"all N modes\" mean; may be repeated");
  command->add_option("--board", options->board,
                      "the board whose parameters profiles are compared with, a built-in id or a "
                      "board file; else each profile's device; targets name theirs, and it is "
                      "among them");
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "A target that needs what the model lacks is listed with the reason, and not counted.\n"
      "Example: gearshift model check --targets published.csv --profile measured.csv");
  command->callback([options, &exit_code] { exit_code = run_check(*options); });
}

}  // namespace gearshift
