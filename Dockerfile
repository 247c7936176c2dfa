# The command line of usp in a small image, as an ordinary user:
#
#   docker build --tag usp .
#   docker run --rm usp ls example.org
#   docker run --rm --volume "$PWD:/data" usp snapshot example.org -o example.warc.gz
#
# EXTRAS are those of pyproject.toml; "all" has tables, fleets and more, and is several times as large.
FROM python:3.13-slim AS build

ARG EXTRAS=async,warc

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY docs docs
COPY src src
RUN python -m venv --without-pip /opt/usp \
    && python -m pip --python /opt/usp/bin/python install --no-cache-dir ".[${EXTRAS}]"

FROM python:3.13-slim

LABEL org.opencontainers.image.title="usp" \
      org.opencontainers.image.description="Finds, fetches and reads the sitemaps of a website" \
      org.opencontainers.image.licenses="Apache-2.0"

COPY --from=build /opt/usp /opt/usp
RUN useradd --uid 1000 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin usp \
    && install --directory --owner usp --group usp /data

ENV PATH=/opt/usp/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
USER 1000:1000
WORKDIR /data

ENTRYPOINT ["usp"]
CMD ["--help"]
