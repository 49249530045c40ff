"""Content-based routing on an acyclic overlay of brokers (van Vliet, chapters 1 and 2).

    broker         the strategy of a node on a tree: its clients, its links, its memorised events; parts of it are
                   plan, meetings, keeping, adverts, telling and report
    router         one broker: interest, events, links and ticks in, effects out
    plane          one of its two tables (subscriptions, advertisements), with what is sent on over each link
    routing_table  what was received over each link, and for how long it stands
    forwarding     what the five algorithms have in common: flooding, simple, identity, covering, merging
    auto           per filter class, flooding or identity, whichever the traffic model prices lower: filter_class,
                   class_traffic (rates and prices), choices (what a broker does beside)
    cover_index    which filters cover which; perfect_merge: which are one together
    refresh        the period that all links share
    interest       what brokers tell each other
"""
