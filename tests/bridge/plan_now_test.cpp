// A plan is told as it is when somebody asks, and not as it was noted last.
#include <gtest/gtest.h>

#include <string>
#include <zmq.hpp>

#include "bridge/control_endpoint.h"
#include "bridge/explanation_answer.h"
#include "bridge/status_answer.h"

namespace gearshift {
namespace {

class PlanNow : public testing::Test {
 protected:
  PlanNow() {
    rationale_.note({.type = NoteType::plan, .text = "planned: 50.0 W for 54 s"});
    rationale_.tell_plan_with([this] { return plan_; });
  }

  Rationale rationale_;
  std::string plan_ = "planned: 50.0 W for 13 s";
};

TEST_F(PlanNow, IsInTheExplanation) {
  wire::FrameBuffer buffer;
  wire::ExplanationAnswer answer;
  wire::pack(buffer, rationale_, {}, Time{}, 0);
  wire::add_explanation(buffer.view(), answer);
  EXPECT_EQ(answer.rationale.plan, plan_);
}

TEST_F(PlanNow, IsInTheStatus) {
  zmq::context_t context(1);
  ControlEndpoint control(context, "inproc://control", {});
  control.explain_from(rationale_);
  zmq::socket_t client(context, zmq::socket_type::dealer);
  client.connect("inproc://control");
  wire::FrameBuffer request;
  wire::pack(request, wire::StatusRequest{});
  client.send(zmq::buffer(request.view()), zmq::send_flags::none);
  EventBuffer events;
  std::size_t budget = 16;
  control.drain(Time{}, budget, events);
  zmq::message_t answer;
  ASSERT_TRUE(client.recv(answer, zmq::recv_flags::dontwait));
  EXPECT_NE(answer.to_string().find(plan_), std::string::npos);
}

}  // namespace
}  // namespace gearshift
