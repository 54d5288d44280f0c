# The service with models in /models: docker build -t crfkit . && docker run -v "$PWD/models:/models:ro" ...
# See docs/how-to/deploy.md.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN python -m venv /opt/crfkit && /opt/crfkit/bin/pip install --no-cache-dir "/src[serve]"

FROM python:3.12-slim
RUN useradd --system --uid 10001 crfkit
COPY --from=build /opt/crfkit /opt/crfkit
ENV PATH=/opt/crfkit/bin:$PATH PYTHONUNBUFFERED=1
USER crfkit
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=2s --start-period=10s CMD \
  ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/health/ready', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["crfkit", "serve", "--host", "0.0.0.0"]
# Without arguments: every model needs a token (/run/secrets/crfkit-tokens), and its file.
CMD ["/models/model.crf", "--token-file", "/run/secrets/crfkit-tokens"]
