"""Records to integer codes of the schema."""

from sfumato.trusted.encoding.codes import Codes, codes_of
from sfumato.trusted.encoding.encoder import Batch, Encoder
from sfumato.trusted.encoding.header import Header
from sfumato.trusted.encoding.lists import Listed
from sfumato.trusted.encoding.scales import Measured

__all__ = ["Batch", "Codes", "Encoder", "Header", "Listed", "Measured", "codes_of"]
