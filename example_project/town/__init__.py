"""A world on loopback that a crawler is tested against: DNS, HTTP and HTTPS servers with a log of every arrival.

Run it with ``python -m town --dir DIR`` from ``example_project``, or from a test with :class:`town.client.Town`.
It never imports the crawler that it watches: it is the independent witness.
"""
