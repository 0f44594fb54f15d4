#include "actuators/step_bar.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "actuators/journal_file.h"

namespace gearshift {
namespace {

constexpr off_t kStepping = 0;
constexpr off_t kBarred = 1;

int open_locks(const std::filesystem::path& journal) {
  const std::string path = journal.string() + ".step";
  // Its owner alone may open it: who can read a file can lock it.
  const int locks = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (locks >= 0 || errno != EROFS) return locks;
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

struct flock lock_of(off_t byte, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// Where locks do not work nothing is locked by others.
bool others_have(int descriptor, off_t byte) {
  struct flock lock = lock_of(byte, F_WRLCK);
  return descriptor >= 0 && fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

// The bar goes up first and then waits; a step is begun first and then looks for a bar. So one of
// them sees the other.
StepBar::StepBar(const std::filesystem::path& journal, std::chrono::milliseconds patience)
    : descriptor_(open_locks(journal)) {
  struct flock bar = lock_of(kBarred, F_RDLCK);  // shared: bars do not bar each other
  if (descriptor_ < 0 || fcntl(descriptor_, F_OFD_SETLK, &bar) != 0) return;
  for (auto waits = patience.count(); !clear() && waits > 0; --waits) poll(nullptr, 0, 1);
}

StepBar::~StepBar() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool StepBar::clear() const { return !others_have(descriptor_, kStepping); }

Step::Step(const std::filesystem::path& journal)
    : journal_(journal), descriptor_(open_locks(journal)) {
  struct flock step = lock_of(kStepping, F_WRLCK);
  if (descriptor_ < 0 || fcntl(descriptor_, F_OFD_SETLK, &step) == 0) return;
  if (errno == EBADF) {  // open to read only, which a shared lock is for: a bar sees it as well
    step = lock_of(kStepping, F_RDLCK);
    if (fcntl(descriptor_, F_OFD_SETLK, &step) == 0) return;
  }
  alone_ = errno != EAGAIN && errno != EACCES;
}

Step::~Step() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Step::allowed() const {
  std::error_code error;
  return alone_ && !others_have(descriptor_, kBarred) && std::filesystem::exists(journal_, error) &&
         !was_put_back(journal_);
}

}  // namespace gearshift
