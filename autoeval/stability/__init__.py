"""Published label-free methods: box stability first, other scores, their studies and tables."""
