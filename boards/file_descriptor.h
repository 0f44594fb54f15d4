// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

namespace gearshift {

class FileDescriptor {
 public:
  // What open() returned; below 0 there is none.
  explicit FileDescriptor(int opened) : value(opened) {}
  ~FileDescriptor() {
    if (value >= 0) close(value);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int value;
};

}  // namespace gearshift
