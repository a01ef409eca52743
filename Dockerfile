# weir's packages on Debian 12: docker build -t weir . && docker run --rm weir all_reduce_perf --ranks 4 -b 1K -e 16M -f 4
FROM debian:12 AS build
COPY . /weir
WORKDIR /weir
RUN apt-get update && cmake/packages.sh build trainer package
RUN cmake --workflow --preset package

FROM debian:12
COPY --from=build /weir/build-package/packages /packages
RUN apt-get update && apt-get install -y --no-install-recommends /packages/*.deb && rm -rf /var/lib/apt/lists/* /packages
CMD ["weir", "--help"]
