// One knob of a board as its files offer it: what BoardActuator is made of.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "actuators/knob_journal.h"
#include "boards/board_description.h"
#include "boards/nvml_gpu.h"
#include "boards/sysroot.h"
#include "controller/actuator.h"
#include "controller/knob.h"

namespace gearshift {

class KnobControl {
 public:
  explicit KnobControl(Knob knob) : knob_(std::move(knob)) {}
  virtual ~KnobControl() = default;

  const Knob& knob() const { return knob_; }
  // Saves every file that write() may change, as it reads now.
  virtual void save(KnobJournal& journal) = 0;
  // See Actuator::write. A file that could not be read at save() is saved before it is written.
  // Throws KnobError and FileError.
  virtual Progress write(std::int64_t value, KnobJournal& journal) = 0;
  virtual std::optional<std::int64_t> read() = 0;
  // Whether manage() does something.
  virtual bool manages() const { return false; }
  // See Actuator::manage. Throws KnobError, FileError, and what the journal throws.
  virtual void manage(std::int32_t, Kind, KnobJournal&) {}
  // Another process of gearshift's own than this one: never a workload.
  virtual void spare(std::int32_t) {}
  // Another process has `journal` and made what it names: write there.
  virtual void stand_beside(const KnobJournal&) {}
  // The journal has put everything back.
  virtual void restored() {}

 protected:
  Knob knob_;
};

// Each opens the knob that `description` names, with the values of the live table where the kernel
// has one. Throws KnobError, whose text is the reason for the knob to be absent. What is found is
// told in `finding`.
std::unique_ptr<KnobControl> open_cpu_hotplug(const KnobDescription& description, Sysroot& root,
                                              std::string& finding);
std::unique_ptr<KnobControl> open_cpu_clock(const KnobDescription& description, Sysroot& root,
                                            std::string& finding);
std::unique_ptr<KnobControl> open_gpu_clock(const KnobDescription& description, Sysroot& root,
                                            std::string& finding);
std::unique_ptr<KnobControl> open_memory_clock(const KnobDescription& description, Sysroot& root,
                                               std::string& finding);
std::unique_ptr<KnobControl> open_cpu_set(const KnobDescription& description, Sysroot& root,
                                          std::string& finding);
std::unique_ptr<KnobControl> open_cpu_quota(const KnobDescription& description, Sysroot& root,
                                            std::string& finding);
std::unique_ptr<KnobControl> open_gpu_power_limit(const KnobDescription& description, Sysroot& root,
                                                  std::string& finding);
std::unique_ptr<KnobControl> open_gpu_clock_lock(const KnobDescription& description, Sysroot& root,
                                                 std::string& finding);

// The GPU of an NVML knob. Throws NvmlError, and KnobError where this process may not set it,
// others share it, or it has no UUID to be found by when it is put back.
NvmlGpu open_settable_gpu(const KnobDescription& description, const Sysroot& root);

// The one of these that the description's driver asks for.
std::unique_ptr<KnobControl> open_knob(const KnobDescription& description, Sysroot& root,
                                       std::string& finding);

// An open file and its path on the board: the journal takes board paths, people see whole ones.
struct KnobFile {
  std::string path;
  DeviceFile file;

  // Throws FileError.
  KnobFile(Sysroot& root, std::string board_path,
           Sysroot::Access access = Sysroot::Access::read_write)
      : path(std::move(board_path)), file(root.open(path, access)) {}
};

// Judges what a file reads back after a write. A limit takes effect in a kernel worker, so another
// value means "not yet" at first; at the sixth look, 100 ms later at the least, it means that it
// will not.
class ReadBack {
 public:
  static constexpr int kLooks = 6;

  Progress taken() {
    waited_for_.reset();
    return Progress::done;
  }
  // Throws KnobError at the last look for the same value. `actual` is nullopt where the file
  // cannot be read.
  Progress not_taken(const Knob& knob, std::int64_t value, std::optional<std::int64_t> actual,
                     std::string_view path);

 private:
  std::optional<std::int64_t> waited_for_;
  int looks_ = 0;
};

}  // namespace gearshift
