#include "trace/replay.h"

#include <gtest/gtest.h>

#include "tests/fakes/serving_rig.h"
#include "tests/trace/recorded_run.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

class Replays : public testing::Test {
 protected:
  Replays() {
    recorded_.make_eventful();
    recorded_.run();
  }
  ReplayResult replay(Policy& policy) const {
    RecordingReader reader(recorded_.file);
    return Replay(reader).run(policy);
  }
  ReplayResult replay_changed(const std::string& sql) const {
    change_file(recorded_.file, sql);
    ListPolicy policy(search_four);
    return replay(policy);
  }
  RecordedRun recorded_;
};

TEST_F(Replays, ReproduceEveryDecisionOfAnEventfulRun) {
  ASSERT_EQ(recorded_.failure, "");
  ListPolicy policy(search_four);
  const ReplayResult result = replay(policy);
  ASSERT_FALSE(result.difference) << result.difference->recorded << "\n"
                                  << result.difference->replayed;
  EXPECT_GT(result.decisions, 60);
  EXPECT_EQ(result.ticks, static_cast<std::int64_t>(recorded_.kept.times.size()));
  EXPECT_EQ(result.duration, seconds(90));
  EXPECT_EQ(policy.replaces, 1);
  EXPECT_EQ(policy.starts, recorded_.policy.starts);
  // The run was one that has it all.
  for (const NoteType type :
       {NoteType::attached, NoteType::detached, NoteType::baseload, NoteType::goal,
        NoteType::observation, NoteType::hold, NoteType::safe, NoteType::over_cap,
        NoteType::power_unknown, NoteType::knob_failed, NoteType::outside_writer,
        NoteType::policy_reload, NoteType::objective, NoteType::reference, NoteType::stop}) {
    EXPECT_FALSE(recorded_.kept.of(type).empty()) << note_name(type);
  }
}

