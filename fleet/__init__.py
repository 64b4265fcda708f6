"""The fleet's nights: what many machines' reports say over days. Runs on Spark; reads the results store alone."""
