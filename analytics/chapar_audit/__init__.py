"""The audit: closed-form models of the traffic and the waiting that a network should show."""
