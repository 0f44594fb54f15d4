// Bounds what each client may send, by its name, so that one that floods starves no other.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/token_bucket.h"

namespace gearshift {

// A bucket a name, made when the name first comes. Names are those of a ClientTable, so that they
// are few; forget() is for when the table has changed.
class ClientBudgets {
 public:
  explicit ClientBudgets(TokenBucket full) : full_(full) {}

  // False where the client has sent more than its share.
  bool take(std::string_view name, Time now) {
    for (auto& [known, bucket] : buckets_) {
      if (known == name) return bucket.take(now);
    }
    return buckets_.emplace_back(std::string(name), full_).second.take(now);
  }
  void forget() { buckets_.clear(); }

 private:
  TokenBucket full_;
  std::vector<std::pair<std::string, TokenBucket>> buckets_;
};

}  // namespace gearshift
