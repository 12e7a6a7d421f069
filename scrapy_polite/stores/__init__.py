"""Where due times, holds and the names of origins are kept: processes that share a store share one rate."""
