"""What is wrong with ClustMix as published, in plain words.

Figures are for a claimed (1, 1/N). `python -m experiments.truth` measures them; docs/truth.md has them all.
"""

KNOWN_FAULTS: tuple[str, ...] = (
    (
        "Number of points: as many are released for a class as its records fill clusters. Where they just do, one "
        "changed label takes a point away for certain, so that no epsilon holds at any delta below 1."
    ),
    (
        "Clusters: theorem 2 has it that one record changes one point. But one record can tip the best clustering, and "
        "then all means move, by a length that does not shrink with the size of clusters: in a toy of 400 records by "
        "21.6 deviations of the noise where 0.433 are claimed, an epsilon of 294."
    ),
    (
        "Adaptation: the loss couples all centres, so that one record moves every one of them, and all records are "
        "assigned anew. The proof counts one point for each class. One record of Adult replaced moves 30 to 134 of 134 "
        "points: the actual epsilon is 39.6 to more than 789."
    ),
    "Sizes: a record that enters a full cluster pushes another one out, and so on through many clusters.",
    "Noise: its scale is found from the exact size of a cluster, which is private and not paid for.",
    "Slices: records themselves are the borders of regions, so that one of them moves all regions that it parts.",
    (
        "Scaling: least and largest values, ranks and z-scores are those of the private records; one outlier moves all "
        "points: ten times too large a value all 134 of Adult."
    ),
    (
        "Search: some thirty runs look at the same records, the best is chosen by its score on them, and one run is "
        "paid for: thirty compose to 7.13."
    ),
    "All of it together: an attacker who only sees releases finds an epsilon of 3.72 at least (95 % confidence).",
    "Delta: 1/N allows the release of a record at random, and takes N for public.",
)

OTHER_FACTOR = (
    "Factor: (8) is read without the square root of all features and classes that its proof ends with. By theorem 2 "
    "itself the epsilon is larger than the one that is claimed; `actual_mu` says by how much."
)
"""What is wrong besides, where the noise is not that of (8) as printed."""
