"""Studies of the method, dropout search, reproduction of papers: no part of the product."""
