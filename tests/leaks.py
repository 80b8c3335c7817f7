"""A value that no message may hold, and all that a message can hold."""

import io
import logging
import traceback

TOKEN = "zx81canary"


def everything_shown(error: BaseException) -> str:
    """All that a traceback, a logger or a debugger's summary would show of an error, its causes included."""
    text = "".join(traceback.format_exception(error)) + repr(error)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logger = logging.getLogger("leak")
    logger.addHandler(handler)
    logger.propagate = False
    logger.error("failed", exc_info=error)
    logger.removeHandler(handler)
    chain = []
    seen = error
    while seen is not None:
        chain.append(str(seen))
        seen = seen.__cause__ or seen.__context__
    return text + log.getvalue() + "".join(chain)
