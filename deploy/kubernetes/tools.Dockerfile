# The image that runs beside each job in a cluster: it brings the job's code in and its record out.
# The build's folder holds euvyra-agent and nothing else; see docs/kubernetes.md.
FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libarchive13 libcurl4 libjansson4 \
        libsodium23 libssl3 libyaml-0-2 \
    && rm -rf /var/lib/apt/lists/*
COPY euvyra-agent /usr/local/bin/
USER 10001
ENTRYPOINT ["euvyra-agent"]
