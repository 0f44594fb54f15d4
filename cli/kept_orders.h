// What an operator has ordered of a run with `gearshift cap` and `gearshift goal`, kept in the
// state folder until the run ends: the next one goes on with it where this one is killed.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/outlet.h"
#include "cli/run_options.h"
#include "controller/goal.h"
#include "controller/world.h"

namespace gearshift {

struct Orders {
  std::optional<std::int64_t> cap_mw;  // 0: the operator's cap was lifted
  GoalChange goal;

  bool empty() const { return !cap_mw && goal == GoalChange(); }
  friend bool operator==(const Orders&, const Orders&) = default;
};

// What the file has: the orders, and in one line how the run was begun that they were given to.
struct OrderedRun {
  std::string run;
  Orders orders;
};
std::string orders_text(const OrderedRun& ordered);
// Nullopt for any text that orders_text does not make.
std::optional<OrderedRun> parse_orders(std::string_view all);

class KeptOrders {
 public:
  // Orders count for runs that were begun alike: `run` is one line that says how. `power_mw` is the
  // cap that they begin with; nullopt: none.
  KeptOrders(const std::filesystem::path& state_folder, std::string run,
             std::optional<std::int64_t> power_mw);

  // What a run that was killed has left, as far as this one goes on with it: a cap that is lower
  // than the one it begins with, and a change of `goal`. Left out, and forgotten, are a higher cap,
  // a change that the goal cannot take yet, and all that was ordered of a run begun otherwise.
  // `told` gets a line for each. A file that is no regular one of this user's, or has anything else
  // in it, is told and ignored.
  Orders take(const Goal& goal, std::vector<std::string>& told);

  // Takes orders out of an event, if they are any.
  void add(const Event& event);
  // Writes what is new, for who is killed from now on: the file is replaced as a whole, and not
  // waited for until it is on the disk. What went wrong; empty where nothing did.
  std::string write();
  // The run has ended by itself: the next one begins as its flags say.
  void forget();

 private:
  void judge_cap(std::vector<std::string>& told);
  void judge_goal(const Goal& goal, std::vector<std::string>& told);

  const std::filesystem::path file_;
  const std::string run_;
  const std::optional<std::int64_t> power_mw_;
  Orders orders_;
  Orders written_;
};

// Of a run with these options on this board. Null where there is no folder to keep them in.
std::unique_ptr<KeptOrders> orders_of(const RunOptions& options, const std::string& board,
                                      std::optional<std::int64_t> power_mw);

// Keeps the orders that come through a world.
class OrderedWorld : public World {
 public:
  // Both borrowed; null where nothing is kept.
  OrderedWorld(World& world, KeptOrders* kept) : world_(world), kept_(kept) {}

  Time wait_until(Time deadline, EventBuffer& events) override;
  void command(WorkloadHandle workload, const WorkloadCommand& command) override {
    world_.command(workload, command);
  }
  std::string_view script() override { return world_.script(); }
  void publish(const Status& status) override { world_.publish(status); }

 private:
  World& world_;
  KeptOrders* kept_;
  Outlet out_{STDERR_FILENO};
};

}  // namespace gearshift
