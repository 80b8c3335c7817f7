"""The studio: pages in the browser of a custodian, served on this machine to this one person.

`server` listens on 127.0.0.1 and hands out one address; `security` decides which requests are heard; `steps` are the
pages. The server itself reads headers of tables and never a row: whatever reads rows is a job in a process of its own
(`job`), whose state is in files (`state`, `jobs`).
"""
