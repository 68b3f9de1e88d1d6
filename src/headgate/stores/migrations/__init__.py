"""Which steps lead from an empty database to today's schema? Each file is one, never changed."""
