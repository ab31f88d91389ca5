# The command line as a small image: docker build --tag capsulet .
# With PyTorch, to train: docker build --tag capsulet --build-arg EXTRAS=train .
FROM python:3.13-slim AS build
COPY . /source
# without a C compiler, the package ziglang brings one (backend.py)
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
ARG EXTRAS=""
# builds of PyTorch for the CPU; used only with EXTRAS
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir ${EXTRAS:+--extra-index-url "$TORCH_INDEX"} "$(ls /wheels/*.whl)${EXTRAS:+[$EXTRAS]}" \
    && useradd --create-home --uid 10001 capsulet
USER capsulet
WORKDIR /data
ENTRYPOINT ["capsulet"]
CMD ["--help"]
