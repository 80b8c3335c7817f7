"""Records to integer codes of the schema."""

from sfumato.trusted.encoding.codes import Codes, codes_of
from sfumato.trusted.encoding.encoder import Batch, Encoder
from sfumato.trusted.encoding.header import Header
from sfumato.trusted.encoding.lists import CategoricalCodec
from sfumato.trusted.encoding.scales import NumericCodec

__all__ = ["Batch", "CategoricalCodec", "Codes", "Encoder", "Header", "NumericCodec", "codes_of"]
