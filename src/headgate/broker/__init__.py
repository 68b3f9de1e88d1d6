"""One node of the network: publish, route, deliver, follow the policy, hold until stored."""
