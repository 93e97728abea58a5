"""What is kept between runs: outputs, scores, and the records of runs."""
