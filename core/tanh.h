/* tanh(x) = x A(x^2) / B(x^2) for |x| <= TANH_END, error below 6.1e-05. Written by core/fit_tanh.py. */
#define TANH_END 5.2f
#define TANH_A0 0.999999583f
#define TANH_A1 0.12516731f
#define TANH_A2 0.00247819629f
#define TANH_A3 5.00033093e-06f
#define TANH_B1 0.458498985f
#define TANH_B2 0.0219799262f
#define TANH_B3 0.00016535123f
