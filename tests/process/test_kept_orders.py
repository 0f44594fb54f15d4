"""What an operator ordered of a daemon that is killed: the next one goes on with it, and after a stop it does not."""

import json
import signal
import unittest

from harness import HOLD, Stack, wait_until


class KeptOrders(unittest.TestCase):
    def order(self, stack, *words):
        done = stack.gearshift(*words, "--control", stack.control)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def status(self, stack):
        return json.loads(self.order(stack, "status", "--json"))

    def ordered(self, stack, cap, objective):
        self.order(stack, "cap", cap)
        self.order(stack, "goal", "--objective", objective)
        cap_w = float(cap.rstrip("W"))
        wait_until(lambda: (self.status(stack)["cap_w"], self.status(stack)["objective"]) == (cap_w, objective))

    def test_a_lower_cap_and_the_goal_outlive_a_kill_and_not_a_stop(self):
        with Stack() as stack:
            first = stack.daemon(stack.script(HOLD))
            first.note("status")
            self.ordered(stack, "20W", "energy")
            first.kill()
            second = stack.daemon(stack.script(HOLD))
            second.note("status")
            self.assertEqual((self.status(stack)["cap_w"], self.status(stack)["objective"]), (20, "energy"))
            told = "\n".join(second.lines)
            self.assertIn("the cap of 20.0 W that an operator gave it goes on", told)
            self.assertIn("the goal that an operator gave it goes on (objective=energy)", told)
            self.assertEqual(second.finish(signal.SIGTERM), 0)
            third = stack.daemon(stack.script(HOLD))
            third.note("status")
            self.assertEqual((self.status(stack)["cap_w"], self.status(stack)["objective"]), (30, "time"))

    def test_a_higher_cap_and_one_of_a_run_begun_otherwise_do_not_outlive_a_kill(self):
        with Stack() as stack:
            first = stack.daemon(stack.script(HOLD))
            first.note("status")
            self.ordered(stack, "45W", "energy")
            first.kill()
            second = stack.daemon(stack.script(HOLD))
            second.note("status")
            self.assertEqual(self.status(stack)["cap_w"], 30)
            self.assertIn("cap of 45.0 W, above what this one begins with, is forgotten", "\n".join(second.lines))
            self.ordered(stack, "20W", "energy")
            second.kill()
            third = stack.daemon(stack.script(HOLD), power="28W")
            third.note("status")
            self.assertEqual((self.status(stack)["cap_w"], self.status(stack)["objective"]), (28, "time"))
            self.assertIn("begun with another cap", "\n".join(third.lines))


if __name__ == "__main__":
    unittest.main(verbosity=2)
