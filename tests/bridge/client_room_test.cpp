// The C++ client where the process may open no more files: it trains on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "bridge/client/gearshift.hpp"

namespace gearshift {
namespace {

// The process may open so many files more, while it lives.
class FilesLeft {
 public:
  explicit FilesLeft(std::size_t left) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = 256;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    for (int file = 0; file >= 0;) {
      file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (file >= 0) files_.push_back(file);
    }
    for (; left > 0 && !files_.empty(); --left) close_one();
  }
  ~FilesLeft() {
    while (!files_.empty()) close_one();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  FilesLeft(const FilesLeft&) = delete;
  FilesLeft& operator=(const FilesLeft&) = delete;

 private:
  void close_one() {
    ::close(files_.back());
    files_.pop_back();
  }
  rlimit before_{};
  std::vector<int> files_;
};

const client::Options kOptions{"lenet", client::Kind::train, 16, {8, 16}, 0, "ipc:///none/x"};

// libzmq ends the process where it gets the first files that it wants and not the next ones.
TEST(ClientRoom, TooFewFilesAreToldOfOnceAndTheProgramTrainsOn) {
  for (std::size_t left = 0; left < 9; ++left) {
    const FilesLeft files(left);
    client::Workload workload(kOptions);
    EXPECT_EQ(workload.take_message(),
              "no daemon can be connected to: files: Too many open files; raise ulimit -n or -u, "
              "and attach anew")
        << left;
    EXPECT_EQ(workload.take_message(), "");
    EXPECT_TRUE(workload.runs());
    EXPECT_FALSE(workload.poll());
    EXPECT_FALSE(workload.attached());
    EXPECT_EQ(workload.wanted().batch_size, 16);
    EXPECT_EQ(workload.take_turn(), 0U);
    workload.minibatch(0, std::chrono::milliseconds(5), {}, std::chrono::milliseconds(5));
  }
}

TEST(ClientRoom, EnoughFilesAreNothingToTellOf) {
  const FilesLeft files(18);
  client::Workload workload(kOptions);
  EXPECT_EQ(workload.take_message(), "");
}

}  // namespace
}  // namespace gearshift
