#include "simulator/system_files.h"

#include <array>
#include <string>

namespace gearshift {
namespace {

struct NamedMode {
  const char* name;
  std::size_t cores;
  const char* cpu_max_khz;  // -1: no cap
  const char* gpu_max_hz;
  const char* memory_max_hz;
  const char* gated_mask;  // texture processing clusters switched off
};

constexpr std::array<NamedMode, 4> kModes = {
    {{"MAXN", 12, "-1", "-1", "0", "0"},
     {"MODE_15W", 4, "1113600", "408000000", "2133000000", "248"},
     {"MODE_30W", 8, "1728000", "612000000", "0", "240"},
     {"MODE_50W", 12, "1497600", "816000000", "0", "0"}}};
constexpr int kDefaultMode = 2;
const std::string kCpuFolder = "/sys/devices/system/cpu";

std::string parameters(std::size_t cores) {
  std::string text = "# Power modes of the virtual board, in the grammar of nvpmodel.\n";
  text += "< PARAM TYPE=FILE NAME=CPU_ONLINE >\n";
  for (std::size_t core = 0; core < cores; ++core) {
    const std::string number = std::to_string(core);
    text += "CORE_" + number + ' ' + kCpuFolder + "/cpu" + number + "/online\n";
  }
  text += "\n< PARAM TYPE=FILE NAME=TPC_POWER_GATING >\n";
  text += "TPC_PG_MASK /sys/devices/platform/17000000.gpu/tpc_pg_mask\n";
  for (std::size_t core = 0; core < cores; ++core) {
    const std::string number = std::to_string(core);
    const std::string folder = kCpuFolder + "/cpu" + number + "/cpufreq/";
    text += "\n< PARAM TYPE=CLOCK NAME=CPU_A78_" + number + " >\n";
    text += "FREQ_TABLE " + folder + "scaling_available_frequencies\n";
    text += "MAX_FREQ " + folder + "scaling_max_freq\nMIN_FREQ " + folder + "scaling_min_freq\n";
  }
  const std::string gpu = "/sys/devices/platform/17000000.gpu/devfreq_dev/";
  text += "\n< PARAM TYPE=CLOCK NAME=GPU >\nFREQ_TABLE " + gpu + "available_frequencies\n";
  text += "MAX_FREQ " + gpu + "max_freq\nMIN_FREQ " + gpu + "min_freq\n";
  text += "\n< PARAM TYPE=CLOCK NAME=EMC >\nMAX_FREQ /sys/kernel/nvpmodel_clk_cap/emc\n";
  return text;
}

std::string nvpmodel_text(std::size_t cores) {
  std::string text = parameters(cores);
  for (std::size_t id = 0; id < kModes.size(); ++id) {
    const NamedMode& mode = kModes[id];
    text += "\n< POWER_MODEL ID=" + std::to_string(id) + " NAME=" + mode.name + " >\n";
    for (std::size_t core = 0; core < cores; ++core) {
      text += "CPU_ONLINE CORE_" + std::to_string(core) + (core < mode.cores ? " 1\n" : " 0\n");
    }
    text += std::string("TPC_POWER_GATING TPC_PG_MASK ") + mode.gated_mask + '\n';
    for (std::size_t core = 0; core < mode.cores; ++core) {
      const std::string name = "CPU_A78_" + std::to_string(core);
      text += name + " MIN_FREQ 729600\n" + name + " MAX_FREQ " + mode.cpu_max_khz + '\n';
    }
    text += std::string("GPU MIN_FREQ 0\nGPU MAX_FREQ ") + mode.gpu_max_hz + '\n';
    text += std::string("EMC MAX_FREQ ") + mode.memory_max_hz + '\n';
  }
  return text + "\n< PM_CONFIG DEFAULT=" + std::to_string(kDefaultMode) + " >";
}

// One line or block an online core.
template <typename Line>
FileText for_online(const CpuClusters& cpu, std::string text, Line line_of) {
  for (std::size_t core = 0; core < cpu.cores(); ++core) {
    if (cpu.is_online(core)) text += line_of(std::to_string(core));
  }
  return FileText{text};
}

void add_idle_states(BoardTree& tree, std::size_t cores) {
  constexpr std::array<const char*, 2> kStates = {"WFI", "c7"};
  for (std::size_t core = 0; core < cores; ++core) {
    for (std::size_t state = 0; state < kStates.size(); ++state) {
      const std::string folder = kCpuFolder + "/cpu" + std::to_string(core) + "/cpuidle/state" +
                                 std::to_string(state) + '/';
      tree.add_text(folder + "name", kStates[state]);
      for (const char* file : {"disable", "time", "usage"}) tree.add_text(folder + file, "0");
    }
  }
}

}  // namespace

void add_system_files(BoardTree& tree, const CpuClusters& cpu) {
  const std::string table = "/etc/nvpmodel/nvpmodel_p3701_0000.conf";
  tree.add_text(table, nvpmodel_text(cpu.cores())).size_rule = SizeRule::exact;
  tree.add_link("/etc/nvpmodel.conf", table);
  const auto add_proc = [&tree](const char* path, FileReader read) {
    tree.add_file(path, 0444, std::move(read)).size_rule = SizeRule::zero;
  };
  add_proc("/proc/stat", [&cpu] {
    const std::string idle = " 0 0 0 0 0 0 0 0 0 0\n";
    return for_online(cpu, "cpu " + idle,
                      [&idle](const std::string& core) { return "cpu" + core + idle; });
  });
  add_proc("/proc/cpuinfo", [&cpu] {
    return for_online(cpu, "", [](const std::string& core) {
      return "processor\t: " + core +
             "\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd42\n\n";
    });
  });
  tree.add_text("/proc/meminfo",
                "MemTotal:       64349232 kB\nMemFree:        57000000 kB\n"
                "MemAvailable:   60000000 kB")
      .size_rule = SizeRule::zero;
  add_idle_states(tree, cpu.cores());
}

}  // namespace gearshift
