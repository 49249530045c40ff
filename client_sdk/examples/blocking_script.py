"""A script without an event loop.

    python client_sdk/examples/blocking_script.py

`chapar.sync` has the same names as `chapar`, and blocks. The connection is kept alive in the background, whatever the
script does in between.
"""

# ruff: noqa: T201 - an example talks to whoever runs it

import sys

import chapar


def main() -> None:
    with chapar.sync.connect() as client:
        with client.subscribe(type="job", where="size <= 10") as jobs:
            for size in (4, 40, 7):
                client.publish(type="job", attributes={"size": size}, payload=b"#" * size)

            # Wait for one with a limit ...
            print("first:", jobs.next(timeout=5).attributes["size"])

            # ... or iterate; Ctrl-C ends it in good order.
            for job in jobs:
                print("then:", job.attributes["size"])
                break

        # Wait for the daemon to have an event on its disk before the script goes on.
        client.publish(subject="script finished", lifetime=60).accepted(timeout=5)


if __name__ == "__main__":
    try:
        main()
    except chapar.NoDaemonError as error:
        sys.exit(f"{error}")
