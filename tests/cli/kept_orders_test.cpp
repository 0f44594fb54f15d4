#include "cli/kept_orders.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

Event cap(std::int64_t power_mw) {
  Event event;
  event.type = EventType::cap;
  event.power_mw = power_mw;
  return event;
}

Event goal(const GoalChange& change) {
  Event event;
  event.type = EventType::goal;
  event.goal = change;
  return event;
}

class KeptOrdersTest : public testing::Test {
 protected:
  KeptOrders begun_with(std::optional<std::int64_t> power_mw = 30'000) const {
    return {tree_.root(), "power_mw=" + std::to_string(power_mw.value_or(0)), power_mw};
  }
  // Of a run that was killed then.
  void order(const std::vector<Event>& events,
             std::optional<std::int64_t> power_mw = 30'000) const {
    KeptOrders orders = begun_with(power_mw);
    for (const Event& event : events) orders.add(event);
    EXPECT_EQ(orders.write(), "");
  }
  Orders next(std::optional<std::int64_t> power_mw = 30'000) {
    told_.clear();
    KeptOrders orders = begun_with(power_mw);
    return orders.take({}, told_);
  }
  std::string told() const { return told_.empty() ? "" : told_.front(); }

  fakes::TempTree tree_;
  std::vector<std::string> told_;
};

TEST_F(KeptOrdersTest, ALowerCapAndAGoalGoOnAfterAKilledRunAndAreTold) {
  order({cap(25'000), goal({.objective = Objective::weighted}), cap(20'000),
         goal({.energy_weight = 0.75})});
  for (int start = 0; start < 2; ++start) {
    const Orders left = next();
    EXPECT_EQ(left.cap_mw, 20'000) << "and the run after the next";
    EXPECT_EQ(left.goal, (GoalChange{Objective::weighted, 0.75}));
    ASSERT_EQ(told_.size(), 2U);
    EXPECT_NE(told_[0].find("the cap of 20.0 W that an operator gave it goes on"),
              std::string::npos)
        << told_[0];
    EXPECT_NE(told_[1].find("objective=weighted energy_weight=0.75"), std::string::npos);
  }
  order({cap(15'000)}, std::nullopt);
  EXPECT_EQ(next(std::nullopt).cap_mw, 15'000) << "any is lower than none";
}

TEST_F(KeptOrdersTest, AHigherCapIsNotTheSafeSide) {
  for (const std::int64_t power_mw : {45'000, 30'000, 0}) {
    order({cap(power_mw)});
    EXPECT_TRUE(next().empty());
    EXPECT_NE(told().find("above what this one begins with, is forgotten"), std::string::npos);
  }
  order({cap(0), goal({.objective = Objective::energy})});
  EXPECT_EQ(next().goal.objective, Objective::energy);
}

TEST_F(KeptOrdersTest, AGoalThatLacksANumberNowIsForgottenAndTold) {
  order({goal({.objective = Objective::latency}), cap(20'000)});
  const Orders left = next();
  EXPECT_EQ(left.goal, GoalChange());
  EXPECT_EQ(left.cap_mw, 20'000);
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_NE(told_[1].find("(objective=latency) is forgotten: objective latency needs the rate"),
            std::string::npos)
      << told_[1];
}

TEST_F(KeptOrdersTest, ARunThatEndsByItselfLeavesNothing) {
  KeptOrders orders = begun_with();
  orders.add(cap(20'000));
  EXPECT_EQ(orders.write(), "");
  orders.forget();
  EXPECT_TRUE(next().empty());
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(std::filesystem::is_empty(tree_.root()));
}

TEST_F(KeptOrdersTest, OfARunBegunOtherwiseNothingIsTaken) {
  order({cap(20'000)});
  EXPECT_TRUE(next(25'000).empty());
  EXPECT_NE(told().find("begun with another cap"), std::string::npos) << told();
  EXPECT_TRUE(next().empty()) << "it is forgotten";
}

TEST_F(KeptOrdersTest, WhatIsNoOrderIsNone) {
  KeptOrders orders = begun_with();
  Event other;
  other.type = EventType::stop;
  other.power_mw = 5;
  orders.add(other);
  orders.add(cap(-1));
  EXPECT_EQ(orders.write(), "");
  EXPECT_TRUE(std::filesystem::is_empty(tree_.root()));
}

TEST_F(KeptOrdersTest, AFileThatCannotBeReadIsToldAndIgnored) {
  order({cap(20'000)});
  const std::string whole = tree_.get("/operator.orders");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    tree_.put("/operator.orders", whole.substr(0, size));
    const Orders left = next();
    EXPECT_EQ(left.cap_mw.value_or(20'000), 20'000) << "no other cap";
    EXPECT_EQ(told_.empty(), size == whole.find("cap ")) << size;
  }
  for (const std::string& text :
       {whole + "cap 10\n", whole + "x", std::string("gearshift orders 1\nrun a\ncap 015000\n"),
        whole + std::string(5000, ' '),
        std::string("gearshift orders 1\nrun power_mw=30000\ncap -5\n"),
        std::string("gearshift orders 1\nrun power_mw=30000\ncap 99999999999\n"),
        std::string("gearshift orders 1\nrun power_mw=30000\ngoal objective=speed\n")}) {
    tree_.put("/operator.orders", text);
    EXPECT_TRUE(next().empty()) << text;
    EXPECT_NE(told().find("is not what gearshift writes there"), std::string::npos) << told();
  }
}

TEST_F(KeptOrdersTest, NoLinkIsFollowedAndNoOthersFileBelieved) {
  order({cap(20'000)});
  std::filesystem::rename(tree_.at("/operator.orders"), tree_.at("/elsewhere"));
  std::filesystem::create_symlink("elsewhere", tree_.at("/operator.orders"));
  EXPECT_TRUE(next().empty());
  EXPECT_FALSE(told_.empty());
  std::filesystem::create_symlink("elsewhere", tree_.at("/operator.orders.new"));
  const std::string before = tree_.get("/elsewhere");
  order({cap(10'000)});
  EXPECT_EQ(tree_.get("/elsewhere"), before);
  EXPECT_FALSE(std::filesystem::is_symlink(tree_.at("/operator.orders")));
  EXPECT_EQ(next().cap_mw, 10'000);
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(tree_.at("/operator.orders").c_str(), 12345, 12345), 0);
  EXPECT_TRUE(next().empty());
  EXPECT_NE(told().find("is no file of this user's"), std::string::npos);
}

TEST_F(KeptOrdersTest, AFolderThatCannotBeWrittenIsToldOnceAnOrder) {
  KeptOrders orders(tree_.at("/nowhere"), "power_mw=30000", 30'000);
  orders.add(cap(20'000));
  EXPECT_NE(orders.write().find("nowhere/operator.orders: No such file"), std::string::npos);
  EXPECT_EQ(orders.write(), "");
}

}  // namespace
}  // namespace gearshift
