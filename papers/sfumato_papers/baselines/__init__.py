"""The rivals of 3A behind one interface, as their authors published them but for what each says of itself.

    DPMix      noisy means of a few random records                                  Lee et al. 2019
    DP-MERF    a generator that matches a noisy mean embedding                      Harder et al. 2021
    DP-GAN     a Wasserstein critic with noisy gradients                            Xie et al. 2018
    PATE-GAN   a student who learns from noisy votes of teachers                    Jordon et al. 2019
    ADS-GAN    a generator that is paid for distance; not differentially private    Yoon et al. 2020

The last two are there twice: repaired, where their printed words led to nothing, and *to the letter*.

Each takes a `Table` and gives rows in the same format, with the claim of its paper and what is wrong with it. Where a
paper leaves a choice open, one is taken and is a setting. Torch, Opacus and dp-accounting are loaded when a rival is
called, and networks run on a GPU where there is one.
"""

from sfumato_papers.baselines.ads_gan import ADSGAN
from sfumato_papers.baselines.ads_gan_literal import LiteralADSGAN
from sfumato_papers.baselines.dp_gan import DPGAN
from sfumato_papers.baselines.dp_merf import DPMERF
from sfumato_papers.baselines.dpmix import DPMix
from sfumato_papers.baselines.interface import Generated, Rival, Table
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.baselines.pate_gan import PATEGAN
from sfumato_papers.baselines.pate_gan_literal import LiteralPATEGAN

RIVALS: dict[str, Rival] = {
    rival.name: rival for rival in (DPMix(), DPMERF(), DPGAN(), PATEGAN(), LiteralPATEGAN(), ADSGAN(), LiteralADSGAN())
}
"""With their default settings."""

__all__ = [
    "ADSGAN",
    "DPGAN",
    "DPMERF",
    "PATEGAN",
    "RIVALS",
    "DPMix",
    "Generated",
    "Layout",
    "LiteralADSGAN",
    "LiteralPATEGAN",
    "Rival",
    "Table",
]
