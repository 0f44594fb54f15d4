// A policy that asks for anything in the knob space, known and unknown, and holds anything.
#pragma once

#include <random>
#include <string>

#include "controller/policy.h"

namespace gearshift::swarm {

class RandomPolicy : public Policy {
 public:
  Request start(const PolicyContext& context) override {
    context_ = context;
    bits_.seed(context.seed * 1000003 + context.observations.size());
    left_ = 1 + bits_() % 25;
    return next();
  }
  Request resume(const Observation&) override { return next(); }
  Request replace(std::string_view, const PolicyContext& context) override {
    return start(context);
  }
  std::string_view failure() const override { return "failed by chance"; }
  std::string take_log() override { return {}; }

 private:
  Request next() {
    Request request;
    const std::size_t roll = bits_() % 100;
    request.what = left_-- > 0 ? (roll < 90 ? Request::What::measure : Request::What::remeasure)
                   : roll < 80 ? Request::What::hold
                   : roll < 95 ? Request::What::hold_safe
                               : Request::What::failed;
    request.setting.mode = context_.modes[bits_() % context_.modes.size()];
    const std::size_t run = bits_() % 4;
    request.setting.run = run == 0 ? Run::train : run == 1 ? Run::infer : Run::both;
    for (const Workload* workload : context_.workloads) {
      if (workload == nullptr) continue;
      std::int32_t batch_size = workload->batch_sizes[bits_() % workload->batch_size_count];
      if (bits_() % 50 == 0) batch_size = 7;  // no workload allows it
      request.setting.batch_size[index(workload->kind)] = batch_size;
    }
    return request;
  }

  PolicyContext context_;
  std::mt19937_64 bits_;
  std::size_t left_ = 0;
};

}  // namespace gearshift::swarm
