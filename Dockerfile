# API, worker, dashboard and the command `tokencogs`, without a database of its own: DATABASE_URL says where that is.
FROM python:3.11-slim

RUN useradd --system --create-home --home-dir /home/tokencogs --uid 10001 tokencogs
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY accounting accounting
COPY api api
COPY dashboard dashboard
COPY migrations migrations
COPY probe probe
RUN pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[dashboard]'

USER 10001
WORKDIR /home/tokencogs
EXPOSE 8000 8501
ENTRYPOINT ["tokencogs"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
