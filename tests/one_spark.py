"""How xdist shares out the tests: by file, and all that need Spark to one worker, so that it starts once."""

from xdist.scheduler import LoadFileScheduling


class OneSpark(LoadFileScheduling):
    """Scopes are files, and one that holds every test with Spark in its name or its parameters."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if "spark" in nodeid and "spark_faults" not in nodeid else super()._split_scope(nodeid)
