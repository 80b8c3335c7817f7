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
        "then all means move, by a length that does not shrink with the size of clusters."
    ),
    (
        "Adaptation: the loss couples all centres, so that one record moves every one of them, and all records are "
        "assigned anew. The proof counts one point for each class."
    ),
    "Sizes: a record that enters a full cluster pushes another one out, and so on through many clusters.",
    "Noise: its scale is found from the exact size of a cluster, which is private and not paid for.",
    "Slices: records themselves are the borders of regions, so that one of them moves all regions that it parts.",
    (
        "Scaling: least and largest values, ranks and z-scores are those of the private records; one outlier moves all "
        "points."
    ),
    (
        "Search: some thirty runs look at the same records, the best is chosen by its score on them, and one run is "
        "paid for."
    ),
    "Delta: 1/N allows the release of a record at random, and takes N for public.",
)
