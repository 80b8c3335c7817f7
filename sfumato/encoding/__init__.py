"""Records to integer codes of the schema, and back to the user's names and types."""

from sfumato.encoding.codes import Codes, codes_of
from sfumato.encoding.dressing import dress
from sfumato.encoding.encoder import Batch, Encoder
from sfumato.encoding.header import Header
from sfumato.encoding.lists import Listed
from sfumato.encoding.scales import Measured

__all__ = ["Batch", "Codes", "Encoder", "Header", "Listed", "Measured", "codes_of", "dress"]
