// The files of a virtual board that system tools read: nvpmodel's table, /proc, and idle states.
#pragma once

#include "simulator/board_tree.h"
#include "simulator/cpu_clusters.h"

namespace gearshift {

// /etc/nvpmodel.conf with the four modes of an AGX Orin 64 GB; /proc/{stat,cpuinfo}, with lines for
// online cores only, and /proc/meminfo; cpuidle of every core. `cpu` outlives the tree.
void add_system_files(BoardTree& tree, const CpuClusters& cpu);

}  // namespace gearshift
