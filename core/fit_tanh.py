"""Write tanh.h: tanh of the integer path as a quotient of polynomials. `python core/fit_tanh.py` (needs NumPy)."""

from pathlib import Path

import numpy as np

END, DEGREE = 5.2, 3
HEAD = "/* tanh(x) = x A(x^2) / B(x^2) for |x| <= TANH_END, error below {:.1e}. Written by core/fit_tanh.py. */\n"


def fit() -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of A and B (B begins with 1), by weighted least squares that approach the smallest largest error."""
    x = np.cos(np.linspace(0, np.pi / 2, 4000)) * END
    y, wanted, weights = x * x, np.tanh(x), np.ones_like(x)
    powers = y[:, None] ** np.arange(DEGREE + 1)
    below = np.ones_like(x)
    for _ in range(200):
        # x A - tanh(x) (B - 1) = tanh(x), divided by the B of the last round
        left = np.concatenate([x[:, None] * powers, -wanted[:, None] * powers[:, 1:]], 1)
        factor = (weights / below)[:, None]
        solution = np.linalg.lstsq(left * factor, wanted * factor[:, 0], rcond=None)[0]
        above, rest = solution[: DEGREE + 1], solution[DEGREE + 1 :]
        below = 1 + powers[:, 1:] @ rest
        errors = np.abs(x * (powers @ above) / below - wanted)
        weights = weights * (0.1 + errors / errors.max()) ** 0.25
        weights /= weights.mean()
    return above, rest


def main() -> None:
    """Write the header."""
    above, rest = (values.astype(np.float32) for values in fit())
    x = np.linspace(-8, 8, 400001, dtype=np.float32)
    clipped = np.clip(x, -END, END)
    y = clipped * clipped
    value = clipped * (((above[3] * y + above[2]) * y + above[1]) * y + above[0])
    value /= ((rest[2] * y + rest[1]) * y + rest[0]) * y + np.float32(1)
    error = np.abs(np.clip(value, -1, 1) - np.tanh(x.astype(np.float64))).max()
    lines = [HEAD.format(error), f"#define TANH_END {END}f\n"]
    lines += [f"#define TANH_A{i} {value:.9g}f\n" for i, value in enumerate(above)]
    lines += [f"#define TANH_B{i} {value:.9g}f\n" for i, value in enumerate(rest, 1)]
    (Path(__file__).parent / "tanh.h").write_text("".join(lines))


if __name__ == "__main__":
    main()
