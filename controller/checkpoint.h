// Who can save its work before power ends, who was asked to, and who has answered.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "controller/event.h"
#include "controller/world.h"

namespace gearshift {

class Checkpoint {
 public:
  explicit Checkpoint(Duration timeout) : timeout_(timeout) {}

  // Managed or not: what is observed only loses its work as well. Those that do not save are none.
  void attach(const Workload& workload);
  void detach(WorkloadHandle handle);

  // Asks every one that was not asked since power was last known to go on. Returns their handles,
  // valid until the next call.
  const std::vector<WorkloadHandle>& ask(World& world, Time now);
  // Power goes on: when it is about to end again, all are asked anew.
  void forget();

  // A saved or unsaved event; false where it answers nothing that was asked.
  bool answer(const Event& event);
  // One whose time is over, once each; nullopt where there is none, or no more.
  std::optional<WorkloadHandle> take_overdue(Time now);
  // Somebody was asked, and has not answered yet.
  bool pending() const;
  // Somebody was asked, and nobody is waited for any more. Stays so until forget(), or until the
  // last one who saves has left.
  bool over() const { return over_; }
  Duration timeout() const { return timeout_; }

 private:
  enum class Stage : std::uint8_t { idle, asked, through };
  struct Saver {
    WorkloadHandle handle = 0;
    Stage stage = Stage::idle;
    std::uint32_t sequence = 0;
    Time asked{};
  };
  void end(Saver& saver);

  Duration timeout_;
  std::vector<Saver> savers_;
  std::vector<WorkloadHandle> newly_asked_;
  std::uint32_t sequence_ = 0;
  bool over_ = false;
};

}  // namespace gearshift