// Plans for 16 W, and says after a while that power ends soon.
class EndingPlan : public LimitSource {
 public:
  std::string_view name() const override { return "battery"; }
  void consume(const Event&) override {}
  Limit limit(Time now) override {
    return {.planned_mw = 16'000, .ends_soon = now >= Time{} + seconds(40)};
  }
  void serve_above(std::int64_t) override { told = true; }
  void hear(const Prevailing& prevailing) override { heard = prevailing; }

  bool told = false;  // what is known to answer requests
  Prevailing heard;
};

TEST(ReplayOfAPlan, SavesTheWorkAndWaitsAsItDid) {
  EndingPlan plan;
  RecordedRun run;
  run.second_limit = &plan;
  run.header.limits = {"operator", "battery"};
  Workload trainer = fakes::trainer();
  trainer.saves = true;
  run.world.attach(seconds(2), trainer);
  run.world.saves_after = seconds(2);
  run.run();
  EXPECT_TRUE(plan.told);
  EXPECT_TRUE(plan.heard.work_is_saved);
  ASSERT_EQ(run.kept.of(NoteType::checkpoint).size(), 2U);
  EXPECT_EQ(run.kept.statuses.back().phase, Phase::paused);
  RecordingReader reader(run.file);
  ListPolicy policy(search_four);
  const ReplayResult result = Replay(reader).run(policy);
  EXPECT_FALSE(result.difference) << result.difference->recorded << "\n"
                                  << result.difference->replayed;
}

// What a plan says trembles, what an operator says does not.
class MovingCap : public LimitSource {
 public:
  std::string_view name() const override { return "battery"; }
  void consume(const Event&) override {}
  Limit limit(Time now) override {
    if (now < Time{} + seconds(40)) return {.moves = true};
    return {.power_mw = 21'300, .moves = true};
  }
};

TEST(ReplayOfCaps, GivesThePolicyInStepsThoseThatCameInSteps) {
  MovingCap moving;
  RecordedRun run;
  run.operator_limit = OperatorLimit(23'300);
  run.second_limit = &moving;
  run.header.limits = {"operator", "battery"};
  const ListPolicy::Decide decide = [](const PolicyContext& context, const auto&) {
    return fakes::hold(context.goal.power_mw == 23'300   ? mode(3, 600000)
                       : context.goal.power_mw == 21'250 ? mode(2, 600000)
                                                         : mode(1, 300000));
  };
  run.policy = ListPolicy(decide);
  run.world.attach(seconds(2));
  run.run();
  std::vector<PowerMode> held;
  for (const auto& note : run.kept.of(NoteType::hold)) held.push_back(note.setting.mode);
  EXPECT_EQ(held, (std::vector<PowerMode>{mode(3, 600000), mode(2, 600000)}));
  RecordingReader reader(run.file);
  ListPolicy policy(decide);
  const ReplayResult result = Replay(reader).run(policy);
  EXPECT_FALSE(result.difference) << result.difference->recorded << "\n"
                                  << result.difference->replayed;
}

// Over at every seventh look.
class SlowTime : public ThinkTime {
 public:
  void begin() override {}
  bool over() override { return ++looks_ % 7 == 0; }

 private:
  int looks_ = 0;
};

// Thinks longer with each answer, and fails where it has thought too long.
Request think(ThinkTime& time, const PolicyContext& context,
              const std::vector<Observation>& answers) {
  for (std::size_t i = 0; i <= answers.size(); ++i) {
    if (time.over()) return {Request::What::failed, {}};
  }
  return search_four(context, answers);
}

TEST(ReplayOfAScriptThatThoughtTooLong, EndsItWhereItWasEnded) {
  SlowTime slow;
  RecordedRun run;
  std::optional<RecordedThinkTime> time;
  run.policy = ListPolicy([&](const PolicyContext& context, const auto& answers) {
    if (!time) time.emplace(slow, *run.open);
    return think(*time, context, answers);
  });
  run.make_eventful();
  run.run();
  ASSERT_FALSE(run.kept.of(NoteType::policy_error).empty());
  ASSERT_FALSE(run.kept.of(NoteType::observation).empty());

  const auto replayed = [&run] {
    RecordingReader reader(run.file);
    Replay replay(reader);
    ListPolicy policy([&](const PolicyContext& context, const auto& answers) {
      return think(replay.think_time(), context, answers);
    });
    return replay.run(policy);
  };
  const ReplayResult result = replayed();
  EXPECT_FALSE(result.difference) << result.difference->recorded << "\n"
                                  << result.difference->replayed;
  EXPECT_GT(result.decisions, 10);
  change_file(run.file, "DELETE FROM script_stops");
  EXPECT_TRUE(replayed().difference);
}

TEST_F(Replays, TellTheFirstDecisionThatDiffers) {
  ListPolicy other([](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.empty() ? measure(mode(2, 600000)) : hold(mode(1, 300000));
  });
  const ReplayResult result = replay(other);
  ASSERT_TRUE(result.difference);
  const std::string& recorded = result.difference->recorded;
  const std::string& replayed = result.difference->replayed;
  EXPECT_NE(recorded.find("setting value=1: cpu_cores=3 gpu_mhz=600 train_batch=16"),
            std::string::npos)
      << recorded;
  EXPECT_NE(replayed.find("setting value=1: cpu_cores=1 gpu_mhz=300"), std::string::npos)
      << replayed;
  EXPECT_GT(result.difference->since_start, seconds(2));
  EXPECT_LT(result.difference->since_start, seconds(10));
}

TEST_F(Replays, NoticeAReadingThatIsNotWhatItWas) {
  const ReplayResult result =
      replay_changed("UPDATE readings SET value = value + 1 WHERE tick = 60");
  ASSERT_TRUE(result.difference);
  EXPECT_NE(result.difference->replayed.find("power_mean_mw="), std::string::npos);
}

TEST_F(Replays, NoticeAKnobThatAnswersOtherwise) {
  const ReplayResult result = replay_changed(
      "UPDATE knob_calls SET value = 300000 WHERE action = 'write' AND value = 900000");
  ASSERT_TRUE(result.difference);
  EXPECT_EQ(result.difference->recorded, "write gpu_mhz=300");
  EXPECT_EQ(result.difference->replayed, "write gpu_mhz=900");
}

TEST_F(Replays, NoticeADecisionTooManyAndOneTooFew) {
  const ReplayResult fewer = replay_changed(
      "DELETE FROM notes WHERE rowid = (SELECT min(rowid) FROM notes WHERE type = "
      "'hold')");
  ASSERT_TRUE(fewer.difference);
  EXPECT_NE(fewer.difference->replayed.find("hold"), std::string::npos);
  const ReplayResult more = replay_changed("INSERT INTO commands VALUES (0, 1, 1, 16, 'both')");
  ASSERT_TRUE(more.difference);
  EXPECT_EQ(more.difference->tick, 0);
  EXPECT_EQ(more.difference->replayed, "nothing");
}

TEST_F(Replays, GoAsFarAsARecordingThatWasCutOff) {
  std::string sql = "DELETE FROM metadata WHERE key = 'end';";
  for (const char* table :
       {"ticks", "readings", "events", "minibatches", "requests", "workloads", "knob_calls",
        "explanations", "limits", "scripts", "commands", "notes"}) {
    sql += "DELETE FROM " + std::string(table) + " WHERE tick > 300;";
  }
  const ReplayResult result = replay_changed(sql);
  EXPECT_FALSE(result.difference);
  EXPECT_EQ(result.ticks, 301);
  EXPECT_EQ(RecordingReader(recorded_.file).end(), std::nullopt);
}

TEST(Replay, GivesThePolicyTheTablesItHad) {
  const auto decide = [](const PolicyContext& context, const std::vector<Observation>&) {
    const bool told = context.prior.size() == 1 && context.prior[0]->cells().size() == 1;
    return hold(told ? mode(4, 600000) : mode(1, 300000));
  };
  const std::vector<Profile> measured = parse_profiles(
      "device,workload,kind,batch_size,cpu_cores,minibatch_ms,power_w\n"
      "fake,lstm,train,16,4,12.25,20.5\n",
      "prior.csv");
  const Profile* const priors[] = {&measured.at(0)};
  RecordedRun recorded;
  recorded.header.options.prior = priors;
  recorded.policy = ListPolicy(decide);
  recorded.world.attach(seconds(2));
  recorded.run();
  RecordingReader reader(recorded.file);
  ListPolicy policy(decide);
  EXPECT_FALSE(Replay(reader).run(policy).difference);
  EXPECT_EQ(recorded.kept.of(NoteType::hold).at(0).setting.mode, mode(4, 600000));
}

TEST(Replay, OfNothingIsEqual) {
  RecordedRun recorded;
  { const RecordingWriter writer(recorded.file, recorded.header); }
  RecordingReader reader(recorded.file);
  ListPolicy policy(search_four);
  const ReplayResult result = Replay(reader).run(policy);
  EXPECT_FALSE(result.difference);
  EXPECT_EQ(result.ticks, 0);
}

TEST(ReplayOfAnAbsence, WaitsAsItDidForWhoeverSetsTheKnobs) {
  RecordedRun run;
  run.world.attach(seconds(2));
  run.world.at(seconds(4), [&run] {
    run.hardware.away = true;
    run.hardware.values = {4, 900000};
  });
  run.world.at(seconds(30), [&run] { run.hardware.away = false; });
  run.run();
  ASSERT_EQ(run.kept.of(NoteType::outside_writer).size(), 1U);
  EXPECT_EQ(run.kept.statuses.back().phase, Phase::holding);
  RecordingReader reader(run.file);
  ListPolicy policy(search_four);
  const ReplayResult result = Replay(reader).run(policy);
  EXPECT_FALSE(result.difference) << result.difference->recorded << "\n"
                                  << result.difference->replayed;
}

// Recordings of before do not tell at which rate a setting was late, nor what one that is set is
// for.
TEST(ReplayOfLateness, TellsAtWhichRateWhereTheRecordingDoes) {
  ScheduleLimit none({});
  RecordedRun run;
  run.second_limit = &none;
  run.header.options.goal.objective = Objective::throughput;
  run.header.options.meter.power_least = std::chrono::milliseconds(500);
  run.policy = ListPolicy(best_of(kThree));
  run.world.attach(seconds(0));
  FakeServer& server = run.world.attach_server(seconds(0), 40);
  for (int i = 250; i < 900; ++i) {
    run.world.at(std::chrono::milliseconds(100 * i),
                 [&run, &server] { server.late_ms = run.hardware.values[1] == 900000 ? 400 : 0; });
  }
  run.run();
  ASSERT_EQ(run.failure, "");
  ASSERT_GT(run.kept.of(NoteType::late).back().value, 40'000'000);
  const auto differs = [&run] {
    RecordingReader reader(run.file);
    ListPolicy policy(best_of(kThree));
    return Replay(reader).run(policy).difference.has_value();
  };
  EXPECT_FALSE(differs());
  change_file(run.file, "UPDATE notes SET value = value + 1 WHERE type = 'late' AND value > 0");
  EXPECT_TRUE(differs());
  change_file(run.file, "UPDATE notes SET value = 0 WHERE type IN ('late', 'setting')");
  EXPECT_FALSE(differs());
  change_file(run.file, "UPDATE notes SET value = 9 WHERE type = 'setting'");
  EXPECT_TRUE(differs());
}

}  // namespace
}  // namespace gearshift
