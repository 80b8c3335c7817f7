"""The constants of all modules here, which a bundle stores."""

from sfumato.fitting.mechanisms.mixture import (
    actions,
    coarse,
    components,
    design,
    label_table,
    plan,
    posterior,
    public_tree,
    rounds,
    rules,
    sampling,
    scale_law,
    shell_moments,
    truncation,
    unlabelled,
)

MIXTURE_TUNING = (
    plan.Tuning,
    rounds.Tuning,
    coarse.Tuning,
    design.Tuning,
    posterior.Tuning,
    sampling.Tuning,
    scale_law.Tuning,
    shell_moments.Tuning,
    actions.Tuning,
    components.Tuning,
    rules.Tuning,
    truncation.Tuning,
    unlabelled.Tuning,
    public_tree.Tuning,
    label_table.Tuning,
)
