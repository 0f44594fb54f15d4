#include "trace/recording_csv.h"

#include <gtest/gtest.h>

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
