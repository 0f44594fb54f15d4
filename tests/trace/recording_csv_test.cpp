#include "trace/recording_csv.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tests/trace/recorded_run.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

std::vector<std::string> lines_of(const std::ostringstream& out) {
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct RecordingCsv : testing::Test {
  RecordingCsv() {
    run.world.attach(seconds(2), trainer(1, "net, \"big\""));
    run.world.at(seconds(30), [this] { run.hardware.reading_state = ReadingState::missing; });
    run.run();
  }
  RecordedRun run;
};

TEST_F(RecordingCsv, HasALineAMinibatchWithTheModeInForce) {
  RecordingReader reader(run.file);
  std::ostringstream out;
  write_minibatches_csv(reader, out);
  const auto lines = lines_of(out);
  std::size_t minibatches = 0;
  for (const Event& event : run.kept.events) minibatches += event.type == EventType::minibatch;
  ASSERT_EQ(lines.size(), minibatches + 1);
  EXPECT_EQ(lines[0],
            "time_s,workload,kind,batch_size,epoch,sequence,minibatch_ms,fetch_stall_ms,compute_ms,"
            "cpu_cores,gpu_mhz");
  // The first mode that is asked for is 2 cores at 600 MHz.
  EXPECT_NE(lines.at(10).find(",\"net, \"\"big\"\"\",train,16,0,10,90,4.5,81,2,600"),
            std::string::npos)
      << lines[10];
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line + ',');
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

// Knobs refuse, others move them, and each setting is written a tick before it counts as applied.
TEST(RecordingCsvKnobs, AreThoseThatAMinibatchTookItsTimeWith) {
  RecordedRun run;
  run.make_eventful();
  run.run();
  RecordingReader reader(run.file);
  std::ostringstream out;
  write_minibatches_csv(reader, out);
  auto lines = lines_of(out);
  lines.erase(lines.begin());
  std::size_t known = 0;
  std::set<std::string> modes;
  for (const std::string& line : lines) {
    const std::vector<std::string> fields = fields_of(line);
    ASSERT_EQ(fields.size(), 11U) << line;
    EXPECT_EQ(fields[9].empty(), fields[10].empty()) << line;
    if (fields[9].empty()) continue;
    ++known;
    modes.insert(fields[9] + " " + fields[10]);
    Hardware then;
    then.values = {std::stoll(fields[9]), std::stoll(fields[10]) * 1000};
    const double samples = (4 + std::stod(fields[3])) / 20;  // as the world's trainer has it
    const double alone_ms =
        std::chrono::duration<double, std::milli>(FakeWorld(then, Duration{}).minibatch()).count();
    EXPECT_NEAR(std::stod(fields[6]), alone_ms * samples, 1e-3) << line;
  }
  EXPECT_GT(known, lines.size() * 9 / 10) << "of " << lines.size();
  EXPECT_GT(modes.size(), 4U);
}

TEST_F(RecordingCsv, HasALineAReadingInWatts) {
  RecordingReader reader(run.file);
  std::ostringstream out;
  write_samples_csv(reader, out);
  const auto lines = lines_of(out);
  ASSERT_EQ(lines.size(), run.kept.readings.size() + 1);
  EXPECT_EQ(lines[0], "time_s,quantity,channel,value,unit,state,estimate");
  EXPECT_EQ(lines[1], "0,power,0,5,W,ok,0");
  EXPECT_EQ(lines.back(), "90,power,0,,W,missing,0");
}

}  // namespace
}  // namespace gearshift
