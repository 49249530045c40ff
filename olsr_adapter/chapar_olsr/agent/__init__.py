"""RFC 3626 as pure state machines: packets and time go in, packets and a routing table come out."""
