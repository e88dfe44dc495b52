"""Which sources of prices can be imported, and how is each read? Bytes in, a `Statement` out."""
