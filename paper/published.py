"""The figures that the paper prints, typed in from its tables; columns in the order of `COLUMNS`.

Ren and Lu, "Compositional Coding Capsule Network with K-Means Routing for Text Classification", 2022, arXiv:1810.09177.
"""

from __future__ import annotations

COLUMNS = ("AG", "DBP", "Yah.A", "Sogou", "Yelp.P", "Yelp.F", "Amz.P", "Amz.F")
Row = tuple[float | None, ...]

# Test accuracy on eight data sets; * is fine-tuned, None is not reported
SOTA: dict[str, Row] = {
    "DPCNN*": (93.13, 99.12, 76.10, 96.52, 97.36, 69.42, 96.68, 65.19),
    "ULMFiT*": (94.99, 99.20, None, None, 97.84, 70.02, None, None),
    "Region Emb.": (92.80, 98.90, 73.70, 97.60, 96.40, 64.90, 95.10, 60.90),
    "BERT-FiT*": (94.75, 99.29, 77.58, 97.57, 97.72, 69.94, None, None),
    "BERT-Large*": (None, 99.36, None, None, 98.11, 70.68, 97.37, 65.83),
    "XLNet*": (95.55, 99.40, None, None, 98.63, 72.95, 97.89, 68.33),
    "Ours": (92.39, 98.72, 73.85, 97.25, 96.48, 65.85, 94.96, 60.95),
}

# Millions of parameters of the same systems
SOTA_PARAMETERS: dict[str, Row] = {
    "DPCNN": (4.24, 35.34, 49.64, 7.05, 13.09, 14.13, 59.84, 53.73),
    "ULMFiT": (20.56, 51.65, 65.96, 23.37, 29.41, 30.45, 76.16, 70.05),
    "Region Emb.": (43.81, 233.33, 370.61, 101.78, 118.07, 127.26, 403.85, 364.86),
    "BERT-FiT": (78.59, 451.69, 623.32, 112.27, 184.77, 197.21, 745.78, 672.47),
    "BERT-Large": (169.65, 667.11, 895.95, 214.55, 311.22, 327.80, 1059.23, 961.49),
    "XLNet": (193.26, 690.72, 919.57, 238.16, 334.83, 351.42, 1082.84, 985.10),
    "Ours": (2.46, 26.80, 37.52, 4.71, 8.48, 9.14, 45.15, 40.58),
}

# Ablation of the loss, on AG's News alone
LOSSES: dict[str, Row] = {
    "cross-entropy": (92.05,),
    "focal": (92.13,),
    "margin": (92.37,),
    "focal+cross-entropy": (92.09,),
    "margin+cross-entropy": (91.95,),
    "margin+focal": (92.64,),
    "margin+focal+cross-entropy": (92.38,),
}

ROUTING: dict[str, Row] = {
    "dynamic": (92.14, 98.70, 73.98, 97.23, 96.34, 65.81, 94.87, 60.90),
    "kmeans": (92.39, 98.72, 73.85, 97.25, 96.48, 65.85, 94.96, 60.95),
}

# Ablation of the components, (embedding, head)
COMPONENTS: dict[tuple[str, str], Row] = {
    ("plain", "linear"): (92.64, 98.84, 74.13, 97.37, 96.69, 66.23, 95.09, 60.78),
    ("cc", "linear"): (83.13, 96.06, 57.87, 95.20, 92.37, 56.66, 89.04, 51.30),
    ("cwc", "linear"): (91.93, 98.83, 73.58, 97.37, 96.35, 65.11, 94.90, 60.29),
    ("plain", "capsule"): (92.18, 98.86, 74.12, 97.52, 96.56, 66.23, 95.18, 61.36),
    ("cc", "capsule"): (84.05, 96.27, 60.31, 96.00, 92.82, 59.48, 89.07, 52.06),
    ("cwc", "capsule"): (92.39, 98.72, 73.85, 97.25, 96.48, 65.85, 94.96, 60.95),
}

COMPONENT_PARAMETERS: dict[tuple[str, str], Row] = {
    ("plain", "linear"): (4.45, 35.54, 49.84, 7.25, 13.30, 14.33, 60.05, 53.94),
    ("cc", "linear"): (2.45, 26.77, 37.50, 4.70, 8.48, 9.13, 45.15, 40.57),
    ("cwc", "linear"): (2.45, 26.77, 37.50, 4.70, 8.48, 9.13, 45.15, 40.57),
    ("plain", "capsule"): (4.46, 35.57, 49.86, 7.26, 13.30, 14.34, 60.05, 53.95),
    ("cc", "capsule"): (2.46, 26.80, 37.52, 4.71, 8.48, 9.14, 45.15, 40.58),
    ("cwc", "capsule"): (2.46, 26.80, 37.52, 4.71, 8.48, 9.14, 45.15, 40.58),
}
