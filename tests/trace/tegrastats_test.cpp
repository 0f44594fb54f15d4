#include "trace/tegrastats.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <streambuf>

namespace gearshift {
namespace {

// Made up, in the forms that the versions of tegrastats write.
constexpr const char* kNano4 =
    "RAM 402/3964MB (lfb 700x4MB) SWAP 3/1982MB (cached 1MB) IRAM 0/252kB(lfb 252kB) CPU "
    "[12%@918,7%@918,off,off] EMC_FREQ 5%@1600 GR3D_FREQ 31%@614 APE 25 PLL@21.5C CPU@24C "
    "PMIC@100C GPU@23.5C AO@28C thermal@23.75C POM_5V_IN 2105/1933 POM_5V_GPU 318/300 "
    "POM_5V_CPU 402/405";
constexpr const char* kXavier4 =
    "RAM 2000/15692MB (lfb 1x512kB) CPU [0%@1190,off] EMC_FREQ 0%@2133 GR3D_FREQ 4%@1377 APE 150 "
    "MTS fg 0% bg 0% AO@26.5C GPU@28C NVENC 716 GPU 1155/1155 CPU 385/380 SOC 2502/2502 CV 0/0 "
    "VDDRQ 192/192 SYS5V 2692/2600";
constexpr const char* kOrin6 =
    "02-28-2024 23:59:59 RAM 18207/62841MB (lfb 466x4MB) SWAP 86/31420MB (cached 0MB) CPU "
    "[14%@2188,off] EMC_FREQ 103%@2133 GR3D_FREQ 0%@[305,612] NVENC 79%@166 NVDEC off VIC 36%@115 "
    "APE 174 cpu@52.562C cv0@-256C soc2@-8.5C tj@52.562C VDD_GPU_SOC 2412mW/2400mW "
    "VDD_CPU_CV 1607mW/1600mW VIN_SYS_5V0 4707mW/4700mW NC 0mW/0mW VDDQ_VDD2_1V8AO 301mW/301mW";
constexpr const char* kOrin7 =
    "02-29-2024 00:00:00 RAM 1/2MB CPU [1%@1] GR3D_FREQ @[1300,1300] cpu@52.968C/53C "
    "VDD_GPU_SOC 5139mW/5000mW/6000mW";

TegrastatsSample parsed(std::string_view line) {
  const auto sample = parse_tegrastats(line);
  EXPECT_TRUE(sample) << line;
  return sample.value_or(TegrastatsSample{});
}

TEST(Tegrastats, ReadsTheLineOfANano) {
  const TegrastatsSample sample = parsed(kNano4);
  EXPECT_EQ(sample.stamp_s, std::nullopt);
  EXPECT_EQ(sample.ram_mb, 402);
  ASSERT_EQ(sample.cores.size(), 4U);
  EXPECT_EQ(sample.cores[1]->load_percent, 7);
  EXPECT_EQ(sample.cores[1]->clock_mhz, 918);
  EXPECT_FALSE(sample.cores[2]);
  EXPECT_EQ(sample.emc_percent, 5);
  EXPECT_EQ(sample.emc_mhz, 1600);
  EXPECT_EQ(sample.gpu_percent, 31);
  EXPECT_EQ(sample.gpu_mhz, 614);
  ASSERT_EQ(sample.temperatures.size(), 6U);
  EXPECT_EQ(sample.temperatures[5], (std::pair<std::string, double>("thermal", 23.75)));
  ASSERT_EQ(sample.rails_mw.size(), 3U);
  EXPECT_EQ(sample.rails_mw[0], (std::pair<std::string, std::int64_t>("POM_5V_IN", 2105)));
}

TEST(Tegrastats, TellsARailFromAZoneOfTheSameName) {
  const TegrastatsSample sample = parsed(kXavier4);
  ASSERT_EQ(sample.rails_mw.size(), 6U);
  EXPECT_EQ(sample.rails_mw[1], (std::pair<std::string, std::int64_t>("CPU", 385)));
  ASSERT_EQ(sample.temperatures.size(), 2U);
  EXPECT_EQ(sample.temperatures[1].first, "GPU");
  EXPECT_EQ(sample.cores.size(), 2U);
}

TEST(Tegrastats, ReadsTheLineOfAnOrin) {
  const TegrastatsSample sample = parsed(kOrin6);
  EXPECT_EQ(sample.stamp_s, 1709164799);
  EXPECT_EQ(sample.emc_percent, 103);
  EXPECT_EQ(sample.gpu_percent, 0);
  EXPECT_EQ(sample.gpu_mhz, 612) << "the faster cluster";
  ASSERT_EQ(sample.temperatures.size(), 3U) << "a zone without power has none";
  EXPECT_EQ(sample.temperatures[1].second, -8.5);
  ASSERT_EQ(sample.rails_mw.size(), 4U) << "NC is not connected";
  EXPECT_EQ(sample.rails_mw[3].second, 301);
}

TEST(Tegrastats, ReadsNumbersInThrees) {
  const TegrastatsSample sample = parsed(kOrin7);
  EXPECT_EQ(sample.gpu_percent, std::nullopt);
  EXPECT_EQ(sample.gpu_mhz, 1300);
  EXPECT_EQ(sample.temperatures.at(0).second, 52.968);
  EXPECT_EQ(sample.rails_mw.at(0).second, 5139);
}

TEST(Tegrastats, PassesOverWhatIsNoLine) {
  for (const char* line : {"", "sudo: a password is required", "RAM none", "13-40-2024 1:2:3",
                           "CPU [", "GPU 1/", "x@C"}) {
    EXPECT_FALSE(parse_tegrastats(line)) << line;
  }
  std::istringstream in("hello\nworld\n");
  try {
    read_tegrastats(in, "boot.log");
    FAIL() << "took a log of something else";
  } catch (const TegrastatsError& error) {
    EXPECT_NE(std::string(error.what()).find("boot.log: no line is of tegrastats"),
              std::string::npos);
  }
}

TEST(Tegrastats, WritesTheColumnsThatOccur) {
  std::istringstream in(std::string(kOrin6) + "\r\nnoise\n" + kOrin7 + "\n");
  const TegrastatsLog log = read_tegrastats(in, "orin.log");
  EXPECT_EQ(log.other_lines, 1U);
  const TotalRails rule = {"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"};
  EXPECT_TRUE(has_rails(log, rule));
  EXPECT_FALSE(has_rails(log, {"VDD_IN"}));
  std::ostringstream out;
  write_tegrastats_csv(log, rule, std::chrono::seconds(9), out);
  EXPECT_EQ(out.str(),
            "time_s,power_w,VDD_GPU_SOC_w,VDD_CPU_CV_w,VIN_SYS_5V0_w,VDDQ_VDD2_1V8AO_w,cpu_c,"
            "soc2_c,tj_c,cpu_cores,cpu_percent,cpu_mhz,gpu_percent,gpu_mhz,emc_percent,emc_mhz,"
            "ram_mb\n"
            "0,8.726,2.412,1.607,4.707,0.301,52.562,-8.5,52.562,1,14,2188,0,612,103,2133,18207\n"
            "1,,5.139,,,,52.968,,,1,1,1,,1300,,,1\n");
}

TEST(Tegrastats, KeepsTheDatesBesideALineThatHasNone) {
  const std::string line = " RAM 5000/62841MB CPU [5%@729]\n";
  std::istringstream in("25 01:59:59" + line + "11-02-2025 01:59:59" + line + "-2025 02:00:00" +
                        line + "11-02-2025 02:59:59" + line);
  const TegrastatsLog log = read_tegrastats(in, "cut.log");
  EXPECT_EQ(undated_samples(log), 2U);
  std::ostringstream out;
  write_tegrastats_csv(log, {}, std::chrono::seconds(1), out);
  const std::string rest = ",,1,5,729,,,,,5000\n";
  EXPECT_EQ(out.str().substr(out.str().find('\n') + 1), rest + "0" + rest + rest + "3600" + rest);
}

TEST(Tegrastats, CountsLinesWhereTheyHaveNoDate) {
  std::istringstream in(std::string(kNano4) + "\n" + kNano4 + "\n");
  const TegrastatsLog log = read_tegrastats(in, "nano.log");
  EXPECT_EQ(undated_samples(log), 0U);
  std::ostringstream out;
  write_tegrastats_csv(log, {"POM_5V_IN"}, std::chrono::milliseconds(500), out);
  EXPECT_NE(out.str().find("\n0.5,2.105,"), std::string::npos) << out.str();
}

TEST(Tegrastats, SpreadsTheLinesOfOneSecond) {
  const auto times = [](std::initializer_list<const char*> stamps, Duration interval) {
    std::string lines;
    for (const char* stamp : stamps) lines += std::string(stamp) + " RAM 5/6MB CPU [5%@729]\n";
    std::istringstream in(lines);
    std::ostringstream out;
    write_tegrastats_csv(read_tegrastats(in, "dated.log"), {}, interval, out);
    std::istringstream rows(out.str());
    std::string row;
    std::string found;
    std::getline(rows, row);
    while (std::getline(rows, row)) found += row.substr(0, row.find(',')) + " ";
    return found;
  };
  const char* const first = "11-02-2025 01:59:59";
  const char* const second = "11-02-2025 02:00:00";
  const char* const late = "11-03-2025 05:46:39";
  using std::chrono::milliseconds;
  EXPECT_EQ(times({first, first, second, second}, milliseconds(500)), "0 0.5 1 1.5 ");
  EXPECT_EQ(times({first, first, second, second}, milliseconds(100)), "0 0.1 1 1.1 ");
  EXPECT_EQ(times({first, first, second}, milliseconds(1000)), "0 0.5 1 ") << "within the second";
  EXPECT_EQ(times({first, first, first, first, second}, milliseconds(500)), "0 0.25 0.5 0.75 1 ");
  EXPECT_EQ(times({first, "", first, second}, milliseconds(500)), "0  0.5 1 ");
  EXPECT_EQ(times({first, late}, milliseconds(500)), "0 100000 ");
}

TEST(Tegrastats, CountsTheDatesThatGoBack) {
  const auto back = [](const std::string& lines) {
    std::istringstream in(lines);
    return dates_that_go_back(read_tegrastats(in, "dated.log"));
  };
  const std::string first = "11-02-2025 01:59:59 RAM 5/6MB\n";
  const std::string second = "11-02-2025 02:00:00 RAM 5/6MB\n";
  EXPECT_EQ(back(first + first + second), 0U);
  EXPECT_EQ(back(second + "RAM 5/6MB\n" + first + second + first), 2U);
}

TEST(Tegrastats, KeepsNoClockThatIsCutOff) {
  for (const char* list :
       {"[10%@102,off,0%@7", "[10%@102", "[10%@102,off", "[10%@102,", "[10%@102,0%@711-02-2025"}) {
    EXPECT_TRUE(parsed(std::string("RAM 1/2MB CPU ") + list).cores.empty()) << list;
  }
  for (const char* load : {"4%@13x", "4%@1302-28-2024", "4%@[305,61", "4%@[305,", "4%@"}) {
    const TegrastatsSample sample = parsed(std::string("RAM 1/2MB EMC_FREQ ") + load);
    EXPECT_EQ(sample.emc_percent, 4) << load;
    EXPECT_EQ(sample.emc_mhz, std::nullopt) << load;
  }
  const auto last_emc_mhz = [](const char* lines) {
    std::istringstream in(lines);
    return read_tegrastats(in, "cut.log").samples.back().emc_mhz;
  };
  EXPECT_EQ(last_emc_mhz("RAM 1/2MB EMC_FREQ 4%@1377\n"), 1377);
  EXPECT_EQ(last_emc_mhz("RAM 1/2MB EMC_FREQ 4%@1377\nRAM 1/2MB EMC_FREQ 4%@13"), std::nullopt);
  EXPECT_EQ(last_emc_mhz("RAM 1/2MB EMC_FREQ 4%@1377 GR3D_FR"), 1377);
}

// Hands out zeros without end, and counts how often it was asked for more.
class EndlessBytes : public std::streambuf {
 public:
  std::size_t asked = 0;

 protected:
  int_type underflow() override {
    ++asked;
    setg(block_.data(), block_.data(), block_.data() + block_.size());
    return traits_type::to_int_type(block_.front());
  }

 private:
  std::array<char, 4096> block_{};
};

TEST(Tegrastats, ReadsNoMoreOfALineThanALineMayHave) {
  const std::string line(64 << 10, 'x');
  std::istringstream longest(line + "\n" + kOrin7);
  EXPECT_EQ(read_tegrastats(longest, "a.log").other_lines, 1U);
  std::istringstream longer(line + "x\n" + kOrin7);
  EXPECT_THROW(read_tegrastats(longer, "a.log"), TegrastatsError);
  EndlessBytes zeros;
  std::istream endless(&zeros);
  EXPECT_THROW(read_tegrastats(endless, "/dev/zero"), TegrastatsError);
  EXPECT_LE(zeros.asked, 20U) << "blocks of 4 KiB";
}

}  // namespace
}  // namespace gearshift
